package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"waybill/domain"
	"waybill/ports"
)

// program3000 is the program that an integrator develops: it verifies what it
// gets as one should.
type program3000 struct {
	secret atomic.Value // string
	status atomic.Int32

	mu   sync.Mutex
	got  []webhookPayload
	odd  []string // what was wrong
	path string
}

func (p *program3000) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	var e webhookPayload
	secret, _ := p.secret.Load().(string)
	err := verifyWebhook(secret, r.Header, body, time.Now())
	p.mu.Lock()
	defer p.mu.Unlock()
	if err != nil || json.Unmarshal(body, &e) != nil || r.Method != http.MethodPost || r.Header.Get("Content-Type") != "application/json" ||
		r.Header.Get("User-Agent") != "Waybill-Webhooks/1.0" || r.Header.Get("Authorization") != "" || r.Header.Get(domain.HeaderWebhookAttempt) == "" {
		p.odd = append(p.odd, r.Method+" "+string(body))
	}
	p.got, p.path = append(p.got, e), r.URL.Path
	w.WriteHeader(int(p.status.Load()))
	_, _ = io.WriteString(w, "thanks")
}

func (p *program3000) events() []webhookPayload {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]webhookPayload{}, p.got...)
}

var shownSecret = regexp.MustCompile(`whsec_\S+`)

func TestListenDeliversToTheProgramAndEndsWithCtrlC(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	_, vars := startDev(t, dir)
	program := &program3000{}
	program.status.Store(http.StatusOK)
	server := httptest.NewServer(program)
	defer server.Close()
	host := strings.TrimPrefix(server.URL, "http://")

	r := start(t, nil, "listen", "--data-dir", dir, "--forward-to", host+"/hooks", "--events", "delivery.assigned, delivery.failed")
	eventually(t, "it is ready", func() bool { return strings.Contains(r.stderr.String(), "\nReady: ") })
	told := r.stderr.String()
	for _, want := range []string{vars["WAYBILL_SANDBOX_URL"] + `, application "Demo shop" of Adom Foods`, "Signing secret  whsec_", "Ready: every delivery.assigned, delivery.failed goes to http://" + host + "/hooks. Ctrl-C ends it."} {
		if !strings.Contains(told, want) {
			t.Errorf("%q is missing in\n%s", want, told)
		}
	}
	program.secret.Store(shownSecret.FindString(told))
	delivery := inDir[triggered](t, dir, "trigger", "failed_at_pickup", "--step-seconds", "1").Delivery.ID
	eventually(t, "both webhooks have come", func() bool { return strings.Count(r.stdout.String(), "\n") == 2 })
	got := program.events()
	if len(program.odd) > 0 || program.path != "/hooks" || len(got) != 2 || got[0].Type != "delivery.assigned" || got[1].Type != "delivery.failed" || got[1].Sequence != 3 {
		t.Errorf("%v, %s, %+v", program.odd, program.path, got)
	}
	line := regexp.MustCompile(`(?m)^\d\d:\d\d:\d\d\.\d{3}Z  delivery\.(assigned|failed) +  ` + delivery + `  200 OK, \d+ ms$`)
	if shown := r.stdout.String(); len(line.FindAllString(shown, -1)) != 2 || strings.Contains(shown, "whsec_") {
		t.Errorf("%s", shown)
	}
	r.stop()
	if code := r.wait(t); code != exitOK || !strings.HasSuffix(r.stderr.String(), "\nStopped listening.\n") || strings.Contains(r.stderr.String(), vars["WAYBILL_TEST_KEY"]) {
		t.Errorf("exit code %d\n%s", code, r.stderr.String())
	}
}

