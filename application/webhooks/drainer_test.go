package webhooks_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"waybill/application/webhooks"
	"waybill/domain"
	"waybill/ports"
	"waybill/test/stage"
)

// ring calls the handler of a lane, as a queue does.
func ring(t *testing.T, w *world, handlers map[ports.Lane]ports.Handler, lane ports.Lane, id domain.ID) (took time.Duration) {
	t.Helper()
	began := w.now()
	handlers[lane](t.Context(), string(id))
	return w.now() - began
}

// running rings by a real queue and, where it is asked for, a Sweeper.
func (w *world) running(t *testing.T, workers int, sweeps bool) (stop func()) {
	bell := newLanes(workers)
	w.bell = bell
	d := w.drainer()
	ctx, cancel := context.WithCancel(t.Context())
	var all sync.WaitGroup
	all.Go(func() { _ = bell.Run(ctx, d.Handlers()) })
	if sweeps {
		all.Go(func() { w.sweeper().Run(ctx) })
	}
	return func() {
		cancel()
		d.Close()
		all.Wait()
	}
}

func TestWhatIsDueIsSentSignedAndRecorded(t *testing.T) {
	t.Parallel()
	inWorld(t, func(t *testing.T, w *world) {
		e := w.addEndpoint(1)
		w.change(e, func(b *boxed) {
			soon := time.Now().Add(time.Hour)
			b.Secrets = append(b.Secrets, domain.SigningSecret{Sealed: []byte("older"), ExpiresAt: &soon})
		})
		row := w.add(e, 1, 1)
		w.answer = func(ports.WebhookMessage) domain.WebhookResult { return takes(30 * time.Millisecond) }
		took := ring(t, w, w.drainer().Handlers(), ports.LaneWebhook, e)
		if want := 30*time.Millisecond + lingers; took != want {
			t.Errorf("it took %v, want %v", took, want)
		}
		d, log := w.row(row), w.log(row)
		want := domain.SignWebhook([][]byte{[]byte("secret"), []byte("older")}, d.EventID, w.began, []byte(d.EventID))
		if sent := w.sent(); len(sent) != 1 || sent[0] != (shot{event: d.EventID, url: "https://1.example.com", attempt: "1", signed: want}) {
			t.Errorf("sent %+v", sent)
		}
		if d.Status != domain.WebhookSucceeded || d.Attempts != 1 || len(log) != 1 || log[0].Result.Duration != 30*time.Millisecond {
			t.Errorf("recorded %+v, %+v", d, log)
		}
		if e := w.endpoint(e); e.token != "" || len(w.heard()) != 0 || w.logged.String() != "" {
			t.Errorf("left behind: lease %q, rings %v, log %s", e.token, w.heard(), &w.logged)
		}
	})
}

func TestWhatFailsIsTriedByTheScheduleAndThenListedAsFailed(t *testing.T) {
	t.Parallel()
	inWorld(t, func(t *testing.T, w *world) {
		e := w.addEndpoint(1)
		row := w.add(e, 1, 1)
		w.answer = func(ports.WebhookMessage) domain.WebhookResult { return refuses(500) }
		defer w.running(t, 1, true)()
		time.Sleep(20 * time.Minute)
		log, sent := w.log(row), w.sent()
		if len(log) != 5 || len(sent) != 5 || w.row(row).Status != domain.WebhookFailed {
			t.Fatalf("%d attempts, %d sent: %+v", len(log), len(sent), w.row(row))
		}
		for i, base := range domain.DefaultRetrySchedule(domain.Sandbox) {
			due := log[i].NextAt.Sub(w.began)
			if wait := due - sent[i].at; wait < base*8/10 || wait > base*12/10+time.Millisecond {
				t.Errorf("attempt %d is due after %v", i+2, wait)
			}
			if late := sent[i+1].at - due; late < 0 || late > sweepsEvery {
				t.Errorf("attempt %d was %v late", i+2, late)
			}
			if sent[i+1].attempt != fmt.Sprint(i+2) {
				t.Errorf("attempt %d says %s", i+2, sent[i+1].attempt)
			}
		}
		if log[4].NextAt != nil {
			t.Error("the last attempt promises another")
		}
	})
}

func TestNoMoreThanSixteenAreOnTheirWayToAnEndpoint(t *testing.T) {
	t.Parallel()
	inWorld(t, func(t *testing.T, w *world) {
		e := w.addEndpoint(1)
		for i := range 400 {
			w.add(e, i+1, 1)
		}
		w.answer = func(ports.WebhookMessage) domain.WebhookResult { return takes(100 * time.Millisecond) }
		took := ring(t, w, w.drainer().Handlers(), ports.LaneWebhook, e)
		if want := 400/16*100*time.Millisecond + lingers; took != want || w.mostAtOnce("https://1.example.com") != 16 {
			t.Errorf("%v with %d at a time, want %v", took, w.mostAtOnce("https://1.example.com"), want)
		}
		if n := w.statuses()[domain.WebhookSucceeded]; n != 400 {
			t.Errorf("%d arrived", n)
		}
	})
}

