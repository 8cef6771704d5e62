package sandbox_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"waybill/application/sandbox"
	"waybill/domain"
	"waybill/ports"
)

const (
	// The interval of queries, and the time until a lost notification is sent again.
	look        = 500 * time.Millisecond
	notifyAgain = 2 * time.Second
)

func wantNotified(t *testing.T, got []notified, want ...notified) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("notified %v, want %v", got, want)
	}
}

func TestAStepIsNotifiedAtItsTimeAndNotBefore(t *testing.T) {
	t.Parallel()
	inWorld(t, func(t *testing.T, w *world) {
		due := []time.Duration{0, time.Millisecond, 50 * time.Millisecond, 500 * time.Millisecond, 500 * time.Millisecond,
			1999 * time.Millisecond, 2 * time.Second, 2300 * time.Millisecond, 7 * time.Second}
		w.add(due...)
		defer w.run(t)()
		time.Sleep(30 * time.Second) // a step that is done is not notified again
		var want []notified
		for i, d := range due {
			want = append(want, notified{name(i), d})
		}
		wantNotified(t, w.heard(), want...)
	})
}

func TestAStepThatComesUpLateIsNotifiedAtTheNextLook(t *testing.T) {
	t.Parallel()
	inWorld(t, func(t *testing.T, w *world) {
		defer w.run(t)()
		time.Sleep(3*time.Second + 10*time.Millisecond)
		w.add(3 * time.Second) // already overdue
		time.Sleep(5 * time.Second)
		wantNotified(t, w.heard(), notified{name(0), 3*time.Second + look})
	})
}

func TestMissedStepsAreNotifiedAtOnceAfterARestart(t *testing.T) {
	t.Parallel()
	inWorld(t, func(t *testing.T, w *world) {
		for i := range 300 {
			w.add(-time.Duration(i) * time.Minute)
		}
		defer w.run(t)()
		time.Sleep(time.Millisecond)
		heard := w.heard()
		if len(heard) != 300 || heard[0].id == heard[1].id {
			t.Fatalf("%d notifications", len(heard))
		}
		for _, r := range heard {
			if r.at != 0 {
				t.Errorf("%s was notified at %v", r.id, r.at)
			}
		}
	})
}

func TestAStepStoppedInTimeIsNotNotified(t *testing.T) {
	t.Parallel()
	inWorld(t, func(t *testing.T, w *world) {
		w.add(1500*time.Millisecond, 1500*time.Millisecond)
		defer w.run(t)()
		time.Sleep(2*look - time.Millisecond) // another query comes before the step is due
		w.done(name(0))
		time.Sleep(5 * time.Second)
		wantNotified(t, w.heard(), notified{name(1), 1500 * time.Millisecond})
	})
}

func TestANotificationThatIsLostIsSentAgain(t *testing.T) {
	t.Parallel()
	for what, failure := range map[string]error{"the queue forgot it": nil, "the queue refused it": errors.New("no queue")} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			inWorld(t, func(t *testing.T, w *world) {
				times := 0
				w.answer = func(_ context.Context, id string) error {
					if times++; times < 4 {
						return failure
					}
					w.done(id)
					return nil
				}
				w.add(time.Second)
				defer w.run(t)()
				time.Sleep(30 * time.Second)
				heard := w.heard()
				if len(heard) != 4 || heard[0].at != time.Second {
					t.Fatalf("notified %v", heard)
				}
				for i, r := range heard[1:] {
					if after := r.at - heard[i].at; after < notifyAgain || after > notifyAgain+look {
						t.Errorf("notified again after %v", after)
					}
				}
			})
		})
	}
}

// A slow handler is not notified again after every query.
func TestANotifiedStepIsNotNotifiedAgainAtOnce(t *testing.T) {
	t.Parallel()
	inWorld(t, func(t *testing.T, w *world) {
		w.answer = func(_ context.Context, id string) error {
			time.AfterFunc(notifyAgain-time.Millisecond, func() { w.done(id) })
			return nil
		}
		w.add(time.Second)
		defer w.run(t)()
		time.Sleep(30 * time.Second)
		wantNotified(t, w.heard(), notified{name(0), time.Second})
	})
}