// What the sandbox was told shows in its log of attempts, and by its retries.
func TestListenTellsTheSandboxWhatBecameOfIt(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	_, vars := startDev(t, dir)
	program := &program3000{}
	program.status.Store(http.StatusServiceUnavailable)
	server := httptest.NewServer(program)
	defer server.Close()

	r := start(t, nil, "listen", "--data-dir", dir, "--forward-to", server.URL, "--events", "delivery.created", "--json")
	var ready readyLine
	eventually(t, "it is ready", func() bool { return json.Unmarshal([]byte(r.stdout.String()), &ready) == nil })
	if ready.Kind != "ready" || ready.URL != vars["WAYBILL_SANDBOX_URL"] || ready.ForwardTo != server.URL || len(ready.EventTypes) != 1 {
		t.Errorf("%+v", ready)
	}
	program.secret.Store(ready.Secret)
	inDir[triggered](t, dir, "trigger", "manual")
	eventually(t, "the first attempt fails", func() bool { return strings.Count(r.stdout.String(), "\n") == 2 })
	var first attemptLine
	if err := json.Unmarshal([]byte(strings.Split(r.stdout.String(), "\n")[1]), &first); err != nil {
		t.Fatal(err)
	}
	if first.Kind != "attempt" || first.Attempt != 1 || first.Succeeded || first.StatusCode != 503 || first.ErrorClass != "http_5xx" || first.ResponseExcerpt != "thanks" || len(first.Payload) == 0 {
		t.Errorf("%+v", first)
	}
	var log []object
	eventually(t, "the sandbox knows", func() bool {
		_, answer := call(t, http.MethodGet, vars["WAYBILL_SANDBOX_URL"]+"/webhook-deliveries/"+first.WebhookDeliveryID+"/attempts", vars["WAYBILL_TEST_KEY"], "")
		list, _ := answer["data"].([]any)
		for _, a := range list {
			log = append(log, a.(object))
		}
		return len(log) > 0
	})
	if log[0]["status_code"] != 503.0 || log[0]["error_class"] != "http_5xx" || log[0]["response_excerpt"] != "thanks" || log[0]["next_attempt_at"] == nil {
		t.Errorf("%v", log[0])
	}
	program.status.Store(http.StatusNoContent)
	eventually(t, "it is tried again", func() bool { return strings.Count(r.stdout.String(), "\n") == 3 })
	if got := program.events(); len(got) != 2 || len(program.odd) > 0 || got[0].ID != got[1].ID || !strings.Contains(r.stdout.String(), `"attempt":2,"succeeded":true,"status_code":204`) {
		t.Errorf("%+v, %v\n%s", got, program.odd, r.stdout.String())
	}
	r.terminate(t)
	if r.stderr.String() != "" {
		t.Errorf("a script is told\n%s", r.stderr.String())
	}
}

func TestListenWithoutAProgramShowsEventsAndNobodyIsTheWiser(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	startDev(t, dir)
	r := start(t, nil, "listen", "--data-dir", dir)
	eventually(t, "it is ready", func() bool { return strings.Contains(r.stderr.String(), "Ready: every event is shown here.") })
	delivery := inDir[triggered](t, dir, "trigger", "manual").Delivery.ID
	eventually(t, "it shows", func() bool {
		return strings.HasSuffix(r.stdout.String(), "  delivery.created           "+delivery+"  received\n")
	})
	r.terminate(t)
}

func TestTheSecretIsOnStdoutOnlyWhereItWasAskedFor(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	startDev(t, dir)
	o := command(t, nil, "listen", "--data-dir", dir, "--print-secret")
	if o.code != exitOK || !regexp.MustCompile(`^whsec_\S+\n$`).MatchString(o.stdout) || strings.Contains(o.stderr, "whsec_") {
		t.Errorf("exit code %d\n%s%s", o.code, o.stdout, o.stderr)
	}
	r := start(t, nil, "listen", "--data-dir", dir, "--print-secret", "--forward-to", "127.0.0.1:1")
	eventually(t, "it is ready", func() bool { return strings.Contains(r.stderr.String(), "\nReady: ") })
	inDir[triggered](t, dir, "trigger", "manual")
	eventually(t, "an attempt is told", func() bool {
		return strings.Contains(r.stderr.String(), "  POST refused: nothing listens on 127.0.0.1:1, ")
	})
	if shown := r.stdout.String(); shown != o.stdout || strings.Contains(r.stderr.String(), "whsec_") {
		t.Errorf("%s%s", shown, r.stderr.String())
	}
	r.terminate(t)
}