// Of what is read some is on its way already: that costs, and must stay a part.
// What was sent and is not stored is sent again after a death.
func TestWhileTheStorageIsSlowNoMoreIsSentThanADeathMayDouble(t *testing.T) {
	t.Parallel()
	inWorld(t, func(t *testing.T, w *world) {
		e := w.addEndpoint(1)
		for i := range 1000 {
			w.add(e, i+1, 1)
		}
		w.answer = func(ports.WebhookMessage) domain.WebhookResult { return takes(time.Millisecond) }
		w.slowed("Record", time.Second, 0, time.Hour)
		d := w.drainer()
		go ring(t, w, d.Handlers(), ports.LaneWebhook, e)
		most := 0
		for range 30 {
			// Rings make it look for more.
			time.Sleep(100 * time.Millisecond)
			d.Drain(t.Context(), e, false)
			most = max(most, len(w.sent())-w.statuses()[domain.WebhookSucceeded])
		}
		if most != 128 {
			t.Errorf("%d were sent and not stored, want 128", most)
		}
		d.Close()
	})
}

func TestABacklogIsReadOnceAndALittle(t *testing.T) {
	t.Parallel()
	inWorld(t, func(t *testing.T, w *world) {
		const rows = 20_000
		e := w.addEndpoint(1)
		for i := range rows {
			w.add(e, i+1, 1)
		}
		w.answer = func(ports.WebhookMessage) domain.WebhookResult { return takes(time.Millisecond) }
		w.slowed("Record", 3*time.Millisecond, 0, time.Hour)
		defer w.running(t, 1, false)()
		_ = w.bell.Ring(t.Context(), ports.LaneWebhook, string(e))
		time.Sleep(30 * time.Second)
		if n := w.statuses()[domain.WebhookSucceeded]; n != rows || len(w.sent()) != rows {
			t.Fatalf("%d arrived, %d sent", n, len(w.sent()))
		}
		if w.widest > 400 {
			t.Errorf("%d rows were asked for at a time", w.widest)
		}
		if w.read > rows*2 || w.count("Due") > rows/100 || w.count("Record") > rows/16+10 {
			t.Errorf("%d rows were read by %d statements and written by %d", w.read, w.count("Due"), w.count("Record"))
		}
	})
}

func TestWithinADeliveryAnEventWaitsWhileAnEarlierOneIsOnItsWay(t *testing.T) {
	t.Parallel()
	inWorld(t, func(t *testing.T, w *world) {
		e := w.addEndpoint(1)
		var want []domain.ID
		for sequence := range 3 {
			for delivery := range 4 {
				want = append(want, w.row(w.add(e, delivery+1, sequence+1)).EventID)
			}
		}
		own := []domain.ID{w.row(w.add(e, 0, 0)).EventID, w.row(w.add(e, 0, 0)).EventID} // events of an endpoint wait for none
		w.answer = func(ports.WebhookMessage) domain.WebhookResult { return takes(200 * time.Millisecond) }
		ring(t, w, w.drainer().Handlers(), ports.LaneWebhook, e)
		at := map[domain.ID]time.Duration{}
		for _, s := range w.sent() {
			at[s.event] = s.at
		}
		for i, event := range want {
			if at[event] != time.Duration(i/4)*200*time.Millisecond {
				t.Errorf("event %d of delivery %d was sent at %v", i/4+1, i%4+1, at[event])
			}
		}
		if at[own[0]] != 0 || at[own[1]] != 0 || len(at) != 14 {
			t.Errorf("%d events; those of the endpoint at %v and %v", len(at), at[own[0]], at[own[1]])
		}
	})
}

// Two processes whose clocks differ make IDs that do not follow each other.
func TestOfOneMomentTheSequenceDecides(t *testing.T) {
	t.Parallel()
	inWorld(t, func(t *testing.T, w *world) {
		e := w.addEndpoint(1)
		third, first, second := w.add(e, 1, 3), w.add(e, 1, 1), w.add(e, 1, 2)
		ring(t, w, w.drainer().Handlers(), ports.LaneWebhook, e)
		if got := events(w.sent()); !slices.Equal(got, []domain.ID{w.row(first).EventID, w.row(second).EventID, w.row(third).EventID}) {
			t.Errorf("sent %v", got)
		}
	})
}

func TestAnEventThatBacksOffDoesNotBlockTheNext(t *testing.T) {
	t.Parallel()
	inWorld(t, func(t *testing.T, w *world) {
		e := w.addEndpoint(1)
		first, second := w.add(e, 1, 1), w.add(e, 1, 2)
		w.answer = func(m ports.WebhookMessage) domain.WebhookResult {
			if string(m.Body) == string(w.row(first).EventID) {
				return domain.WebhookResult{StatusCode: 500, Error: domain.ErrorHTTP5xx, Duration: 50 * time.Millisecond}
			}
			return takes(0)
		}
		ring(t, w, w.drainer().Handlers(), ports.LaneWebhook, e)
		if got := times(w.sent()); !slices.Equal(got, []time.Duration{0, 50 * time.Millisecond}) {
			t.Errorf("sent at %v", got)
		}
		if w.row(first).Status != domain.WebhookPending || w.row(second).Status != domain.WebhookSucceeded {
			t.Errorf("%+v, %+v", w.row(first), w.row(second))
		}
	})
}

