package sandbox_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"waybill/application/idempotency"
	"waybill/domain"
	"waybill/ports"
	"waybill/test/stage"
)

// wall is the clock of the machine, or of the bubble that a test is in.
type wall struct{ behind time.Duration }

func (w wall) Now() time.Time { return domain.Millis(time.Now().Add(-w.behind)) }

func TestEveryScenarioIsPlayedToItsEnd(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.Clock.Step = 0
	for _, scenario := range domain.Scenarios()[1:] {
		id := s.running(t, scenario).ID
		want := []string{"created"}
		for done, move := range scenario.Steps() {
			s.toStep(t, id, time.Duration(done)*time.Millisecond)
			if err := s.simulator.Step(t.Context(), id, done); err != nil {
				t.Fatal(err)
			}
			if late := s.lateness(); !slices.Equal(late, []time.Duration{time.Duration(done) * time.Millisecond}) {
				t.Errorf("%s: step %d was told to be %v late", scenario, done, late)
			}
			events := s.events(t, id)
			if last := events[len(events)-1]; last.Status != move.To || last.Reason != move.Reason || !last.OccurredAt.Equal(s.Clock.Now()) {
				t.Errorf("%s: step %d is %+v", scenario, done, last)
			}
			want = append(want, string(move.To))
		}
		s.wantLife(t, id, strings.Join(want, " "))
		if d := s.stored(t, id); d.Simulation().Status != domain.SimulationCompleted || d.Simulation().NextStepAt != nil {
			t.Errorf("%s ended as %+v", scenario, d.Simulation())
		}
		s.WantRunning(t, s.tenant, 0)
	}
}

func TestOnlyTheNextStepIsDoneAndOnlyWhileItRuns(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.Clock.Step = 0
	at := s.running(t, "delivered").ID // one step done
	stopped, cancelled, completed, byHand := s.running(t, "delivered").ID, s.running(t, "delivered").ID, s.running(t, "no_rider_found").ID,
		s.mustCreate(t, nil).ID
	s.Clock.GoOn(10 * time.Second)
	if err := s.simulator.Step(t.Context(), at, 0); err != nil {
		t.Fatal(err)
	}
	if _, err := s.stop(stopped); err != nil {
		t.Fatal(err)
	}
	if _, err := s.deliveries.Cancel(t.Context(), s.unkeyed(), cancelled, render); err != nil {
		t.Fatal(err)
	}
	s.step(t, completed, 0)
	s.lateness()
	s.Clock.GoOn(time.Hour)
	for name, c := range map[string]struct {
		id   domain.ID
		done []int
	}{
		"stale, doubled or ahead": {at, []int{0, 2, 3, 4, 100, -1}},
		"stopped":                 {stopped, []int{0, 1}},
		"cancelled":               {cancelled, []int{0, 1}},
		"completed":               {completed, []int{0, 1, 2}},
		"moved by hand":           {byHand, []int{0}},
	} {
		before, life := s.stored(t, c.id), s.life(t, c.id)
		for _, done := range c.done {
			if err := s.simulator.Step(t.Context(), c.id, done); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		s.wantLife(t, c.id, life)
		if after := s.stored(t, c.id); string(render(after).Body) != string(render(before).Body) {
			t.Errorf("%s became %+v", name, after.Lifecycle())
		}
	}
	if late := s.lateness(); len(late) != 0 {
		t.Errorf("lateness of nothing: %v", late)
	}
	s.WantRunning(t, s.tenant, 1)
	if err := s.simulator.Step(t.Context(), at, 1); err != nil { // and the next one
		t.Fatal(err)
	}
	s.wantLife(t, at, "created assigned picked_up")
}

// inBubble runs with a clock that agrees with the timers, from noon on.
func inBubble(t *testing.T, play func(t *testing.T, s *scene)) {
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t)
		time.Sleep(time.Until(stage.Noon))
		s.clock = wall{}
		s.build()
		play(t, s)
	})
}

func TestAStepThatIsALittleEarlyWaits(t *testing.T) {
	t.Parallel()
	for _, early := range []time.Duration{time.Millisecond, 1500 * time.Millisecond, 2 * time.Second} {
		inBubble(t, func(t *testing.T, s *scene) {
			d := s.running(t, "delivered")
			due := *d.Simulation().NextStepAt
			time.Sleep(time.Until(due) - early)
			if err := s.simulator.Step(t.Context(), d.ID, 0); err != nil {
				t.Fatal(err)
			}
			if now := time.Now(); !now.Equal(due) {
				t.Errorf("%v early: it was over at %v, due at %v", early, now, due)
			}
			if events := s.events(t, d.ID); len(events) != 2 || !events[1].OccurredAt.Equal(due) {
				t.Errorf("%v early: %+v", early, events)
			}
			if late := s.lateness(); !slices.Equal(late, []time.Duration{0}) {
				t.Errorf("%v early: lateness %v", early, late)
			}
		})
	}
}

