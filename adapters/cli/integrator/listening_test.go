package integrator

import (
	"bytes"
	"context"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"waybill/adapters/cli/term"
	"waybill/adapters/clients/go/waybillapi"
	"waybill/domain"
	"waybill/ports"
	"waybill/test/stage"
)

// posting responds for a program without a network.
type posting func(m ports.WebhookMessage) domain.WebhookResult

func (p posting) Send(_ context.Context, m ports.WebhookMessage) domain.WebhookResult { return p(m) }
func (posting) Resolvable(context.Context, string) error                              { return nil }

// listeningTo returns a listen run on a sandbox without a network.
func listeningTo(h *handout, types ...string) (s *listening, stdout, stderr *stage.Log) {
	stdout, stderr = &stage.Log{}, &stage.Log{}
	p := playing(&term.Program{Stdout: stdout, Stderr: stderr})
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
		"others happen": {[]string{"delivery.failed", "delivery.cancelled"},
			`[{"type":"delivery.created"},{"type":"delivery.assigned"},{"type":"delivery.created"}]`,
			"no events for 30 s; listening for delivery.failed, delivery.cancelled, and what happened was delivery.assigned, delivery.created\n"},
		"what is rare": {[]string{"delivery.outsourced"}, `[]`,
			"listening for delivery.outsourced; try: waybill trigger outsourced_then_delivered --url x\n"},
		"not of deliveries":    {[]string{"webhook_endpoint.test"}, `[]`, "listening for webhook_endpoint.test; deliveries make none of these\n"},
		"what a terminal eats": {[]string{"delivery.failed"}, `[{"type":"\u001b[2Jdelivery"}]`, "and what happened was \ufffd[2Jdelivery\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				h := newHandout()
				h.events = c.events
				s, _, stderr := listeningTo(h, c.types...)
				ctx, stop := leaving(t, 65*time.Second)
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
		ctx, stop := leaving(t, 6*time.Minute)
		defer stop()
		if err := s.run(ctx); err != nil {
			t.Fatal(err)
		}
		if told := stderr.String(); strings.Contains(told, "no events") || strings.Count(told, "trying again") != 6 ||
			!strings.HasSuffix(told, "Stopped listening. The sandbox could not be told; it keeps webhooks for this listener for up to a minute.\n") {
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
		ctx, stop := leaving(t, 3*time.Minute)
		defer stop()
		if err := s.run(ctx); err != nil {
			t.Fatal(err)
		}
		told, at := stderr.String(), 0
		for _, want := range []string{
			"Signing secret  whsec_1\nReady: ", "trying again in ", "trying again every 10s", "it answers again\n", "The listener had expired",
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
	s := &listening{p: playing(&term.Program{}), lines: &shown, forwardTo: "x"}
	w := &incomingWebhook{}
	w.EventType, w.payload.Data.Delivery, w.Attempt = "\x1b[31mred\nnext", &waybillapi.Delivery{ID: strings.Repeat("x", 1000)}, 2
	s.printAttempt(w, domain.WebhookResult{StatusCode: 200})
	if line := shown.String(); strings.ContainsAny(line[:len(line)-1], "\x1b\n") || len(line) > 300 ||
		!strings.HasSuffix(line, "200 OK, 0 ms, attempt 2\n") {
		t.Errorf("%q", line)
	}
}