func TestASliceIsOverAfterFiveSecondsAndTheOthersComeFirst(t *testing.T) {
	t.Parallel()
	inWorld(t, func(t *testing.T, w *world) {
		busy, other := w.addEndpoint(1), w.addEndpoint(2)
		for i := range 2000 {
			w.add(busy, i+1, 1)
		}
		w.answer = func(ports.WebhookMessage) domain.WebhookResult { return takes(100 * time.Millisecond) }
		defer w.running(t, 1, false)()
		_ = w.bell.Ring(t.Context(), ports.LaneWebhook, string(busy))
		time.Sleep(time.Millisecond)
		row := w.add(other, 1, 1)
		_ = w.bell.Ring(t.Context(), ports.LaneWebhook, string(other))
		time.Sleep(time.Minute)
		if n := w.statuses()[domain.WebhookSucceeded]; n != 2001 {
			t.Errorf("%d arrived", n)
		}
		var at time.Duration
		for _, s := range w.sent() {
			if s.event == w.row(row).EventID {
				at = s.at
			}
		}
		if at != 5*time.Second {
			t.Errorf("the other's was sent at %v", at)
		}
		// 16 every 100 ms for 5 seconds are 800.
		if n := w.count("Lease"); n != 4 || w.count("Release") != 4 {
			t.Errorf("%d slices, %d ended", n, w.count("Release"))
		}
	})
}

func TestAReceiverThatHangsHoldsAWorkerForTwoSecondsAndThenGoesToTheSlowLane(t *testing.T) {
	t.Parallel()
	for what, hung := range map[string]int{"half": 8, "one of many": 1} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			inWorld(t, func(t *testing.T, w *world) {
				e := w.addEndpoint(1)
				for i := range 100 {
					w.add(e, i+1, 1)
				}
				n := 0
				var mu sync.Mutex
				w.answer = func(ports.WebhookMessage) domain.WebhookResult {
					mu.Lock()
					defer mu.Unlock()
					if n++; n <= hung {
						return hangs()
					}
					return takes(900 * time.Millisecond)
				}
				d := w.drainer()
				handlers := d.Handlers()
				if took := ring(t, w, handlers, ports.LaneWebhook, e); took != 2*time.Second {
					t.Errorf("the normal lane was left after %v", took)
				}
				sent := len(w.sent())
				time.Sleep(attemptLasts - 2*time.Second - time.Millisecond)
				if e := w.endpoint(e); !e.leased() || len(w.sent()) != sent || len(w.heard()) != 0 {
					t.Errorf("meanwhile: leased until %v, %d more sent, rings %v", e.until, len(w.sent())-sent, w.heard())
				}
				time.Sleep(2 * time.Millisecond)
				if got := w.heard(); !slices.Equal(got, []string{"webhook-slow 15s"}) {
					t.Errorf("rings %v", got)
				}
				if n := w.statuses()[domain.WebhookPending]; n+sent-hung != 100 {
					t.Errorf("%d are pending, %d were sent", n, sent)
				}
				// The normal lane leaves it alone from now on.
				reads := w.count("Due")
				if took := ring(t, w, handlers, ports.LaneWebhook, e); took != 0 || len(w.sent()) != sent || w.count("Due") != reads {
					t.Errorf("the normal lane took %v, and %d were sent", took, len(w.sent())-sent)
				}
				d.Close()
			})
		})
	}
}

func TestTheSlowLaneStaysUntilAllIsDone(t *testing.T) {
	t.Parallel()
	inWorld(t, func(t *testing.T, w *world) {
		e := w.addEndpoint(1)
		for i := range 40 {
			w.add(e, i+1, 1)
		}
		w.answer = func(ports.WebhookMessage) domain.WebhookResult { return takes(3 * time.Second) }
		handlers := w.drainer().Handlers()
		// 16, and 16 more before the slice of 5 seconds is over.
		if took := ring(t, w, handlers, ports.LaneWebhookSlow, e); took != 6*time.Second {
			t.Errorf("the slow lane was left after %v", took)
		}
		if got := w.heard(); len(w.sent()) != 32 || !slices.Equal(got, []string{"webhook-slow 6s"}) {
			t.Errorf("%d sent, rings %v", len(w.sent()), got)
		}
	})
}