func TestAStorageThatIsDownIsToldOnceAndWhatIsPlannedGoesOn(t *testing.T) {
	t.Parallel()
	inWorld(t, func(t *testing.T, w *world) {
		broken := errors.New("the disk is on fire")
		down := func() bool { since := time.Since(w.began); return since >= time.Second && since < 6*time.Second }
		w.look = func(context.Context) error {
			if down() {
				return broken
			}
			return nil
		}
		w.add(1300*time.Millisecond, 2500*time.Millisecond, 5*time.Second, 9*time.Second)
		defer w.run(t)()
		time.Sleep(20 * time.Second)
		// The last successful query sees the second, but not the third.
		wantNotified(t, w.heard(), notified{name(0), 1300 * time.Millisecond}, notified{name(1), 2500 * time.Millisecond},
			notified{name(2), 6 * time.Second}, notified{name(3), 9 * time.Second})
		logged := w.logged.String()
		if strings.Count(logged, "level=WARN") != 1 || strings.Count(logged, "level=INFO") != 1 || strings.Count(logged, "\n") != 2 ||
			!strings.Contains(logged, broken.Error()) || strings.Index(logged, "WARN") > strings.Index(logged, "INFO") {
			t.Errorf("logged\n%s", logged)
		}
	})
}

func TestAStorageThatHangsHoldsUpNothingThatIsPlanned(t *testing.T) {
	t.Parallel()
	inWorld(t, func(t *testing.T, w *world) {
		w.look = func(ctx context.Context) error {
			if since := time.Since(w.began); since <= time.Second || since >= 10*time.Second {
				return nil
			}
			<-ctx.Done()
			return ctx.Err()
		}
		w.add(1500*time.Millisecond, 2700*time.Millisecond, 30*time.Second)
		defer w.run(t)()
		time.Sleep(20 * time.Second)
		wantNotified(t, w.heard(), notified{name(0), 1500 * time.Millisecond}, notified{name(1), 2700 * time.Millisecond})
		if logged := w.logged.String(); strings.Count(logged, "level=WARN") != 1 || strings.Count(logged, "level=INFO") != 1 {
			t.Errorf("logged\n%s", logged)
		}
	})
}

// A slow query does not delay the notifications.
func TestASlowLookMakesNoStepLate(t *testing.T) {
	t.Parallel()
	inWorld(t, func(t *testing.T, w *world) {
		w.look = func(ctx context.Context) error {
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(700 * time.Millisecond):
				return nil
			}
		}
		w.add(800*time.Millisecond, 1234*time.Millisecond, 3*time.Second, 9*time.Second)
		defer w.run(t)()
		time.Sleep(20 * time.Second)
		wantNotified(t, w.heard(), notified{name(0), 800 * time.Millisecond}, notified{name(1), 1234 * time.Millisecond},
			notified{name(2), 3 * time.Second}, notified{name(3), 9 * time.Second})
	})
}

func TestAClockThatIsSetIsFollowed(t *testing.T) {
	t.Parallel()
	for what, c := range map[string]struct {
		by    time.Duration
		first time.Duration // by the old clock
	}{
		"back":    {-10 * time.Second, 11500 * time.Millisecond},
		"forward": {10 * time.Second, time.Second + look},
	} {
		inWorld(t, func(t *testing.T, w *world) {
			clock := &shifted{}
			w.clock = clock
			w.add(1500 * time.Millisecond)
			defer w.run(t)()
			time.Sleep(time.Second + time.Millisecond)
			clock.set(c.by)
			time.Sleep(30 * time.Second)
			if heard := w.heard(); len(heard) != 1 || heard[0].at != c.first {
				t.Errorf("set %s it notified %v, want once at %v", what, heard, c.first)
			}
		})
	}
}

func TestOfMoreThanOneLookTakesTheEarliestComeFirst(t *testing.T) {
	t.Parallel()
	inWorld(t, func(t *testing.T, w *world) {
		const steps, batch = 12_000, 5_000
		due := make([]time.Duration, steps)
		for i := range due {
			due[i] = -time.Hour + time.Duration(i)*time.Millisecond
		}
		w.add(due...)
		w.answer = func(_ context.Context, id string) error { return nil }
		stop := w.run(t)
		time.Sleep(look / 2)
		heard := w.heard()
		if len(heard) != batch || heard[0].id != name(0) || heard[batch-1].id != name(batch-1) {
			t.Fatalf("%d notifications, from %v to %v", len(heard), heard[0], heard[len(heard)-1])
		}
		w.mu.Lock()
		w.steps = w.steps[batch:] // all of them are done
		w.mu.Unlock()
		time.Sleep(look)
		w.mu.Lock()
		w.steps = w.steps[batch:]
		w.mu.Unlock()
		time.Sleep(look)
		stop()
		for i, r := range w.heard() {
			if r.id != name(i) || r.at != time.Duration(i/batch)*look {
				t.Fatalf("notification %d is %v", i, r)
			}
		}
		if n := len(w.heard()); n != steps {
			t.Errorf("%d notifications, want %d", n, steps)
		}
	})
}