func TestListenTellsWhatItNeeds(t *testing.T) {
	t.Parallel()
	live, test := domain.MakeAPIKey(domain.Live, [32]byte{}), domain.MakeAPIKey(domain.Sandbox, [32]byte{})
	forward := []string{"--forward-to", "localhost:3000"}
	for name, c := range map[string]struct {
		environ, args []string
		code          int
		want          string
	}{
		"a live key":         {[]string{testKeyEnv + "=" + live}, append([]string{"--url", "http://127.0.0.1:1/v1"}, forward...), exitFailure, "error: that is a live key"},
		"nothing runs":       {[]string{testKeyEnv + "=" + test}, append([]string{"--url", "http://127.0.0.1:1/v1"}, forward...), exitFailure, "error: nothing runs at http://127.0.0.1:1/v1\n"},
		"no such event":      {nil, []string{"--events", "delivery.lost"}, exitUsage, `error: "delivery.lost" is no type of event. There are *, delivery.*, delivery.created`},
		"an empty event":     {nil, []string{"--events", "delivery.failed,"}, exitUsage, `error: "" is no type of event.`},
		"no address":         {nil, []string{"--forward-to", "http://"}, exitUsage, "error: --forward-to is no address such as http://localhost:3000/hooks\n"},
		"a file":             {nil, []string{"--forward-to", "file:///etc/passwd"}, exitUsage, "error: --forward-to is no address"},
		"a password":         {nil, []string{"--forward-to", "http://u:hunter22@localhost"}, exitUsage, "error: --forward-to must have no user"},
		"a port too high":    {nil, []string{"--forward-to", "localhost:70000"}, exitUsage, "error: --forward-to has the port 70000; it is 1 to 65535\n"},
		"an argument":        {nil, []string{"localhost:3000"}, exitUsage, "error: waybill listen takes no arguments, only flags"},
		"a live key to tail": {[]string{testKeyEnv + "=" + live}, []string{"--url", "http://127.0.0.1:1/v1"}, exitFailure, "error: that is a live key"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := command(t, c.environ, append([]string{"listen"}, c.args...)...)
			if o.code != c.code || !strings.HasPrefix(o.stderr, c.want) || o.stdout != "" || strings.Contains(o.stderr, "hunter22") || strings.Contains(o.stderr, live) {
				t.Errorf("exit code %d\n%s%s", o.code, o.stdout, o.stderr)
			}
		})
	}
}

// posting answers for a program without a network.
type posting func(m ports.WebhookMessage) domain.WebhookResult

func (p posting) Send(_ context.Context, m ports.WebhookMessage) domain.WebhookResult { return p(m) }
func (posting) Resolvable(context.Context, string) error                              { return nil }

// listeningTo is listen on a sandbox without a network.
func listeningTo(h *handout, types ...string) (s *listening, stdout, stderr *output) {
	stdout, stderr = &output{}, &output{}
	p := &program{stdout: stdout, stderr: stderr}
	client := clientOf(h.RoundTrip)
	client.notice = func(why string) { _, _ = io.WriteString(stderr, "  "+why+"\n") }
	client.flags = " --url x"
	return &listening{p: p, client: client, types: types, lines: stdout, forwardTo: "http://localhost:3000/", host: "localhost:3000",
		sender: posting(func(ports.WebhookMessage) domain.WebhookResult { return domain.WebhookResult{StatusCode: 200} })}, stdout, stderr
}

func TestAHeartbeatSaysWhyNothingComes(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		types        []string
		events, want string
	}{
		"nothing happens": {nil, `[]`, "no events for 30 s; listening for *; try: waybill trigger delivered --url x\n"},
		"others happen": {[]string{"delivery.failed", "delivery.cancelled"}, `[{"type":"delivery.created"},{"type":"delivery.assigned"},{"type":"delivery.created"}]`,
			"no events for 30 s; listening for delivery.failed, delivery.cancelled, and what happened was delivery.assigned, delivery.created\n"},
		"what is rare":         {[]string{"delivery.outsourced"}, `[]`, "listening for delivery.outsourced; try: waybill trigger outsourced_then_delivered --url x\n"},
		"not of deliveries":    {[]string{"webhook_endpoint.test"}, `[]`, "listening for webhook_endpoint.test; deliveries make none of these\n"},
		"what a terminal eats": {[]string{"delivery.failed"}, `[{"type":"\u001b[2Jdelivery"}]`, "and what happened was \ufffd[2Jdelivery\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				h := newHandout()
				h.events = c.events
				s, _, stderr := listeningTo(h, c.types...)
				ctx, stop := context.WithTimeout(t.Context(), 65*time.Second)
				defer stop()
				if err := s.run(ctx); err != nil {
					t.Fatal(err)
				}
				if strings.Count(stderr.String(), c.want) != 2 || strings.Contains(stderr.String(), "\x1b") {
					t.Errorf("%q", stderr.String())
				}
			})
		})
	}
}