func TestAnOpenCircuitIsLeftAloneAndThenProbedOnce(t *testing.T) {
	t.Parallel()
	inWorld(t, func(t *testing.T, w *world) {
		e := w.addEndpoint(1)
		for i := range 100 {
			w.add(e, i+1, 1)
		}
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
		_ = w.bell.Ring(t.Context(), ports.LaneWebhook, string(e))
		time.Sleep(30 * time.Second)
		first := len(w.sent())
		if first < 16 || first > 31 {
			t.Errorf("%d were sent until the circuit opened", first)
		}
		if last := w.sent()[first-1].at; last > 20*time.Millisecond {
			t.Errorf("sent at %v into the open circuit", last)
		}
		time.Sleep(10*time.Millisecond + sweepsEvery) // it opened after 10 ms, for 30 s
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
		if n := w.statuses()[domain.WebhookSucceeded]; n != 100 {
			t.Errorf("%d arrived", n)
		}
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

func TestGoneDisablesAtOnce(t *testing.T) {
	t.Parallel()
	inWorld(t, func(t *testing.T, w *world) {
		e := w.addEndpoint(1)
		for i := range 100 {
			w.add(e, i+1, 1)
		}
		w.answer = func(ports.WebhookMessage) domain.WebhookResult {
			return domain.WebhookResult{StatusCode: 410, Error: domain.ErrorHTTP4xx, Duration: 10 * time.Millisecond}
		}
		ring(t, w, w.drainer().Handlers(), ports.LaneWebhook, e)
		got := w.endpoint(e)
		if got.Enabled || got.Disabled != domain.DisabledGone || got.token != "" || !slices.Equal(w.published, []domain.DisabledReason{domain.DisabledGone}) {
			t.Errorf("%+v, published %v", got.WebhookEndpoint, w.published)
		}
		if n := w.statuses(); n[domain.WebhookHeld] != 100 || w.sent()[len(w.sent())-1].at != 0 || len(w.heard()) != 0 {
			t.Errorf("%v, %d sent, rings %v", n, len(w.sent()), w.heard())
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
		w.add(e, 1, 1)
		w.add(e, 2, 1)
		w.answer = func(ports.WebhookMessage) domain.WebhookResult { return refuses(500) }
		ring(t, w, w.drainer().Handlers(), ports.LaneWebhook, e)
		if got := w.endpoint(e); got.Disabled != domain.DisabledFailing || len(w.sent()) != 1 || w.statuses()[domain.WebhookHeld] != 2 {
			t.Errorf("%+v, %d sent, %v", got.WebhookEndpoint, len(w.sent()), w.statuses())
		}
	})
}

// Who changes an endpoint knows better than an answer to the earlier address.
func TestAnEndpointThatIsChangedMeanwhileIsNotDisabled(t *testing.T) {
	t.Parallel()
	for what, change := range map[string]func(*boxed){
		"another address":       func(b *boxed) { b.URL = "https://new.example.com" },
		"disabled by its owner": func(b *boxed) { b.Enabled, b.Disabled = false, domain.DisabledByCaller },
		"deleted":               func(b *boxed) { b.gone = true },
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			inWorld(t, func(t *testing.T, w *world) {
				e := w.addEndpoint(1)
				w.add(e, 1, 1)
				w.answer = func(m ports.WebhookMessage) domain.WebhookResult {
					if m.URL == "https://new.example.com" {
						return takes(0)
					}
					return domain.WebhookResult{StatusCode: 410, Error: domain.ErrorHTTP4xx, Duration: time.Second}
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
		})
	}
}

// What is changed at an endpoint counts after two seconds at the latest.
func TestChangesOfTheEndpointAreFollowedWhileItIsDrained(t *testing.T) {
	t.Parallel()
	const change, seen = 1500 * time.Millisecond, 2 * time.Second
	for what, c := range map[string]struct {
		change func(*boxed)
		ends   bool
		took   time.Duration
	}{
		"address":  {func(b *boxed) { b.URL = "https://new.example.com" }, false, 5250 * time.Millisecond},
		"secret":   {func(b *boxed) { b.Secrets = []domain.SigningSecret{{Sealed: []byte("new")}} }, false, 5250 * time.Millisecond},
		"disabled": {func(b *boxed) { b.Enabled = false }, true, 2100 * time.Millisecond},
		"deleted":  {func(b *boxed) { b.gone = true }, true, 1750 * time.Millisecond}, // what cannot be recorded tells,
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			inWorld(t, func(t *testing.T, w *world) {
				e := w.addEndpoint(1)
				for i := range 2000 {
					w.add(e, i+1, 1)
				}
				w.answer = func(ports.WebhookMessage) domain.WebhookResult { return takes(350 * time.Millisecond) }
				time.AfterFunc(change, func() { w.change(e, c.change) })
				took := ring(t, w, w.drainer().Handlers(), ports.LaneWebhook, e)
				old := w.sent()[0]
				for _, s := range w.sent() {
					now := s.at > seen
					changed := s.url != old.url || what == "secret" && s.signed != domain.SignWebhook([][]byte{[]byte("secret")}, s.event, w.began.Add(s.at), []byte(s.event))
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
		})
	}
}

func TestALeaseThatIsLostEndsAllAndRecordsNothing(t *testing.T) {
	t.Parallel()
	for what, answer := range map[string]time.Duration{"while attempts end": 300 * time.Millisecond, "while they hang": attemptLasts} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			inWorld(t, func(t *testing.T, w *world) {
				e := w.addEndpoint(1)
				for i := range 500 {
					w.add(e, i+1, 1)
				}
				w.answer = func(ports.WebhookMessage) domain.WebhookResult { return takes(answer) }
				recorded := 0
				time.AfterFunc(time.Second, func() {
					recorded = w.count("Record")
					w.mu.Lock()
					defer w.mu.Unlock()
					b := w.endpoints[e]
					b.token, b.until = "another", time.Now().Add(leaseLasts)
				})
				lane := ports.LaneWebhookSlow
				took := ring(t, w, w.drainer().Handlers(), lane, e)
				if took > 2*time.Second {
					t.Errorf("it went on until %v", took)
				}
				done := 0
				for id := range w.rows {
					done += len(w.log(id))
				}
				if done != 16*int(time.Second/answer) && answer != attemptLasts || answer == attemptLasts && done != 0 {
					t.Errorf("%d were recorded (by %d statements until the lease was lost)", done, recorded)
				}
				if n := w.count("Record"); n > recorded+1 || answer == attemptLasts && n != 0 {
					t.Errorf("%d writes, of which %d before", n, recorded)
				}
				if b := w.endpoint(e); b.token != "another" || !b.until.Equal(w.began.Add(time.Second+leaseLasts)) || len(w.heard()) != 0 {
					t.Errorf("the next owner has %q until %v; rings %v", b.token, b.until.Sub(w.began), w.heard())
				}
			})
		})
	}
}

// An owner that could not renew in time sends nothing while another may.
func TestNothingIsSentWithoutALeaseThatIsSure(t *testing.T) {
	t.Parallel()
	for what, slow := range map[string]string{"renewals hang": "Renew", "reads hang": "Due", "the lease came late": "Lease"} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			inWorld(t, func(t *testing.T, w *world) {
				e := w.addEndpoint(1)
				for i := range 5000 {
					w.add(e, i+1, 1)
				}
				w.answer = func(ports.WebhookMessage) domain.WebhookResult { return takes(50 * time.Millisecond) }
				w.slowed(slow, 4500*time.Millisecond, 0, time.Hour)
				d := w.drainer()
				d.Drain(t.Context(), e, false)
				d.Close()
				for _, s := range w.sent() {
					if s.at >= 4*time.Second {
						t.Fatalf("sent at %v", s.at)
					}
				}
			})
		})
	}
}

