package integrator

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"waybill/adapters/cli/settings"
	"waybill/adapters/cli/term"
	"waybill/adapters/clients/go/waybillapi"
	"waybill/test/stage"
)

// transport responds to a request without a network.
type transport func(*http.Request) (*http.Response, error)

func (t transport) RoundTrip(r *http.Request) (*http.Response, error) { return t(r) }

// clientOf returns a client that uses the transport as its sandbox.
func clientOf(t transport) *apiClient {
	c := newAPIClient("http://sandbox.test/v1", "--url")
	c.key, c.keyFrom = "svc_test_key_x", "--key-file"
	c.http.Transport = t
	return c
}

// reply returns a response of the API with an envelope around data, or an error code.
func reply(status int, data string, headers ...string) *http.Response {
	return plain(status, `{"success":true,"statusCode":`+fmt.Sprint(status)+`,"message":"Done.","data":`+data+`}`, headers...)
}

func refuse(status int, code string, headers ...string) *http.Response {
	return plain(status, `{"success":false,"statusCode":`+fmt.Sprint(status)+`,"message":"Refused.","error":{"code":"`+code+`"}}`, headers...)
}

func plain(status int, body string, headers ...string) *http.Response {
	r := &http.Response{StatusCode: status, Status: fmt.Sprint(status), Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body))}
	r.Header.Set("Content-Type", "text/html")
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	return r
}

// script returns a transport that responds request by request; nil: no response arrives. The
// last one repeats.
func script(answers ...func() *http.Response) (transport, *[]string) {
	var sent []string
	return func(r *http.Request) (*http.Response, error) {
		var body []byte
		if r.Body != nil {
			body, _ = io.ReadAll(r.Body)
		}
		sent = append(sent, r.Method+" "+r.URL.Path+" "+r.Header.Get("Idempotency-Key")+" "+string(body))
		answer := answers[min(len(sent), len(answers))-1]
		if answer == nil {
			return nil, syscall.ECONNRESET
		}
		return answer(), nil
	}, &sent
}

func ok() *http.Response { return reply(201, `{"id":"x"}`) }

func TestACallIsRepeatedTheSameUntilItSucceeds(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		first func() *http.Response
		waits time.Duration
	}{
		"in progress":          {func() *http.Response { return refuse(409, "IDEMPOTENCY_IN_PROGRESS", "Retry-After", "7") }, 7 * time.Second},
		"too many":             {func() *http.Response { return refuse(429, "RATE_LIMIT_EXCEEDED", "Retry-After", "45") }, 45 * time.Second},
		"no price":             {func() *http.Response { return refuse(503, "QUOTE_UNAVAILABLE", "Retry-After", "2") }, 2 * time.Second},
		"failed":               {func() *http.Response { return refuse(500, "INTERNAL_SERVER_ERROR") }, firstPause},
		"a proxy's own answer": {func() *http.Response { return plain(502, "<h1>Bad Gateway</h1>") }, firstPause},
		"no answer":            {nil, firstPause},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				answers, sent := script(c.first, ok)
				client := clientOf(answers)
				client.answered.Store(true)
				var told []string
				client.notice = func(why string) { told = append(told, why) }
				call := post("/deliveries/bulk", "key-0001", waybillapi.BulkRequest{Deliveries: []waybillapi.DeliveryRequest{demoOrder(1)}})
				begun := time.Now()
				answer, err := client.send(t.Context(), call)
				if err != nil || answer.status != 201 || string(answer.Data) != `{"id":"x"}` {
					t.Errorf("%+v, %v", answer, err)
				}
				if took := time.Since(begun); took > c.waits || c.waits > firstPause && took < c.waits || took < firstPause/2 {
					t.Errorf("it waited %s, want %s", took, c.waits)
				}
				if len(*sent) != 2 || (*sent)[0] != (*sent)[1] || !strings.HasPrefix((*sent)[0], "POST /v1/deliveries/bulk key-0001 {") {
					t.Errorf("sent %s", strings.Join(*sent, "\n"))
				}
				if len(told) != 1 || client.repeats.Load() != 1 {
					t.Errorf("told %q, %d repeats", told, client.repeats.Load())
				}
			})
		})
	}
}

