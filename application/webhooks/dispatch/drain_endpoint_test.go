package dispatch_test

import (
	"slices"
	"sync"
	"testing"
	"time"

	"waybill/domain"
	"waybill/ports"
)

func TestAnOpenCircuitIsLeftAloneAndThenProbedOnce(t *testing.T) {
	t.Parallel()
	inWorld(t, func(t *testing.T, w *world) {
		e := w.addEndpoint(1)
		w.addEvents(e, 100)
		down := true
		var mu sync.Mutex
		w.answer = func(ports.WebhookMessage) domain.WebhookResult {
			mu.Lock()
			defer mu.Unlock()
			if down {
				return domain.WebhookResult{StatusCode: 503, Error: domain.ErrorHTTP5xx, Duration: 10 * time.Millisecond}
			}
			return takes(10 * time.Millisecond)
		}
		defer w.running(t, 1, true)()
		w.wake(t, e)
		time.Sleep(30 * time.Second)
		first := len(w.sent())
		if first < 16 || first > 31 {
			t.Errorf("%d were sent until the circuit opened", first)
		}
		if last := w.sent()[first-1].at; last > 20*time.Millisecond {
			t.Errorf("sent at %v into the open circuit", last)
		}
		time.Sleep(10*time.Millisecond + 2*lingers) // it opened after 10 ms, for 30 s
		if probes := w.sent()[first:]; len(probes) != 1 || probes[0].at < 30*time.Second+10*time.Millisecond {
			t.Fatalf("probed %+v", probes)
		}
		time.Sleep(59 * time.Second) // the probe failed: a minute
		if n := len(w.sent()); n != first+1 {
			t.Errorf("%d more into the open circuit", n-first-1)
		}
		mu.Lock()
		down = false
		mu.Unlock()
		time.Sleep(10 * time.Minute)
		w.wantArrived(t, 100)
		probed, scheduled := 0, 0
		for id := range w.rows {
			for _, a := range w.log(id) {
				if a.Trigger == domain.TriggerProbe {
					probed++
				} else {
					scheduled++
				}
			}
		}
		if probed != 2 || scheduled != first+99 {
			t.Errorf("%d probes and %d others", probed, scheduled)
		}
		// Behind a good probe all go at once again.
		good := w.sent()[first+1:]
		if at := times(good); at[1]-at[0] < 10*time.Millisecond || at[16] != at[1] {
			t.Errorf("after the probe: %v", at[:20])
		}
	})
}

func TestTheProbeIsTheAttemptThatACallerAskedFor(t *testing.T) {
	t.Parallel()
	inWorld(t, func(t *testing.T, w *world) {
		e := w.addEndpoint(1)
		w.addEvents(e, 3)
		manual := w.add(e, 4, 1)
		w.change(e, func(b *boxed) {
			now := time.Now()
			b.Health = domain.WebhookHealth{Failures: 10, FailingSince: &now, OpenUntil: &now, Opened: 1}
			b.pending[3].Trigger = domain.TriggerManual
		})
		w.always(refuses(500))
		w.drained(t, ports.JobWebhook, e)
		if sent := w.sent(); len(sent) != 1 || sent[0].event != w.row(manual).EventID {
			t.Errorf("sent %+v, want what was asked for and, as that failed, nothing else", sent)
		}
	})
}

func TestGoneDisablesAtOnce(t *testing.T) {
	t.Parallel()
	inWorld(t, func(t *testing.T, w *world) {
		e := w.backlog(100, isGone(10*time.Millisecond))
		w.drained(t, ports.JobWebhook, e)
		got := w.endpoint(e)
		if got.Enabled || got.Disabled != domain.DisabledGone || got.token != "" ||
			!slices.Equal(w.published, []domain.DisabledReason{domain.DisabledGone}) {
			t.Errorf("%+v, published %v", got.WebhookEndpoint, w.published)
		}
		first := w.log(rowID(0, 0))
		if len(first) != 1 || first[0].NextAt != nil {
			t.Errorf("the attempt that found it gone: %+v; none follows", first)
		}
		if n := w.statuses(); n[domain.WebhookHeld] != 100 || w.sent()[len(w.sent())-1].at != 0 || len(w.heard()) != 0 {
			t.Errorf("%v, %d sent, notifications %v", n, len(w.sent()), w.heard())
		}
	})
}

