package main

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"waybill/adapters/cli/term"
	"waybill/adapters/clients/go/waybillapi"
	"waybill/domain"
)

// program3000 is the program that an integrator develops: it verifies what it
// gets as one should.
type program3000 struct {
	secret atomic.Value // string
	status atomic.Int32

	mu   sync.Mutex
	got  []postedEvent
	odd  []string // what was wrong
	path string
}

func (p *program3000) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	var e postedEvent
	secret, _ := p.secret.Load().(string)
	verifier, err := waybillapi.NewVerifier(secret)
	if err == nil {
		err = verifier.Verify(r.Header, body)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if err != nil || json.Unmarshal(body, &e) != nil || r.Method != http.MethodPost || r.Header.Get("Content-Type") != "application/json" ||
		r.Header.Get("User-Agent") != "Waybill-Webhooks/1.0" || r.Header.Get("Authorization") != "" ||
		r.Header.Get(domain.HeaderWebhookAttempt) == "" {
		p.odd = append(p.odd, r.Method+" "+string(body))
	}
	p.got, p.path = append(p.got, e), r.URL.Path
	w.WriteHeader(int(p.status.Load()))
	_, _ = io.WriteString(w, "thanks")
}

// postedEvent is what a program reads of a webhook.
type postedEvent struct {
	ID, Type string
	Sequence int
	Data     struct{ Delivery struct{ ID, Status string } }
}

func (p *program3000) events() []postedEvent {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]postedEvent{}, p.got...)
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
	for _, want := range []string{vars["WAYBILL_SANDBOX_URL"] + `, application "Demo shop" of Adom Foods`, "Signing secret  whsec_",
		"Ready: every delivery.assigned, delivery.failed goes to http://" + host + "/hooks. Ctrl-C ends it."} {
		if !strings.Contains(told, want) {
			t.Errorf("%q is missing in\n%s", want, told)
		}
	}
	program.secret.Store(shownSecret.FindString(told))
	delivery := inDir[triggered](t, dir, "trigger", "failed_at_pickup", "--step-seconds", "1").Delivery.ID
	eventually(t, "both webhooks have come", func() bool { return strings.Count(r.stdout.String(), "\n") == 2 })
	got := program.events()
	if len(program.odd) > 0 || program.path != "/hooks" || len(got) != 2 || got[0].Type != "delivery.assigned" ||
		got[1].Type != "delivery.failed" || got[1].Sequence != 3 {
		t.Errorf("%v, %s, %+v", program.odd, program.path, got)
	}
	line := regexp.MustCompile(`(?m)^\d\d:\d\d:\d\d\.\d{3}Z  delivery\.(assigned|failed) +  ` + delivery + `  200 OK, \d+ ms$`)
	if shown := r.stdout.String(); len(line.FindAllString(shown, -1)) != 2 || strings.Contains(shown, "whsec_") {
		t.Errorf("%s", shown)
	}
	r.stop()
	if code := r.wait(t); code != term.ExitOK || !strings.HasSuffix(r.stderr.String(), "\nStopped listening.\n") ||
		strings.Contains(r.stderr.String(), vars["WAYBILL_TEST_KEY"]) {
		t.Errorf("exit code %d\n%s", code, r.stderr.String())
	}
}

func TestListenWithoutAProgramShowsEventsAndChangesNothing(t *testing.T) {
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
	if o.code != term.ExitOK || !regexp.MustCompile(`^whsec_\S+\n$`).MatchString(o.stdout) || strings.Contains(o.stderr, "whsec_") {
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
		"a live key": {[]string{"WAYBILL_TEST_KEY" + "=" + live}, append([]string{"--url", "http://127.0.0.1:1/v1"}, forward...),
			term.ExitFailure, "error: that is a live key"},
		"nothing runs": {[]string{"WAYBILL_TEST_KEY" + "=" + test}, append([]string{"--url", "http://127.0.0.1:1/v1"}, forward...),
			term.ExitFailure, "error: nothing runs at http://127.0.0.1:1/v1\n"},
		"no such event": {nil, []string{"--events", "delivery.lost"}, term.ExitUsage,
			`error: "delivery.lost" is no type of event. There are *, delivery.*, delivery.created`},
		"an empty event": {nil, []string{"--events", "delivery.failed,"}, term.ExitUsage, `error: "" is no type of event.`},
		"no address": {nil, []string{"--forward-to", "http://"}, term.ExitUsage,
			"error: --forward-to is no address such as http://localhost:3000/webhooks/waybill\n"},
		"a file": {nil, []string{"--forward-to", "file:///etc/passwd"}, term.ExitUsage, "error: --forward-to is no address"},
		"a password": {nil, []string{"--forward-to", "http://u:hunter22@localhost"}, term.ExitUsage,
			"error: --forward-to must have no user"},
		"a port too high": {nil, []string{"--forward-to", "localhost:70000"}, term.ExitUsage,
			"error: --forward-to has the port 70000; it is 1 to 65535\n"},
		"an argument": {nil, []string{"localhost:3000"}, term.ExitUsage, "error: waybill listen takes no arguments, only flags"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := command(t, c.environ, append([]string{"listen"}, c.args...)...)
			if o.code != c.code || !strings.HasPrefix(o.stderr, c.want) || o.stdout != "" || strings.Contains(o.stderr, "hunter22") ||
				strings.Contains(o.stderr, live) {
				t.Errorf("exit code %d\n%s%s", o.code, o.stdout, o.stderr)
			}
		})
	}
}