func TestAStepThatIsMuchTooEarlyOrNotTheNextIsLeftAlone(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, s *scene) {
		d := s.running(t, "delivered")
		due := *d.Simulation().NextStepAt
		for done, early := range []time.Duration{2*time.Second + time.Millisecond, time.Second} {
			time.Sleep(time.Until(due) - early)
			asked := time.Now()
			if err := s.simulator.Step(t.Context(), d.ID, done); err != nil || time.Since(asked) != 0 {
				t.Errorf("step %d, %v early: after %v: %v", done, early, time.Since(asked), err)
			}
		}
		s.wantLife(t, d.ID, "created")
		if late := s.lateness(); len(late) != 0 {
			t.Errorf("lateness %v", late)
		}
	})
}

func TestWhatHappensWhileAStepWaitsCounts(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		meanwhile func(*scene, context.CancelFunc, domain.ID) error
		life      string
		want      error
	}{
		"a stop": {func(s *scene, _ context.CancelFunc, id domain.ID) error { _, err := s.stop(id); return err }, "created", nil},
		"another one's step": {func(s *scene, _ context.CancelFunc, id domain.ID) error {
			go func() { _ = s.simulator.Step(context.Background(), id, 0) }()
			return nil
		}, "created assigned", nil},
		"the end of the worker": {func(_ *scene, cancel context.CancelFunc, _ domain.ID) error {
			cancel()
			return nil
		}, "created", context.Canceled},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(t *testing.T, s *scene) {
				d := s.running(t, "delivered")
				time.Sleep(time.Until(*d.Simulation().NextStepAt) - time.Second)
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				done := make(chan error)
				go func() { done <- s.simulator.Step(ctx, d.ID, 0) }()
				synctest.Wait()
				if err := c.meanwhile(s, cancel, d.ID); err != nil {
					t.Fatal(err)
				}
				asked := time.Now()
				if err := <-done; !errors.Is(err, c.want) || c.want != nil && time.Since(asked) != 0 {
					t.Errorf("got %v after %v", err, time.Since(asked))
				}
				time.Sleep(time.Second)
				synctest.Wait()
				s.wantLife(t, d.ID, c.life)
			})
		})
	}
}

// A machine whose clock is behind waits for its own clock.
func TestAMachineWhoseClockIsBehindIsLateAndNeverEarly(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, s *scene) {
		d := s.running(t, "delivered")
		due := *d.Simulation().NextStepAt
		s.clock = wall{behind: time.Second}
		s.build()
		time.Sleep(time.Until(due))
		if err := s.simulator.Step(t.Context(), d.ID, 0); err != nil {
			t.Fatal(err)
		}
		if events := s.events(t, d.ID); len(events) != 2 || !events[1].OccurredAt.Equal(due) || !time.Now().Equal(due.Add(time.Second)) {
			t.Errorf("at %v, due %v: %+v", time.Now(), due, events)
		}
	})
}