func TestTheLeaseIsRenewedUntilTheLastAttemptHasEnded(t *testing.T) {
	t.Parallel()
	inWorld(t, func(t *testing.T, w *world) {
		e := w.addEndpoint(1)
		w.add(e, 1, 1)
		w.answer = func(ports.WebhookMessage) domain.WebhookResult { return hangs() }
		go func() {
			for w.now() < attemptLasts-time.Millisecond {
				time.Sleep(100 * time.Millisecond)
				if b := w.endpoint(e); time.Until(b.until) < leaseLasts-2*time.Second {
					t.Errorf("at %v the lease lasts for %v", w.now(), time.Until(b.until))
				}
			}
		}()
		if took := ring(t, w, w.drainer().Handlers(), ports.LaneWebhookSlow, e); took != attemptLasts {
			t.Errorf("it took %v", took)
		}
		if n := w.count("Renew"); n != 7 {
			t.Errorf("%d renewals", n)
		}
	})
}

func TestWhatIsOnItsWayWhenARenewalFailsIsRecorded(t *testing.T) {
	t.Parallel()
	inWorld(t, func(t *testing.T, w *world) {
		e := w.addEndpoint(1)
		for i := range 20 {
			w.add(e, i+1, 1)
		}
		w.answer = func(ports.WebhookMessage) domain.WebhookResult { return takes(2500 * time.Millisecond) }
		w.failing("Renew", 0, time.Hour)
		ring(t, w, w.drainer().Handlers(), ports.LaneWebhookSlow, e)
		if n := w.statuses()[domain.WebhookSucceeded]; n != 16 || len(w.sent()) != 16 {
			t.Errorf("%d of %d recorded", n, len(w.sent()))
		}
		// What failed would fail again: the lease is the pause.
		if b := w.endpoint(e); b.until.Sub(w.began) != leaseLasts || !b.leased() || len(w.heard()) != 0 {
			t.Errorf("leased until %v, rings %v", b.until.Sub(w.began), w.heard())
		}
	})
}

// A storage that fails is tried again, not at full speed: what fails in a drain
// is left in peace until the lease has run out.
func TestAStorageThatFailsCostsTimeOnlyAndIsNotStormed(t *testing.T) {
	t.Parallel()
	const back = 40 * time.Second
	for call, c := range map[string]struct {
		sent  int // of two events, until all has arrived
		calls int // at most, in 40 seconds of failure
	}{
		"Lease": {2, 50}, "Due": {2, 10}, "Record": {8, 200}, "Release": {2, 10}, "WaitingFor": {2, 10}, "Waiting": {2, 400},
	} {
		t.Run(call, func(t *testing.T) {
			t.Parallel()
			inWorld(t, func(t *testing.T, w *world) {
				e := w.addEndpoint(1)
				w.failing(call, 0, back)
				defer w.running(t, 1, true)()
				w.add(e, 1, 1)
				_ = w.bell.Ring(t.Context(), ports.LaneWebhook, string(e))
				time.Sleep(20 * time.Second)
				w.add(e, 2, 1)
				_ = w.bell.Ring(t.Context(), ports.LaneWebhook, string(e))
				time.Sleep(20*time.Second - time.Millisecond)
				if n := w.count(call); n > c.calls || n == 0 {
					t.Errorf("%d calls", n)
				}
				time.Sleep(leaseLasts + 2*time.Second)
				if n := w.statuses()[domain.WebhookSucceeded]; n != 2 || len(w.sent()) > c.sent {
					t.Errorf("%d arrived, %d were sent", n, len(w.sent()))
				}
				if b := w.endpoint(e); b.leased() {
					t.Error("the lease is left behind")
				}
				if n := strings.Count(w.logged.String(), "\n"); n > 50 {
					t.Errorf("%d lines were logged", n)
				}
			})
		})
	}
}