func TestACallThatCannotSucceedLaterIsNotRepeated(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		first func() *http.Response
		code  waybillapi.ErrorCode
	}{
		"invalid":              {func() *http.Response { return refuse(422, "VALIDATION_ERROR") }, "VALIDATION_ERROR"},
		"another body":         {func() *http.Response { return refuse(409, "IDEMPOTENCY_CONFLICT") }, "IDEMPOTENCY_CONFLICT"},
		"moved on":             {func() *http.Response { return refuse(409, "SIMULATION_NOT_APPLICABLE") }, "SIMULATION_NOT_APPLICABLE"},
		"key":                  {func() *http.Response { return refuse(401, "API_KEY_REVOKED") }, "API_KEY_REVOKED"},
		"scope":                {func() *http.Response { return refuse(403, "INSUFFICIENT_SCOPE") }, "INSUFFICIENT_SCOPE"},
		"too many simulations": {func() *http.Response { return refuse(429, "SIMULATION_LIMIT", "Retry-After", "30") }, "SIMULATION_LIMIT"},
		"for longer than we do": {func() *http.Response { return refuse(429, "RATE_LIMIT_EXCEEDED", "Retry-After", "3600") },
			"RATE_LIMIT_EXCEEDED"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				answers, sent := script(c.first, ok)
				_, err := clientOf(answers).send(t.Context(), get("/x"))
				if !waybillapi.HasCode(err, c.code) || len(*sent) != 1 {
					t.Errorf("%v after %d calls", err, len(*sent))
				}
			})
		})
	}
}

// What never answered is a wrong address or a server that does not run.
func TestNobodyWhoEverAnsweredIsToldAtOnce(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		first func() *http.Response
		want  string
	}{
		"no answer": {nil, "no answer from http://sandbox.test/v1: connection reset by peer"},
		"another service": {func() *http.Response {
			return plain(200, "<h1>It works</h1>")
		}, "what answers at http://sandbox.test/v1 is not Waybill: 200 OK, text/html"},
		"another API": {func() *http.Response {
			return plain(404, `{"error":"no route"}`)
		}, "what answers at http://sandbox.test/v1 is not Waybill: 404 Not Found, text/html"},
		"a proxy": {func() *http.Response {
			return plain(502, "Bad Gateway")
		}, "what answers at http://sandbox.test/v1 is not Waybill: 502 Bad Gateway, text/html"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				answers, sent := script(c.first, ok)
				_, err := clientOf(answers).send(t.Context(), get("/x"))
				var start *term.StartError
				if !errors.As(err, &start) || start.Error() != c.want || start.Fix == "" || len(*sent) != 1 {
					t.Errorf("%v after %d calls", err, len(*sent))
				}
			})
		})
	}
}

func TestRepeatingEndsAfterTwoMinutesAtGrowingDistances(t *testing.T) {
	t.Parallel()
	for name, fails := range map[string]func() *http.Response{
		"failed": func() *http.Response { return refuse(500, "INTERNAL_SERVER_ERROR") }, "no answer": nil,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				answers, sent := script(fails)
				client := clientOf(answers)
				client.answered.Store(true)
				begun := time.Now()
				if _, err := client.send(t.Context(), get("/x")); err == nil {
					t.Error("it succeeded")
				}
				// 0.5, 1, 2, 4 and 8 seconds, then every 10, each up to a half shorter.
				if took := time.Since(begun); took > perseverance || took < perseverance-longestPause || len(*sent) < 16 || len(*sent) > 32 {
					t.Errorf("%d calls in %s", len(*sent), took)
				}
			})
		})
	}
}

func TestACtrlCEndsAWaitAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		answers, _ := script(func() *http.Response { return refuse(429, "RATE_LIMIT_EXCEEDED", "Retry-After", "60") })
		ctx, stop := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, stop)
		begun := time.Now()
		_, err := clientOf(answers).send(ctx, get("/x"))
		if took := time.Since(begun); err == nil || took != time.Second {
			t.Errorf("%v after %s", err, took)
		}
	})
}

func TestAKeyDoesNotFollowARedirect(t *testing.T) {
	t.Parallel()
	reached := false
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached = true }))
	defer elsewhere.Close()
	moved := httptest.NewServer(http.RedirectHandler(elsewhere.URL, http.StatusTemporaryRedirect))
	defer moved.Close()
	client := newAPIClient(moved.URL+"/v1", "--url")
	client.key = "svc_test_key_x"
	if _, err := client.send(t.Context(), get("/x")); err == nil || reached {
		t.Errorf("%v, reached %v", err, reached)
	}
}