func TestOfManyNotificationsAtOnceOneDoesTheStep(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	id := s.running(t, "delivered").ID
	for done := range 4 {
		s.toStep(t, id, 0)
		var all sync.WaitGroup
		for range 25 {
			all.Go(func() {
				if err := s.simulator.Step(context.Background(), id, done); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if late := s.lateness(); len(late) != 1 {
			t.Errorf("step %d was done %d times", done, len(late))
		}
	}
	s.wantLife(t, id, "created assigned picked_up in_transit delivered")
	s.WantRunning(t, s.tenant, 0)
}

func TestAStepWhoseCommitGetsNoAnswerIsDoneOnceWhenItIsNotifiedAgain(t *testing.T) {
	t.Parallel()
	for _, commits := range []bool{true, false} {
		s := newScene(t)
		id := s.running(t, "no_rider_found").ID
		s.toStep(t, id, 0)
		s.storage = &forgetful{Storage: s.Store, times: 1, commits: commits}
		s.build()
		if err := s.simulator.Step(t.Context(), id, 0); !errors.Is(err, ports.ErrOutcomeUnknown) {
			t.Errorf("committed %t: %v", commits, err)
		}
		for range 2 {
			if err := s.simulator.Step(t.Context(), id, 0); err != nil {
				t.Errorf("notified again, committed %t: %v", commits, err)
			}
		}
		s.wantLife(t, id, "created cancelled")
		s.WantRunning(t, s.tenant, 0)
	}
}

// again runs every transaction twice, as a storage does after a deadlock.
type again struct{ ports.Storage }

func (a again) InTx(ctx context.Context, fn func(context.Context, ports.Stores) error) error {
	lost := errors.New("a deadlock")
	if err := a.Storage.InTx(ctx, func(ctx context.Context, tx ports.Stores) error {
		return errors.Join(fn(ctx, tx), lost)
	}); !errors.Is(err, lost) {
		return err
	}
	return a.Storage.InTx(ctx, fn)
}

func TestATransactionThatStartsOverDecidesAnew(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.storage = again{s.Store}
	s.build()
	id := s.running(t, "no_rider_found").ID
	s.step(t, id, 0)
	s.wantLife(t, id, "created cancelled")
	s.WantRunning(t, s.tenant, 0)
	if late := s.lateness(); len(late) != 1 || late[0] < 0 {
		t.Errorf("lateness %v", late)
	}
}

func TestTheHandlerDoesTheStepItIsNotifiedOfAndLogsWhatItCannot(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	id := s.running(t, "delivered").ID
	s.toStep(t, id, 0)
	s.simulator.Handle(t.Context(), stepID(id, 0))
	s.simulator.Handle(t.Context(), stepID(id, 0)) // a surplus notification is not reported
	s.wantLife(t, id, "created assigned")
	if logged := s.logged.String(); logged != "" {
		t.Errorf("logged %q", logged)
	}

	for _, odd := range []string{"", "/", string(id), string(id) + "/", string(id) + "/x", "dlv_1/0", "/0",
		stepID(s.IDs.ID(domain.PrefixDelivery), 0)} {
		before := s.logged.String()
		s.simulator.Handle(t.Context(), odd)
		if logged := strings.TrimPrefix(s.logged.String(), before); strings.Count(logged, "level=WARN") != 1 || strings.Count(logged, "\n") != 1 {
			t.Errorf("%q: logged %q", odd, logged)
		}
	}
	before := s.logged.String()
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	s.simulator.Handle(gone, stepID(id, 1))
	if logged := strings.TrimPrefix(s.logged.String(), before); logged != "" {
		t.Errorf("of a worker that ends: %q", logged)
	}
	s.wantLife(t, id, "created assigned")
}

// notify sends what the queue would.
func notify(s *scene, id domain.ID, done int) stage.Send {
	return func(ctx context.Context) (idempotency.Result, error) {
		return idempotency.Result{}, s.simulator.Step(ctx, id, done)
	}
}

var useCases = []stage.UseCase[*scene]{
	{
		// owner; transaction: lock of the count, lock, update
		Name: "a step", Calls: 5,
		Ready: func(t *testing.T, s *scene) stage.Send {
			id := s.running(t, "delivered").ID
			s.toStep(t, id, 0)
			return notify(s, id, 0)
		},
		Check: ended("created assigned", 1),
	},
	{
		// owner; transaction: lock of the count, lock, leave, update
		Name: "the last step", Calls: 6,
		Ready: func(t *testing.T, s *scene) stage.Send {
			id := s.running(t, "no_rider_found").ID
			s.toStep(t, id, 0)
			return notify(s, id, 0)
		},
		Check: ended("created cancelled", 0),
	},
	{
		// key; transaction: claim, lock of the count, lock, update, complete
		Name: "a transition", Keyed: true, Calls: 7,
		Ready: func(t *testing.T, s *scene) stage.Send {
			id := s.mustCreate(t, nil).ID
			return func(ctx context.Context) (idempotency.Result, error) {
				return s.Transition(ctx, stage.Key(s.tenant, "transition-0001", 1), id, as(domain.Assigned), render)
			}
		},
		Check: ended("created assigned", 0),
	},
	{
		// key; transaction: claim, lock of the count, lock, enter, update, complete
		Name: "a start", Keyed: true, Calls: 8,
		Ready: func(t *testing.T, s *scene) stage.Send {
			id := s.mustCreate(t, nil).ID
			return func(ctx context.Context) (idempotency.Result, error) {
				return s.Start(ctx, stage.Key(s.tenant, "start-0001", 1), id, as(domain.Plan{Scenario: "stalled", StepSeconds: 10}), render)
			}
		},
		Check: ended("created", 1),
	},
	{
		// transaction: lock of the count, lock, leave, update
		Name: "a stop", Calls: 5,
		Ready: func(t *testing.T, s *scene) stage.Send {
			id := s.running(t, "delivered").ID
			return func(ctx context.Context) (idempotency.Result, error) { return s.Stop(ctx, s.unkeyed(), id, render) }
		},
		Check: ended("created", 0),
	},
}

// ended fails unless the only delivery has had that life, and as many run.
func ended(life string, running int) func(*testing.T, *scene) {
	return func(t *testing.T, s *scene) {
		t.Helper()
		all, err := s.Store.Read().Deliveries.List(context.Background(), s.tenant, domain.DeliveryFilter{}, domain.PageRequest{Limit: 10})
		if err != nil || len(all) != 1 {
			t.Fatalf("%d deliveries, %v", len(all), err)
		}
		s.wantLife(t, all[0].ID, life)
		if last := s.events(t, all[0].ID); last[len(last)-1].Status != all[0].Status() || all[0].Lifecycle().Sequence != len(last) {
			t.Errorf("the delivery is %s at %d", all[0].Status(), all[0].Lifecycle().Sequence)
		}
		s.WantRunning(t, s.tenant, running)
		if late := s.lateness(); len(late) > 1 {
			t.Errorf("one step is told to be late %d times", len(late))
		}
	}
}

// Whichever call fails in whichever way, a retried request or notification takes effect once.
func TestWhicheverCallFailsTheNextOneFindsOneEffect(t *testing.T) {
	t.Parallel()
	stage.Exam[*scene]{
		Scene: newScene,
		Break: func(s *scene, c *stage.Calls) {
			s.storage = c.Storage(s.Store)
			s.build()
		},
		Mend: func(s *scene) {
			s.storage = s.Store
			s.build()
		},
	}.Run(t, useCases)
}