func TestWhatIsSentWhileTheStorageRestartsIsRecordedAfterwards(t *testing.T) {
	t.Parallel()
	inWorld(t, func(t *testing.T, w *world) {
		e := w.addEndpoint(1)
		row := w.add(e, 1, 1)
		w.around = func(_ context.Context, name string, make func() error) error {
			if now := w.now(); name != "Lease" && name != "Due" && now < 12*time.Second {
				return errStorage
			}
			return make()
		}
		defer w.running(t, 1, true)()
		_ = w.bell.Ring(t.Context(), ports.LaneWebhook, string(e))
		time.Sleep(13 * time.Second)
		if w.row(row).Status != domain.WebhookSucceeded || len(w.log(row)) != 1 || len(w.sent()) != 1 {
			t.Errorf("%+v after %d sends", w.row(row), len(w.sent()))
		}
	})
}

// A write that was made though it failed counts once.
func TestAnAnswerOfTheStorageThatIsLostDoublesNothing(t *testing.T) {
	t.Parallel()
	inWorld(t, func(t *testing.T, w *world) {
		e := w.addEndpoint(1)
		row := w.add(e, 1, 1)
		w.answer = func(ports.WebhookMessage) domain.WebhookResult { return refuses(500) }
		w.around = func(_ context.Context, name string, make func() error) error {
			err := make()
			if name == "Record" && w.now() == 0 {
				return errStorage
			}
			return err
		}
		ring(t, w, w.drainer().Handlers(), ports.LaneWebhook, e)
		if d := w.row(row); d.Attempts != 1 || len(w.log(row)) != 1 || len(w.sent()) != 1 || w.count("Record") != 2 {
			t.Errorf("%+v with %d in the log, %d sent", d, len(w.log(row)), len(w.sent()))
		}
	})
}

func TestAnEndpointThatCouldNotBeDisabledIsDisabledLater(t *testing.T) {
	t.Parallel()
	inWorld(t, func(t *testing.T, w *world) {
		e := w.addEndpoint(1)
		w.add(e, 1, 1)
		w.add(e, 2, 1)
		w.answer = func(ports.WebhookMessage) domain.WebhookResult {
			return domain.WebhookResult{StatusCode: 410, Error: domain.ErrorHTTP4xx}
		}
		w.failing("Disable", 0, 20*time.Second)
		defer w.running(t, 1, true)()
		time.Sleep(2 * time.Minute)
		if got := w.endpoint(e); got.Disabled != domain.DisabledGone || len(w.sent()) > 8 || len(w.published) != 1 {
			t.Errorf("%+v after %d sends, published %v", got.WebhookEndpoint, len(w.sent()), w.published)
		}
	})
}

func TestASecretThatCannotBeOpenedIsNotTriedAllTheTime(t *testing.T) {
	t.Parallel()
	inWorld(t, func(t *testing.T, w *world) {
		e := w.addEndpoint(1)
		w.add(e, 1, 1)
		w.sealer.fails = errStorage
		defer w.running(t, 1, true)()
		time.Sleep(time.Minute)
		if n := strings.Count(w.logged.String(), "WAYBILL_SECRET_KEY"); n < 9 || n > 11 || len(w.sent()) != 0 {
			t.Errorf("%d lines, %d sent", n, len(w.sent()))
		}
	})
}

// The server's key has changed, and the endpoint's secret was rotated since.
func TestARotatedSecretSignsAloneWhereTheOneBeforeCannotBeOpened(t *testing.T) {
	t.Parallel()
	inWorld(t, func(t *testing.T, w *world) {
		e := w.addEndpoint(1)
		soon := time.Now().Add(time.Hour)
		w.change(e, func(b *boxed) {
			b.Secrets = append(b.Secrets, domain.SigningSecret{Sealed: []byte("older"), ExpiresAt: &soon})
		})
		row := w.add(e, 1, 1)
		w.sealer.lost = "older"
		ring(t, w, w.drainer().Handlers(), ports.LaneWebhook, e)
		event := w.row(row).EventID
		want := domain.SignWebhook([][]byte{[]byte("secret")}, event, w.began, []byte(event))
		if sent := w.sent(); len(sent) != 1 || sent[0].signed != want {
			t.Errorf("sent %+v", sent)
		}
	})
}