func TestDaysOfFailureDisable(t *testing.T) {
	t.Parallel()
	inWorld(t, func(t *testing.T, w *world) {
		e := w.addEndpoint(1)
		w.change(e, func(b *boxed) {
			since := time.Now().Add(-72 * time.Hour)
			b.Health = domain.WebhookHealth{Failures: 49, FailingSince: &since, OpenUntil: &since, Opened: 5}
		})
		w.addEvents(e, 2)
		w.always(refuses(500))
		w.drained(t, ports.JobWebhook, e)
		if got := w.endpoint(e); got.Disabled != domain.DisabledFailing || len(w.sent()) != 1 || w.statuses()[domain.WebhookHeld] != 2 {
			t.Errorf("%+v, %d sent, %v", got.WebhookEndpoint, len(w.sent()), w.statuses())
		}
	})
}

func TestAnEndpointThatCouldNotBeDisabledIsDisabledLater(t *testing.T) {
	t.Parallel()
	inWorld(t, func(t *testing.T, w *world) {
		e := w.backlog(2, isGone(0))
		w.failing("Disable", 0, 20*time.Second)
		defer w.running(t, 1, true)()
		time.Sleep(2 * time.Minute)
		if got := w.endpoint(e); got.Disabled != domain.DisabledGone || len(w.sent()) > 8 || len(w.published) != 1 {
			t.Errorf("%+v after %d sends, published %v", got.WebhookEndpoint, len(w.sent()), w.published)
		}
	})
}

// A change of an endpoint stands over an answer to the earlier address.
func TestAnEndpointThatIsChangedMeanwhileIsNotDisabled(t *testing.T) {
	t.Parallel()
	inWorlds(t, map[string]func(*boxed){
		"another address":       func(b *boxed) { b.URL = "https://new.example.com" },
		"disabled by its owner": func(b *boxed) { b.Enabled, b.Disabled = false, domain.DisabledByCaller },
		"deleted":               func(b *boxed) { b.gone = true },
	}, func(t *testing.T, w *world, what string, change func(*boxed)) {
		e := w.addEndpoint(1)
		w.add(e, 1, 1)
		w.answer = func(m ports.WebhookMessage) domain.WebhookResult {
			if m.URL == "https://new.example.com" {
				return takes(0)
			}
			return isGone(time.Second)
		}
		defer w.running(t, 1, true)()
		time.Sleep(500 * time.Millisecond)
		w.change(e, change)
		time.Sleep(time.Minute)
		got := w.endpoint(e)
		if len(w.published) != 0 || got.Disabled == domain.DisabledGone {
			t.Errorf("%+v, published %v", got.WebhookEndpoint, w.published)
		}
		if what == "another address" && w.statuses()[domain.WebhookSucceeded] != 1 {
			t.Errorf("%v", w.statuses())
		}
	})
}

// What is changed at an endpoint counts after two seconds at the latest.
func TestADrainAdoptsChangesOfItsEndpoint(t *testing.T) {
	t.Parallel()
	const change, seen = 1500 * time.Millisecond, 2 * time.Second
	type followed struct {
		change func(*boxed)
		ends   bool
		took   time.Duration
	}
	inWorlds(t, map[string]followed{
		"address":  {func(b *boxed) { b.URL = "https://new.example.com" }, false, 5250 * time.Millisecond},
		"secret":   {func(b *boxed) { b.Secrets = []domain.SigningSecret{{Sealed: []byte("new")}} }, false, 5250 * time.Millisecond},
		"disabled": {func(b *boxed) { b.Enabled = false }, true, 2100 * time.Millisecond},
		"deleted":  {func(b *boxed) { b.gone = true }, true, 1750 * time.Millisecond}, // what cannot be recorded tells
	}, func(t *testing.T, w *world, what string, c followed) {
		e := w.backlog(2000, takes(350*time.Millisecond))
		time.AfterFunc(change, func() { w.change(e, c.change) })
		took := w.drained(t, ports.JobWebhook, e)
		old := w.sent()[0]
		for _, s := range w.sent() {
			now := s.at > seen
			changed := s.url != old.url || what == "secret" && s.signed != domain.SignWebhook([][]byte{[]byte("secret")}, s.event, w.began.Add(s.at),
				[]byte(s.event))
			if now && c.ends {
				t.Fatalf("sent at %v", s.at)
			}
			if changed != now {
				t.Fatalf("at %v sent %+v", s.at, s)
			}
		}
		if took != c.took {
			t.Errorf("it took %v, want %v", took, c.took)
		}
		if w.endpoint(e).token != "" {
			t.Error("the lease is left behind")
		}
	})
}
