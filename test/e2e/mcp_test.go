package e2e

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"waybill/test/program"
)

// agent is a client of the protocol with a `waybill mcp` of its own.
type agent struct {
	*sdk.ClientSession
	complaints bytes.Buffer // what the process wrote to stderr
}

// mcpCommand is `waybill mcp` with a key of an environment.
func (s *server) mcpCommand(env, secret string, more ...string) *exec.Cmd {
	cmd := exec.Command(binary, append([]string{"mcp", "--url", s.base(env)}, more...)...)
	cmd.Env = program.Environment("WAYBILL_TEST_KEY=" + secret)
	if env == live {
		cmd.Args = append(cmd.Args, "--live")
		cmd.Env = program.Environment("WAYBILL_LIVE_KEY=" + secret)
	}
	return cmd
}

func (s *server) agent(t *testing.T, env, secret string, more ...string) *agent {
	t.Helper()
	a := &agent{}
	cmd := s.mcpCommand(env, secret, more...)
	cmd.Stderr = &a.complaints
	session, err := sdk.NewClient(&sdk.Implementation{Name: "e2e", Version: "1"}, nil).
		Connect(t.Context(), &sdk.CommandTransport{Command: cmd, TerminateDuration: patience}, nil)
	if err != nil {
		t.Fatalf("connect: %v\n%s", err, a.complaints.String())
	}
	a.ClientSession = session
	t.Cleanup(func() {
		if err := session.Close(); err != nil {
			t.Errorf("the server ends with %v", err)
		}
		if a.complaints.Len() > 0 {
			t.Errorf("the server complains:\n%s", a.complaints.String())
		}
	})
	return a
}

// use calls a tool that has to succeed.
func (a *agent) use(t *testing.T, tool string, arguments m) m {
	t.Helper()
	result, text := a.try(t, tool, arguments)
	if result == nil {
		t.Fatalf("%s: %s", tool, text)
	}
	return result
}

// try calls a tool; without a result it was refused.
func (a *agent) try(t *testing.T, tool string, arguments m) (m, string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	answer, err := a.CallTool(ctx, &sdk.CallToolParams{Name: tool, Arguments: arguments})
	if err != nil {
		t.Fatalf("%s: %v", tool, err)
	}
	text := answer.Content[0].(*sdk.TextContent).Text
	if answer.IsError {
		return nil, text
	}
	result, ok := answer.StructuredContent.(m)
	if !ok {
		t.Fatalf("%s has no structured result: %s", tool, text)
	}
	return result, text
}

func (a *agent) tools(t *testing.T) (names []string) {
	t.Helper()
	list, err := a.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, tool := range list.Tools {
		names = append(names, tool.Name)
	}
	return names
}

// agentOrder is what book_delivery takes.
func agentOrder(externalID string) m {
	return m{
		"external_id": externalID, "vehicle_type": "bike", "payment": m{"type": "delivery_only"},
		"recipient": m{"phone_number": "0244123456", "address": m{"address": "7 Airport Road, Accra", "latitude": 5.6037, "longitude": -0.187}},
		"pickup": m{"name": "Adom Foods", "contact": "0302123456", "address": "12 Oxford Street, Osu", "latitude": 5.5571,
			"longitude": -0.1818},
	}
}

func TestAnAgentPricesBooksOnceSimulatesAndReads(t *testing.T) {
	both(t, func(t *testing.T, s *server) {
		app := s.newApp(t, s.newBusiness(t))
		secret := s.newKey(t, app, sandbox, "all").secret
		a := s.agent(t, sandbox, secret)
		res, err := http.Get(strings.TrimSuffix(s.base(sandbox), "/v1") + "/docs/agents.md")
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		guide, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		var told []string
		for _, row := range regexp.MustCompile(`(?m)^\| `+"`([a-z_]+)`").FindAllSubmatch(guide, -1) {
			told = append(told, string(row[1]))
		}
		if got := a.tools(t); len(got) != 8 || !slices.Equal(slices.Sorted(slices.Values(told)), got) {
			t.Fatalf("there are tools %q, and the guide tells of %q", got, told)
		}
		c := s.newClient(t, sandbox, secret)
		c.post("/webhook-endpoints", m{"url": "http://127.0.0.1:9/hooks"}).is(201)

		price := a.use(t, "quote", m{"pickup": m{"latitude": 5.5571, "longitude": -0.1818}, "dropoff": m{"latitude": 5.6037, "longitude": -0.187},
			"vehicle_type": "bike"})["quote"].(m)
		first := a.use(t, "book_delivery", agentOrder("agent-1"))
		booked := first["delivery"].(m)
		if booked["delivery_fee"] != price["fee"] || booked["simulated"] != true || first["already_booked"] != false {
			t.Errorf("priced %v, booked %v", price, first)
		}
		again := s.agent(t, sandbox, secret).use(t, "book_delivery", agentOrder("agent-1")) // by another process
		if again["already_booked"] != true || again["delivery"].(m)["id"] != booked["id"] {
			t.Errorf("the same call again: %v", again)
		}

		id := booked["id"].(string)
		a.use(t, "simulate", m{"delivery_id": id, "status": "assigned"})
		got := a.use(t, "get_delivery", m{"external_id": "agent-1"})
		if timeline := got["timeline"].([]any); len(timeline) != 2 || got["delivery"].(m)["status"] != "assigned" {
			t.Errorf("a delivery that was moved: %v", got)
		}
		if result, text := a.try(t, "simulate", m{"delivery_id": id, "status": "delivered"}); result != nil ||
			!strings.Contains(text, "SANDBOX_TRANSITION_INVALID") || !strings.Contains(text, "Request ID: req_") {
			t.Errorf("a move that cannot be: %s", text)
		} else {
			_, request, _ := strings.Cut(text, "Request ID: ")
			why := a.use(t, "why_did_this_request_fail", m{"request_id": strings.TrimSpace(request)})
			if why["seen_here"].(m)["tool"] != "simulate" || why["explanation"].(m)["code"] != "SANDBOX_TRANSITION_INVALID" {
				t.Errorf("why it failed: %v", why)
			}
		}
		played := a.use(t, "book_delivery", func() m {
			o := agentOrder("agent-2")
			o["sandbox"] = m{"scenario": "delivered", "step_seconds": 1}
			return o
		}())["delivery"].(m)["id"].(string)
		eventually(t, "the scenario to end", func() bool {
			return a.use(t, "get_delivery", m{"delivery_id": played})["delivery"].(m)["status"] == "delivered"
		})
		eventually(t, "an attempt of a webhook", func() bool {
			seen := a.use(t, "webhook_attempts", m{"delivery_id": id})
			if len(seen["endpoints"].([]any)) != 1 {
				t.Fatalf("endpoints: %v", seen)
			}
			for _, webhook := range seen["webhooks"].([]any) {
				if attempts := webhook.(m)["attempts"].([]any); len(attempts) > 0 {
					return attempts[0].(m)["error_class"] != nil
				}
			}
			return false
		})
	})
}