func TestASenderThatPanicsFailsThatAttemptAlone(t *testing.T) {
	t.Parallel()
	inWorld(t, func(t *testing.T, w *world) {
		e := w.addEndpoint(1)
		bad, good := w.add(e, 1, 1), w.add(e, 2, 1)
		poison := string(w.row(bad).EventID)
		w.answer = func(m ports.WebhookMessage) domain.WebhookResult {
			if string(m.Body) == poison {
				panic("planned for the test")
			}
			return takes(0)
		}
		ring(t, w, w.drainer().Handlers(), ports.LaneWebhook, e)
		if d := w.row(bad); d.Status != domain.WebhookPending || d.Attempts != 1 || w.row(good).Status != domain.WebhookSucceeded {
			t.Errorf("%+v, %+v", d, w.row(good))
		}
		if logged := w.logged.String(); strings.Count(logged, "level=ERROR") != 1 || !strings.Contains(logged, "planned for the test") || !strings.Contains(logged, "drainer_test.go") {
			t.Errorf("logged %s", logged)
		}
	})
}

func TestAPanicOfADrainIsLoggedAndTheEndpointGoesOn(t *testing.T) {
	t.Parallel()
	inWorld(t, func(t *testing.T, w *world) {
		e := w.addEndpoint(1)
		row := w.add(e, 1, 1)
		w.around = func(_ context.Context, name string, make func() error) error {
			if name == "Due" && w.now() < time.Second {
				panic("planned for the test")
			}
			return make()
		}
		defer w.running(t, 1, true)()
		time.Sleep(leaseLasts + 2*sweepsEvery)
		if w.row(row).Status != domain.WebhookSucceeded || !strings.Contains(w.logged.String(), "planned for the test") {
			t.Errorf("%+v, logged %s", w.row(row), &w.logged)
		}
	})
}

func TestAClockThatIsSetHoldsNothingUp(t *testing.T) {
	t.Parallel()
	for _, by := range []time.Duration{-time.Hour, time.Hour} {
		t.Run(by.String(), func(t *testing.T) {
			t.Parallel()
			inWorld(t, func(t *testing.T, w *world) {
				e := w.addEndpoint(1)
				for i := range 200 {
					w.add(e, i+1, 1)
				}
				w.answer = func(ports.WebhookMessage) domain.WebhookResult { return takes(100 * time.Millisecond) }
				time.AfterFunc(450*time.Millisecond, func() { w.clock.set(by) })
				defer w.running(t, 1, true)()
				_ = w.bell.Ring(t.Context(), ports.LaneWebhook, string(e))
				time.Sleep(2 * time.Second)
				// Set back, what was not read yet is not due for an hour.
				if n := w.statuses()[domain.WebhookSucceeded]; n != 200 && (by > 0 || n < 128) {
					t.Errorf("%d arrived", n)
				}
				w.clock.set(0)
				time.Sleep(2 * time.Second)
				if n := w.statuses()[domain.WebhookSucceeded]; n != 200 || len(w.sent()) != 200 {
					t.Errorf("%d arrived, %d sent", n, len(w.sent()))
				}
			})
		})
	}
}

// At whatever call of the storage an event comes in, and whoever hears the ring
// for it: it is sent at once, without the Sweeper.
func TestNoRingIsLost(t *testing.T) {
	t.Parallel()
	for _, whose := range []string{"this process", "another process"} {
		for _, after := range []bool{false, true} {
			for n := range 12 {
				inWorld(t, func(t *testing.T, w *world) {
					e := w.addEndpoint(1)
					w.add(e, 1, 1)
					ids := &stage.IDs{}
					this, other := w.drainerOver(w.box, w, ids), w.drainerOver(w.box, w, ids)
					bell := newLanes(8)
					w.bell = bell
					ctx, cancel := context.WithCancel(t.Context())
					var all sync.WaitGroup
					all.Go(func() { _ = bell.Run(ctx, this.Handlers()) })
					var late domain.ID
					calls, quiet := 0, false
					var mu sync.Mutex
					comes := func() {
						mu.Lock()
						if calls++; calls != n+1 || quiet {
							mu.Unlock()
							return
						}
						quiet = true
						mu.Unlock()
						late = w.add(e, 2, 1)
						if whose == "this process" {
							_ = bell.Ring(ctx, ports.LaneWebhook, string(e))
							return
						}
						all.Go(func() { other.Drain(ctx, e, false) })
					}
					w.around = func(_ context.Context, _ string, make func() error) error {
						time.Sleep(time.Millisecond)
						if !after {
							comes()
						}
						err := make()
						if after {
							comes()
						}
						time.Sleep(time.Millisecond)
						return err
					}
					_ = bell.Ring(ctx, ports.LaneWebhook, string(e))
					time.Sleep(100 * time.Millisecond)
					cancel()
					all.Wait()
					if late != "" && w.row(late).Status != domain.WebhookSucceeded {
						t.Errorf("%s, call %d, after %v: it waits", whose, n+1, after)
					}
					if len(w.sent()) != len(w.rows) {
						t.Errorf("%s, call %d, after %v: %d sent", whose, n+1, after, len(w.sent()))
					}
				})
			}
		}
	}
}

