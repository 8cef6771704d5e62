package dispatch_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"waybill/domain"
	"waybill/ports"
	"waybill/test/stage"
)

func TestWhatIsOnItsWayWhenARenewalFailsIsRecorded(t *testing.T) {
	t.Parallel()
	inWorld(t, func(t *testing.T, w *world) {
		e := w.backlog(20, takes(2500*time.Millisecond))
		w.failing("Renew", 0, time.Hour)
		w.drained(t, ports.JobWebhookLowPriority, e)
		if n := w.statuses()[domain.WebhookSucceeded]; n != 16 || len(w.sent()) != 16 {
			t.Errorf("%d of %d recorded", n, len(w.sent()))
		}
		// What failed would fail again: the lease is the pause.
		if b := w.endpoint(e); b.until.Sub(w.began) != leaseLasts || !b.leased() || len(w.heard()) != 0 {
			t.Errorf("leased until %v, notifications %v", b.until.Sub(w.began), w.heard())
		}
	})
}

// A storage that fails is tried again, not at full speed: what fails in a drain
// is left in peace until the lease has run out.
func TestAStorageThatFailsCostsTimeOnlyAndIsNotStormed(t *testing.T) {
	t.Parallel()
	const back = 40 * time.Second
	type failure struct {
		sent  int // of two events, until all has arrived
		calls int // at most, in 40 seconds of failure
	}
	inWorlds(t, map[string]failure{
		"Lease": {2, 50}, "Due": {2, 10}, "Record": {2, 200}, "Release": {2, 10}, "WaitingFor": {2, 10}, "Waiting": {2, 400},
	}, func(t *testing.T, w *world, call string, c failure) {
		e := w.addEndpoint(1)
		w.failing(call, 0, back)
		defer w.running(t, 1, true)()
		w.add(e, 1, 1)
		w.wake(t, e)
		time.Sleep(20 * time.Second)
		w.add(e, 2, 1)
		w.wake(t, e)
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
}

// The answer of the storage was lost, and the lease made or kept: this process does
// not wait until it has run out.
func TestALeaseWithoutAKnownOutcomeIsTakenUpByTheSameProcessAfterASecond(t *testing.T) {
	t.Parallel()
	inWorlds(t, map[string]time.Duration{
		"Lease": time.Second, "Due": time.Second, "Renew": 3500 * time.Millisecond,
	}, func(t *testing.T, w *world, call string, sent time.Duration) {
		e := w.addEndpoint(1)
		w.always(takes(2500 * time.Millisecond))
		lost := false
		w.around = func(_ context.Context, name string, make func() error) error {
			err := make()
			if name == call && !lost {
				lost = true
				return errStorage
			}
			return err
		}
		defer w.running(t, 1, true)()
		w.add(e, 1, 1)
		w.wake(t, e)
		if call == "Renew" {
			time.Sleep(2100 * time.Millisecond) // beside what is on its way, and behind the renewal
			w.add(e, 2, 1)
			w.wake(t, e)
		}
		time.Sleep(5 * time.Second)
		shots := w.sent()
		if len(shots) == 0 {
			t.Fatal("nothing was sent within 5 s")
		}
		if last := shots[len(shots)-1].at; last < sent || last > sent+100*time.Millisecond || len(shots) != len(w.rows) {
			t.Errorf("%d sent, the last at %v, want it at %v: behind a pause, and before the lease has run out", len(shots), last, sent)
		}
	})
}

// A token is of one owner: notifications that come at once do not share what is left of it.
func TestALeaseWithoutAKnownOutcomeIsTakenUpOnce(t *testing.T) {
	t.Parallel()
	inWorld(t, func(t *testing.T, w *world) {
		e := w.backlog(100, takes(time.Second))
		lost := false
		w.around = func(_ context.Context, name string, make func() error) error {
			err := make()
			time.Sleep(10 * time.Millisecond) // so that they are at it at the same time
			if name == "Lease" && !lost {
				lost = true
				return errStorage
			}
			return err
		}
		d := w.drainer()
		d.Drain(t.Context(), e, false)
		time.Sleep(2 * time.Second)
		for range 8 {
			go d.Drain(t.Context(), e, false)
		}
		time.Sleep(30 * time.Second)
		d.Close()
		if n := w.mostAtOnce("https://1.example.com"); n != 16 || len(w.sent()) > 100 {
			t.Errorf("%d at once, %d sent", n, len(w.sent()))
		}
	})
}

func TestADrainerTellsOnceThatARenewalFailed(t *testing.T) {
	t.Parallel()
	inWorlds(t, map[string]bool{"the storage fails": true, "another process has the lease": false},
		func(t *testing.T, w *world, _ string, fails bool) {
			e := w.backlog(1, takes(5*time.Second))
			w.around = func(_ context.Context, name string, make func() error) error {
				switch {
				case name != "Renew":
					return make()
				case fails:
					return errStorage
				}
				return ports.ErrEndpointLost
			}
			d := w.drainer()
			d.Drain(t.Context(), e, true)
			d.WaitForDrains()
			if err := d.RenewalsFailed(); (err != nil) != fails {
				t.Errorf("it tells %v", err)
			}
			if err := d.RenewalsFailed(); err != nil {
				t.Errorf("it tells %v once more", err)
			}
		})
}

// What is sent and not stored is sent again, so that little is sent while the
// storage says nothing.
func TestNothingMoreIsSentBesideARecordThatHangs(t *testing.T) {
	t.Parallel()
	inWorld(t, func(t *testing.T, w *world) {
		e := w.addEndpoint(1)
		w.always(takes(10 * time.Millisecond))
		w.failing("Record", 0, time.Hour)
		defer w.running(t, 2, true)()
		for i := range 40 { // 20 a second
			w.add(e, i+1, 1)
			w.wake(t, e)
			time.Sleep(50 * time.Millisecond)
		}
		if n := len(w.sent()); n < 10 || n > 12 {
			t.Errorf("%d of 40 were sent in two seconds in which nothing was recorded, want those of the first half second", n)
		}
	})
}

// A cut from the storage: every call waits until its end, whichever it is.
func (w *world) cutOff(from, to time.Duration) {
	w.around = func(ctx context.Context, _ string, make func() error) error {
		if now := w.now(); now >= from && now < to {
			<-ctx.Done()
			return ctx.Err()
		}
		return make()
	}
}

// What was sent and could not be stored is stored after the cut, and not sent again,
// where no other process has had the endpoint.
func TestACutFromTheStorageDoublesNothingAndEndsWithinSeconds(t *testing.T) {
	t.Parallel()
	inWorlds(t, map[string]time.Duration{"5 s": 5 * time.Second, "15 s": 15 * time.Second, "70 s": 70 * time.Second},
		func(t *testing.T, w *world, _ string, cut time.Duration) {
			const endpoints, begins = 6, 200 * time.Millisecond
			w.always(takes(10 * time.Millisecond))
			w.cutOff(begins, begins+cut)
			defer w.running(t, 2*endpoints, true)()
			for n := range endpoints {
				e := w.addEndpoint(n + 1)
				w.addEvents(e, 1000) // more than are sent before the cut
				w.wake(t, e)
			}
			time.Sleep(begins + cut)
			before := len(w.sent())
			healed := w.now()
			for len(w.sent()) == before && w.now() < healed+20*time.Second {
				time.Sleep(10 * time.Millisecond)
			}
			if took := w.now() - healed; took > 10*time.Second {
				t.Errorf("the first webhook after the cut came after %v", took)
			}
			time.Sleep(time.Minute)
			w.wantArrived(t, endpoints*1000)
			if n := len(w.sent()) - endpoints*1000; n != 0 {
				t.Errorf("%d of %d sent before the cut or in it were sent twice", n, before)
			}
		})
}

// Another process sends what was not stored, once it may; what this one kept is then
// not stored over it.
func TestWhatAnotherProcessHasSentMeanwhileIsNotStoredOver(t *testing.T) {
	t.Parallel()
	inWorld(t, func(t *testing.T, w *world) {
		e := w.backlog(3, refuses(500))
		here := w.box.view(func(ctx context.Context, name string, make func() error) error {
			if now := w.now(); name != "Lease" && name != "Due" && now < 30*time.Second {
				<-ctx.Done()
				return ctx.Err()
			}
			return make()
		})
		d := w.drainerOver(here, w, &stage.IDs{})
		d.Drain(t.Context(), e, false)
		time.Sleep(10 * time.Second) // the lease has run out
		w.always(takes(0))
		w.drained(t, ports.JobWebhook, e)
		w.wantArrived(t, 3)
		time.Sleep(25 * time.Second) // the first process is back
		d.Drain(t.Context(), e, false)
		d.Close()
		w.wantArrived(t, 3)
		if n := len(w.sent()); n != 6 || w.recorded() != 3 {
			t.Errorf("%d sent and %d recorded, want 3 twice and 3", n, w.recorded())
		}
	})
}

// A write on a connection that is dead without a word is tried on another one soon.
func TestARecordThatHangsIsTriedAgainAfterTwoSeconds(t *testing.T) {
	t.Parallel()
	inWorld(t, func(t *testing.T, w *world) {
		e := w.backlog(1, takes(0))
		w.slowed("Record", time.Hour, 0, time.Millisecond)
		if took := w.drained(t, ports.JobWebhook, e); took < 2*time.Second || took > 2*time.Second+100*time.Millisecond {
			t.Errorf("it was recorded after %v, want 2 s and a pause", took)
		}
		w.wantArrived(t, 1)
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
		w.drained(t, ports.JobWebhook, e)
		if d := w.row(bad); d.Status != domain.WebhookPending || d.Attempts != 1 || w.row(good).Status != domain.WebhookSucceeded {
			t.Errorf("%+v, %+v", d, w.row(good))
		}
		if logged := w.logged.String(); strings.Count(logged, "level=ERROR") != 1 || !strings.Contains(logged, "planned for the test") ||
			!strings.Contains(logged, "drain_failures_test.go") {
			t.Errorf("logged %s", logged)
		}
	})
}

// A drain reads in one goroutine and records in another.
func TestAPanicOfADrainIsLoggedAndTheEndpointGoesOn(t *testing.T) {
	t.Parallel()
	for _, fails := range []string{"Due", "Record"} {
		inWorld(t, func(t *testing.T, w *world) {
			e := w.addEndpoint(1)
			row := w.add(e, 1, 1)
			w.around = func(_ context.Context, name string, make func() error) error {
				if name == fails && w.now() < time.Second {
					panic("planned for the test")
				}
				return make()
			}
			defer w.running(t, 1, true)()
			time.Sleep(leaseLasts + 2*lingers)
			if w.row(row).Status != domain.WebhookSucceeded || !strings.Contains(w.logged.String(), "planned for the test") {
				t.Errorf("%s: %+v, logged %s", fails, w.row(row), &w.logged)
			}
		})
	}
}

func TestAClockThatIsSetHoldsNothingUp(t *testing.T) {
	t.Parallel()
	for _, by := range []time.Duration{-time.Hour, time.Hour} {
		t.Run(by.String(), func(t *testing.T) {
			t.Parallel()
			inWorld(t, func(t *testing.T, w *world) {
				e := w.backlog(200, takes(100*time.Millisecond))
				time.AfterFunc(450*time.Millisecond, func() { w.clock.set(by) })
				defer w.running(t, 1, true)()
				w.wake(t, e)
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