func TestAnErrorOfTheAPIReadsAsEveryOther(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		err  refusal
		want string
	}{
		"plain": {refusal{answer: &waybillapi.Error{StatusCode: 404, Code: "NOT_FOUND", Message: "Nothing here."}}, "error: Nothing here.\n"},
		"key": {refusal{&waybillapi.Error{StatusCode: 401, Code: "API_KEY_REVOKED", Message: "Revoked."}, "--key-file"},
			"error: Revoked.\n  set in:   --key-file\n"},
		"fields": {refusal{answer: &waybillapi.Error{StatusCode: 422, Code: "VALIDATION_ERROR", Message: "2 fields are invalid.",
			Details: json.RawMessage(`{"fields":[{"field":"a","code":"required","message":"send it"},{"field":"b","code":"required","message":"send it too"}]}`)}},
			"error: 2 fields are invalid.\n  fix:      a: send it; b: send it too\n"},
		"later": {refusal{answer: &waybillapi.Error{StatusCode: 429, Code: "SIMULATION_LIMIT", Message: "Too many.",
			RetryAfter: 90 * time.Second}}, "error: Too many.\n  fix:      try again in 1m30s\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var stderr stage.Log
			p := &term.Program{Stderr: &stderr}
			if code := p.Complain(fmt.Errorf("wrapped: %w", &c.err)); code != term.ExitFailure || stderr.String() != c.want {
				t.Errorf("exit code %d\n%s", code, stderr.String())
			}
			stderr = stage.Log{}
			p.AsJSON = true
			p.Complain(&c.err)
			var told struct{ Error struct{ Code string } }
			if err := json.Unmarshal([]byte(stderr.String()), &told); err != nil || told.Error.Code != string(c.err.answer.Code) {
				t.Errorf("%v\n%s", err, stderr.String())
			}
		})
	}
}

func TestAnUnknownKeyIsToldWithTheWayToANewOne(t *testing.T) {
	t.Parallel()
	for from, want := range map[string]string{
		"WAYBILL_TEST_KEY in /data/dev.env": "after a --reset of waybill dev there are new keys: start this again, and it reads " +
			"/data/dev.env again",
		"WAYBILL_TEST_KEY": "after a --reset of waybill dev there are new keys: read them in this shell, . .waybill/dev.env, " +
			"and start this again",
		"--key-file": "after a --reset of waybill dev there are new keys: put that of .waybill/dev.env in the file, and start this again",
	} {
		answers, _ := script(func() *http.Response { return refuse(401, "INVALID_API_KEY") })
		client := clientOf(answers)
		client.keyFrom = from
		_, err := client.send(t.Context(), get("/events"))
		if told, _ := term.Explain(err); len(told) != 1 || told[0].SetIn != from || told[0].Fix != want {
			t.Errorf("%s: told %+v, want the fix %q", from, told, want)
		}
	}
	answers, _ := script(func() *http.Response { return refuse(401, "API_KEY_EXPIRED") })
	_, err := clientOf(answers).send(t.Context(), get("/events"))
	if told, _ := term.Explain(err); told[0].Fix != "" { // a reset is not what it needs
		t.Errorf("an expired key: told %+v", told)
	}
}

// The shell is asked what it makes of the line.
func TestACallIsShownAsALineThatAShellTakes(t *testing.T) {
	t.Parallel()
	shell, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("no shell")
	}
	body := `{"name":"Ama's $HOME ` + "`ls`" + ` \\ \"x\" !"}`
	c := newAPIClient("http://127.0.0.1:1/it's/v1", "--url")
	c.key = "svc_test_key_secret"
	const header = "-H\nAuthorization: Bearer from-the-shell\n"
	for _, call := range []struct {
		apiCall
		want string
	}{
		{get("/deliveries"), "-s\nhttp://127.0.0.1:1/it's/v1/deliveries\n" + header},
		{calling("DELETE", nil, ""), "-s\n-X\nDELETE\nhttp://127.0.0.1:1/it's/v1/x\n" + header},
		{calling("POST", nil, ""), "-s\n-X\nPOST\nhttp://127.0.0.1:1/it's/v1/x\n" + header},
		{calling("POST", json.RawMessage(body), "key-0001"),
			"-s\nhttp://127.0.0.1:1/it's/v1/x\n" + header + "-H\nIdempotency-Key: key-0001\n-H\nContent-Type: application/json\n-d\n" + body + "\n"},
	} {
		line := c.curl(call.apiCall)
		if strings.Contains(line, c.key) {
			t.Errorf("the key shows in %s", line)
		}
		run := exec.CommandContext(t.Context(), shell, "-c", `curl() { printf '%s\n' "$@"; }; `+indented(line))
		run.Env = []string{"WAYBILL_TEST_KEY=from-the-shell"}
		if out, err := run.CombinedOutput(); err != nil || string(out) != call.want {
			t.Errorf("%v\n%s\nbecomes\n%s", err, line, out)
		}
	}
}

func calling(method string, body any, key string) apiCall {
	return apiCall{Request: waybillapi.Request{Method: method, Path: "/x", Body: body, IdempotencyKey: key}}
}

// playing returns the commands of an integrator on a terminal.
func playing(p *term.Program) *Commands {
	return &Commands{CommandLine: &settings.CommandLine{Program: p}}
}

// leaving ends a command after a while, as Ctrl-C does: without a deadline.
func leaving(t *testing.T, after time.Duration) (context.Context, context.CancelFunc) {
	ctx, stop := context.WithCancel(t.Context())
	time.AfterFunc(after, stop)
	return ctx, stop
}