func TestWhatComesWhileAnOwnerLingersIsSentAtOnce(t *testing.T) {
	t.Parallel()
	inWorld(t, func(t *testing.T, w *world) {
		e := w.addEndpoint(1)
		defer w.running(t, 2, false)()
		for range 10 {
			w.add(e, 0, 0)
			_ = w.bell.Ring(t.Context(), ports.LaneWebhook, string(e))
			synctest.Wait()
			time.Sleep(lingers - time.Millisecond)
		}
		for i, at := range times(w.sent()) {
			if at != time.Duration(i)*(lingers-time.Millisecond) {
				t.Errorf("event %d was sent at %v", i, at)
			}
		}
		if len(w.sent()) != 10 || w.count("Lease") != 1 {
			t.Errorf("%d sent under %d leases", len(w.sent()), w.count("Lease"))
		}
	})
}

func TestCloseLetsEndWhatIsOnItsWayAndBeginsNothing(t *testing.T) {
	t.Parallel()
	inWorld(t, func(t *testing.T, w *world) {
		quick, hung := w.addEndpoint(1), w.addEndpoint(2)
		for i := range 1000 {
			w.add(quick, i+1, 1)
			w.add(hung, i+1, 1)
		}
		w.answer = func(m ports.WebhookMessage) domain.WebhookResult {
			if m.URL == w.endpoints[hung].URL {
				return hangs()
			}
			return takes(300 * time.Millisecond)
		}
		d := w.drainer()
		handlers := d.Handlers()
		ended := make(chan time.Duration, 1)
		go func() {
			ring(t, w, handlers, ports.LaneWebhook, quick)
			ended <- w.now()
		}()
		ring(t, w, handlers, ports.LaneWebhook, hung)
		time.Sleep(50 * time.Millisecond) // at 2.05 s
		sent := len(w.sent())
		d.Close()
		if now, other := w.now(), <-ended; now != attemptLasts || other != 2100*time.Millisecond {
			t.Errorf("closed at %v, the other ended at %v", now, other)
		}
		handlers[ports.LaneWebhook](t.Context(), string(quick))
		if len(w.sent()) != sent || w.count("Lease") != 2 {
			t.Errorf("%d more sent, %d leases", len(w.sent())-sent, w.count("Lease"))
		}
		logged := 0
		for id := range w.rows {
			logged += len(w.log(id))
		}
		if logged != sent || w.endpoint(quick).token != "" || w.endpoint(hung).token != "" {
			t.Errorf("%d of %d recorded", logged, sent)
		}
		d.Close() // twice is once
	})
}

func TestEveryAttemptIsObservedAndTheDelayOfTheFirstArrival(t *testing.T) {
	t.Parallel()
	inWorld(t, func(t *testing.T, w *world) {
		e := w.addEndpoint(1)
		row := w.add(e, 1, 1)
		var attempts []bool
		var delays []time.Duration
		w.observer = webhooks.Observer{
			Attempted: func(r domain.WebhookResult) { attempts = append(attempts, r.Succeeded()) },
			Delayed:   func(d time.Duration) { delays = append(delays, d) },
		}
		w.answer = func(m ports.WebhookMessage) domain.WebhookResult {
			if m.Header[domain.HeaderWebhookAttempt] == "1" {
				return refuses(500)
			}
			return takes(100 * time.Millisecond)
		}
		stop := w.running(t, 1, true)
		time.Sleep(20 * time.Second)
		again := w.row(row)
		arrived := w.log(row)[1].Result.StartedAt.Add(100 * time.Millisecond).Sub(w.began)
		again.Redeliver(domain.Millis(time.Now())) // what has arrived is asked for again
		w.mu.Lock()
		*w.rows[row] = again
		w.insert(w.rows[row])
		w.mu.Unlock()
		time.Sleep(20 * time.Second)
		stop()
		if !slices.Equal(attempts, []bool{false, true, true}) || !slices.Equal(delays, []time.Duration{arrived}) {
			t.Errorf("observed %v and %v, want %v", attempts, delays, arrived)
		}
	})
}

func TestTheContextOfAHandlerEndsNothing(t *testing.T) {
	t.Parallel()
	inWorld(t, func(t *testing.T, w *world) {
		e := w.addEndpoint(1)
		row := w.add(e, 1, 1)
		w.answer = func(ports.WebhookMessage) domain.WebhookResult { return takes(3 * time.Second) }
		ctx, cancel := context.WithCancel(t.Context())
		d := w.drainer()
		d.Drain(ctx, e, false)
		cancel()
		d.Close()
		if w.row(row).Status != domain.WebhookSucceeded {
			t.Errorf("%+v", w.row(row))
		}
	})
}

func TestAnEndpointIsDrainedByOneProcessAtATime(t *testing.T) {
	t.Parallel()
	inWorld(t, func(t *testing.T, w *world) {
		e := w.addEndpoint(1)
		for i := range 100 {
			w.add(e, i+1, 1)
		}
		w.answer = func(ports.WebhookMessage) domain.WebhookResult { return takes(100 * time.Millisecond) }
		ids := &stage.IDs{}
		var all sync.WaitGroup
		for range 4 {
			d := w.drainerOver(w.box, w, ids)
			for range 4 {
				all.Go(func() { d.Drain(t.Context(), e, false) })
			}
		}
		all.Wait()
		if w.mostAtOnce("https://1.example.com") != 16 || len(w.sent()) != 100 {
			t.Errorf("%d at once, %d sent", w.mostAtOnce("https://1.example.com"), len(w.sent()))
		}
	})
}