func TestAHeartbeatIsSilentWhileEventsComeAndWhileTheServiceIsAway(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHandout()
		go func() {
			for n := range 5 {
				time.Sleep(20 * time.Second)
				h.with(func() { h.due = append(h.due, webhookNo(n, "dlv_1")) })
			}
			time.Sleep(time.Second)
			h.with(func() { h.away = true })
		}()
		s, stdout, stderr := listeningTo(h)
		ctx, stop := context.WithTimeout(t.Context(), 6*time.Minute)
		defer stop()
		if err := s.run(ctx); err != nil {
			t.Fatal(err)
		}
		if told := stderr.String(); strings.Contains(told, "no events") || strings.Count(told, "trying again") != 6 || !strings.HasSuffix(told, "Stopped listening. The sandbox could not be told; it keeps webhooks for this listener for up to a minute.\n") {
			t.Errorf("%s", told)
		}
		if strings.Count(stdout.String(), "200 OK") != 5 {
			t.Errorf("%s", stdout.String())
		}
	})
}

func TestListenSaysThatItIsBackAndThatItIsAnotherListener(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHandout()
		s, stdout, stderr := listeningTo(h)
		go func() {
			time.Sleep(10 * time.Second)
			h.with(func() { h.away = true })
			time.Sleep(2 * time.Minute)
			h.with(func() { h.away = false })
			time.Sleep(11 * time.Second)
			if told := stderr.String(); !strings.HasSuffix(told, "it answers again\n") {
				t.Errorf("not yet:\n%s", told)
			}
			h.with(func() { h.ended = true })
			time.Sleep(30 * time.Second)
			h.with(func() { h.due = append(h.due, webhookNo(1, "dlv_1")) })
		}()
		ctx, stop := context.WithTimeout(t.Context(), 3*time.Minute)
		defer stop()
		if err := s.run(ctx); err != nil {
			t.Fatal(err)
		}
		told, at := stderr.String(), 0
		for _, want := range []string{
			"Signing secret  whsec_1\nReady: ", "trying again in 500ms", "trying again every 10s", "it answers again\n", "The listener had expired",
			"waybill tail events --since 10m --url x\n", "Stopped listening.\n",
		} {
			next := strings.Index(told[at:], want)
			if next < 0 {
				t.Fatalf("%q is missing or in another place:\n%s", want, told)
			}
			at += next
		}
		if strings.Count(stdout.String(), "200 OK") != 1 || len(h.deleted) != 1 || h.deleted[0] != "/webhook-listeners/"+listenerID(2) {
			t.Errorf("%s%v", stdout.String(), h.deleted)
		}
	})
}

func TestEveryOutcomeIsToldSoThatItCanBeMended(t *testing.T) {
	t.Parallel()
	s := &listening{host: "localhost:3000"}
	for _, class := range domain.ErrorClasses() {
		r := domain.WebhookResult{Error: class}
		switch class {
		case domain.ErrorHTTP4xx, domain.ErrorHTTP5xx, domain.ErrorRedirect:
			r.StatusCode = 302
		}
		if told := s.outcome(r); told == "" || strings.HasPrefix(told, "0") {
			t.Errorf("%s is told as %q", class, told)
		}
	}
	if told := s.outcome(domain.WebhookResult{StatusCode: 299}); told != "299" {
		t.Errorf("%q", told)
	}
}

func TestALineOfAHostileSandboxIsSafeOnATerminal(t *testing.T) {
	t.Parallel()
	var shown bytes.Buffer
	s := &listening{p: &program{}, lines: &shown, forwardTo: "x"}
	w := &incomingWebhook{}
	w.EventType, w.payload.Data.Delivery.ID, w.Attempt = "\x1b[31mred\nnext", strings.Repeat("x", 1000), 2
	s.tell(w, domain.WebhookResult{StatusCode: 200})
	if line := shown.String(); strings.ContainsAny(line[:len(line)-1], "\x1b\n") || len(line) > 300 || !strings.HasSuffix(line, "200 OK, 0 ms, attempt 2\n") {
		t.Errorf("%q", line)
	}
}