// Notifications without effect cost neither goroutines nor memory over time. Not parallel, since it
// counts goroutines.
func TestAQueueThatIsDownIsWaitedForAndCostsNothing(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		const steps = 5_000
		for range steps {
			w.steps = append(w.steps, ports.DueStep{Delivery: domain.ID(fmt.Sprintf("dlv_%05d", len(w.steps))),
				DueAt: domain.Millis(w.began.Add(-time.Hour))})
		}
		down := func() bool { return time.Since(w.began) < time.Minute }
		done := map[string]bool{}
		w.answer = func(ctx context.Context, id string) error {
			if !down() {
				w.mu.Lock()
				done[id] = true
				w.mu.Unlock()
				return nil
			}
			select { // like a queue that cannot be reached
			case <-ctx.Done():
			case <-time.After(time.Second):
			}
			return errors.New("no queue")
		}
		before := runtime.NumGoroutine()
		stop := w.run(t)
		time.Sleep(time.Minute - time.Millisecond)
		if n := runtime.NumGoroutine() - before; n > 20 {
			t.Errorf("%d goroutines wait", n)
		}
		if most := w.mostAtOnce(); most > 8 {
			t.Errorf("%d notifications at a time", most)
		}
		tried := map[string]time.Duration{}
		for _, r := range w.heard() {
			if last, known := tried[r.id]; known && r.at-last < notifyAgain {
				t.Fatalf("%s was notified at %v and %v", r.id, last, r.at)
			}
			tried[r.id] = r.at
		}
		time.Sleep(2 * time.Second)
		w.mu.Lock()
		if len(done) != steps {
			t.Errorf("two seconds after it is back, %d of %d are notified", len(done), steps)
		}
		w.mu.Unlock()
		stop()
	})
}

func TestItEndsAtOnceWhateverIsUnderWay(t *testing.T) {
	t.Parallel()
	hangs := func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
	for what, ready := range map[string]func(*world){
		"nothing": func(*world) {},
		"a wait":  func(w *world) { w.add(time.Minute, 1500*time.Millisecond) },
		"a look":  func(w *world) { w.look = hangs },
		"notifications": func(w *world) {
			w.add(make([]time.Duration, 100)...)
			w.answer = func(ctx context.Context, _ string) error { return hangs(ctx) }
		},
		"more than it takes": func(w *world) {
			w.add(make([]time.Duration, 6000)...)
			w.answer = func(ctx context.Context, _ string) error { return hangs(ctx) }
		},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			inWorld(t, func(t *testing.T, w *world) {
				ready(w)
				stop := w.run(t)
				time.Sleep(time.Second)
				stop() // a remaining goroutine fails the test
				if logged := w.logged.String(); logged != "" {
					t.Errorf("logged %q", logged)
				}
			})
		})
	}
}

// All parts together, with a real storage: a simulation moves by itself, on time.
func TestASimulationMovesByItself(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, s *scene) {
		d := s.running(t, "failed_then_retried")
		created := time.Now()
		scheduler := sandbox.NewScheduler(s.storage, queue{s}, s.clock, slog.New(slog.NewTextHandler(&s.logged, nil)))
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			scheduler.Run(ctx)
		}()
		time.Sleep(100 * time.Second)
		cancel()
		<-ended
		s.wantLife(t, d.ID, "created assigned picked_up in_transit failed assigned picked_up in_transit delivered")
		s.WantRunning(t, s.tenant, 0)
		for i, e := range s.events(t, d.ID)[1:] {
			if due := d.CreatedAt.Add(time.Duration(i+1) * 10 * time.Second); !e.OccurredAt.Equal(due) {
				t.Errorf("%s occurred at %v, due %v (created %v)", e.Type, e.OccurredAt, due, created)
			}
		}
		for _, late := range s.lateness() {
			if late != 0 {
				t.Errorf("a step was %v late", late)
			}
		}
		if logged := s.logged.String(); logged != "" {
			t.Errorf("logged %q", logged)
		}
	})
}

// queue calls the handler at once.
type queue struct{ s *scene }

func (b queue) Notify(ctx context.Context, _ ports.JobKind, id string) error {
	b.s.simulator.Handle(ctx, id)
	return nil
}

func (queue) Run(context.Context, map[ports.JobKind]ports.Handler) error {
	panic("not for a scheduler")
}
