package sandbox_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"waybill/application/idempotency"
	"waybill/domain"
	"waybill/ports"
	"waybill/test/stage"
)

func TestTheHelperMovesADeliveryStepByStep(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	id := s.mustCreate(t, nil).ID
	for _, to := range []domain.Status{
		domain.Assigned, domain.PickedUp, domain.InTransit, domain.Failed, domain.Assigned, domain.PickedUp, domain.InTransit, domain.Delivered,
	} {
		got, err := s.transition(to, id)
		if d := s.answered(t, got, err); d.Status() != to {
			t.Fatalf("it is %s, want %s", d.Status(), to)
		}
	}
	s.wantLife(t, id, "created assigned picked_up in_transit failed assigned picked_up in_transit delivered")
	s.WantRunning(t, s.tenant, 0)
}

func TestAStepTheHelperMayNotTakeIsRefusedAndTellsWhatMay(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	id := s.mustCreate(t, nil).ID
	if _, err := s.transition(domain.Assigned, id); err != nil {
		t.Fatal(err)
	}
	before := s.stored(t, id)
	for _, to := range []domain.Status{domain.InTransit, domain.Delivered, domain.Assigned, domain.Booked} {
		_, err := s.transition(to, id)
		e := wantCode(t, err, "SANDBOX_TRANSITION_INVALID")
		allowed := fmt.Sprint(e.Details["allowed_statuses"])
		if e.Details["current_status"] != "assigned" || e.Details["requested_status"] != string(to) ||
			allowed != "[picked_up outsourced cancelled failed]" {
			t.Errorf("to %s: %v", to, e.Details)
		}
	}
	if after := s.stored(t, id); string(render(after).Body) != string(render(before).Body) {
		t.Errorf("a refusal left %+v", after.Lifecycle())
	}
	s.wantLife(t, id, "created assigned")
}

func TestWhatAScenarioMovesTheHelperDoesNot(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	id := s.running(t, "delivered").ID
	before := s.stored(t, id)
	_, err := s.transition(domain.Assigned, id)
	wantCode(t, err, "SIMULATION_RUNNING")
	_, err = s.start("stalled", id)
	wantCode(t, err, "SIMULATION_RUNNING")
	if after := s.stored(t, id); string(render(after).Body) != string(render(before).Body) {
		t.Errorf("a refusal left %+v", after.Lifecycle())
	}
	s.WantRunning(t, s.tenant, 1)

	if _, err := s.stop(id); err != nil {
		t.Fatal(err)
	}
	if _, err := s.transition(domain.Assigned, id); err != nil {
		t.Errorf("after the stop: %v", err)
	}
	s.wantLife(t, id, "created assigned")
}

func TestWhatIsNotTheirsIsNotFound(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	mine, running := s.mustCreate(t, nil).ID, s.running(t, "delivered").ID
	live := s.tenant
	live.Environment = domain.Live
	for name, tenant := range map[string]domain.Tenant{
		"another business": s.NewTenant(t), "another application": s.NewApplication(t, s.tenant), "live": live, "its own": s.tenant,
	} {
		ids := []domain.ID{mine, running}
		if name == "its own" {
			ids = []domain.ID{s.IDs.ID(domain.PrefixDelivery), "dlv_1", "", "rcp_" + domain.ID(mine.Hex())}
		}
		for _, id := range ids {
			for i, call := range []func(idempotency.Request) (idempotency.Result, error){
				func(r idempotency.Request) (idempotency.Result, error) {
					return s.Transition(t.Context(), r, id, as(domain.Assigned), render)
				},
				func(r idempotency.Request) (idempotency.Result, error) {
					return s.Start(t.Context(), r, id, as(domain.Plan{Scenario: "delivered", StepSeconds: 1}), render)
				},
				func(r idempotency.Request) (idempotency.Result, error) { return s.Stop(t.Context(), r, id, render) },
			} {
				for _, r := range []idempotency.Request{{Tenant: tenant}, stage.Key(tenant, "helper-0001", 1)} {
					if _, err := call(r); !errors.Is(err, domain.ErrNotFound) {
						t.Errorf("%s, %q, call %d: %v", name, id, i, err)
					}
				}
			}
		}
	}
	s.wantLife(t, mine, "created")
	s.WantRunning(t, s.tenant, 1)
}

func TestACallWithAKeyIsReplayed(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	id, running := s.mustCreate(t, nil).ID, s.running(t, "delivered").ID
	plan := domain.Plan{Scenario: "delivered", StepSeconds: 10}
	for name, call := range map[string]func(idempotency.Request) (idempotency.Result, error){
		"start": func(r idempotency.Request) (idempotency.Result, error) {
			return s.Start(t.Context(), r, id, as(plan), render)
		},
		"stop": func(r idempotency.Request) (idempotency.Result, error) {
			return s.Stop(t.Context(), r, running, render)
		},
	} {
		first, err := call(stage.Key(s.tenant, name+"-0001", 1))
		if err != nil || first.Replayed {
			t.Fatalf("%s: %+v, %v", name, first, err)
		}
		second, err := call(stage.Key(s.tenant, name+"-0001", 1))
		if err != nil || !second.Replayed || !stage.SameAnswer(first, second) {
			t.Errorf("%s again: %+v, %v", name, second, err)
		}
		_, err = call(stage.Key(s.tenant, name+"-0001", 2))
		wantCode(t, err, "IDEMPOTENCY_CONFLICT")
	}
	s.WantRunning(t, s.tenant, 1)

	// A refusal is not stored: the key is free for an allowed step.
	key := stage.Key(s.tenant, "transition-0001", 1)
	_, err := s.Transition(t.Context(), key, running, as(domain.Delivered), render)
	wantCode(t, err, "SANDBOX_TRANSITION_INVALID")
	first, err := s.Transition(t.Context(), key, running, as(domain.Assigned), render)
	if err != nil {
		t.Fatal(err)
	}
	second, err := s.Transition(t.Context(), key, running, as(domain.Assigned), render)
	if err != nil || !second.Replayed || !stage.SameAnswer(first, second) {
		t.Errorf("%+v, %v", second, err)
	}
	s.wantLife(t, running, "created assigned")
}

func TestStartLetsAScenarioMoveWhatIsBooked(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.Clock.Step = 0
	id := s.mustCreate(t, nil).ID
	s.Clock.GoOn(time.Minute)
	got, err := s.start("stalled", id)
	d := s.answered(t, got, err)
	if simulation := d.Simulation(); !d.Simulating() || simulation.Scenario != "stalled" || simulation.StepSeconds != 10 ||
		!simulation.NextStepAt.Equal(s.Clock.Now().Add(10*time.Second)) || !d.UpdatedAt().Equal(s.Clock.Now()) {
		t.Errorf("updated %v, %+v", d.UpdatedAt(), simulation)
	}
	s.wantLife(t, id, "created") // the start makes no event
	s.WantRunning(t, s.tenant, 1)

	// A simulation that was stopped before its first step may be started again.
	if _, err := s.stop(id); err != nil {
		t.Fatal(err)
	}
	got, err = s.start("delivered", id)
	if d := s.answered(t, got, err); d.Simulation().Scenario != "delivered" || d.Simulation().Step != 0 {
		t.Errorf("%+v", d.Simulation())
	}
	s.WantRunning(t, s.tenant, 1)
}

func TestAStartThatCannotBeIsRefusedAndCountsNothing(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	moved := s.mustCreate(t, nil).ID
	for _, to := range []domain.Status{domain.Assigned, domain.PickedUp, domain.InTransit, domain.Delivered} {
		if _, err := s.transition(to, moved); err != nil {
			t.Fatal(err)
		}
		_, err := s.start("delivered", moved)
		if e := wantCode(t, err, "SIMULATION_NOT_APPLICABLE"); e.Details["status"] != string(to) {
			t.Errorf("details %v", e.Details)
		}
	}
	if d := s.stored(t, moved); d.Simulation().Status != domain.SimulationIdle {
		t.Errorf("a refusal left %+v", d.Simulation())
	}
	byHand := s.mustCreate(t, nil).ID
	if got, err := s.start("manual", byHand); s.answered(t, got, err).Simulating() {
		t.Error("by hand it runs")
	}
	s.WantRunning(t, s.tenant, 0)
}

func TestAtTheLimitNoMoreSimulationsStart(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	last := s.running(t, "delivered").ID
	for range domain.MaxRunningSimulations - 1 {
		s.running(t, "delivered")
	}
	id := s.mustCreate(t, nil).ID
	key := stage.Key(s.tenant, "one-too-many", 1)
	send := func() (idempotency.Result, error) {
		return s.Start(t.Context(), key, id, as(domain.Plan{Scenario: "delivered", StepSeconds: 10}), render)
	}
	before := s.stored(t, id)
	_, err := send()
	e := wantCode(t, err, "SIMULATION_LIMIT")
	if left := s.stored(t, last).Simulation().EndsAt().Sub(s.Clock.Now()); e.RetryAfter < left || e.RetryAfter > left+time.Second {
		t.Errorf("retry after %v, the first ends in %v", e.RetryAfter, left)
	}
	if after := s.stored(t, id); string(render(after).Body) != string(render(before).Body) {
		t.Errorf("a refusal left %+v", after.Lifecycle())
	}
	s.WantRunning(t, s.tenant, domain.MaxRunningSimulations)

	if _, err := s.stop(last); err != nil {
		t.Fatal(err)
	}
	if got, err := send(); err != nil || got.Replayed {
		t.Errorf("with room: %+v, %v", got, err)
	}
	s.WantRunning(t, s.tenant, domain.MaxRunningSimulations)
}

func TestAStopLeavesTheDeliveryAndFreesItsPlace(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	id := s.running(t, "delivered").ID
	s.step(t, id, 0)
	got, err := s.stop(id)
	d := s.answered(t, got, err)
	if simulation := d.Simulation(); simulation.Status != domain.SimulationStopped || simulation.Step != 1 || simulation.NextStepAt != nil ||
		d.Status() != domain.Assigned {
		t.Errorf("%s, %+v", d.Status(), simulation)
	}
	s.WantRunning(t, s.tenant, 0)
	s.wantLife(t, id, "created assigned")
}

func TestAStopWhereNothingRunsChangesNothing(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	idle, stopped, completed, cancelled := s.mustCreate(t, nil).ID, s.running(t, "delivered").ID, s.running(t, "no_rider_found").ID,
		s.running(t, "stalled").ID
	if _, err := s.stop(stopped); err != nil {
		t.Fatal(err)
	}
	s.step(t, completed, 0)
	if _, err := s.deliveries.Cancel(t.Context(), s.unkeyed(), cancelled, render); err != nil {
		t.Fatal(err)
	}
	for name, id := range map[string]domain.ID{"idle": idle, "stopped": stopped, "completed": completed, "cancelled": cancelled} {
		before := s.stored(t, id)
		got, err := s.stop(id)
		s.answered(t, got, err)
		if string(got.Answer.Body) != string(render(before).Body) {
			t.Errorf("%s became\n%s, it was\n%s", name, got.Answer.Body, render(before).Body)
		}
	}
	s.WantRunning(t, s.tenant, 0)
}

// forgetful commits, or does not, and loses the answer that many times in either case.
type forgetful struct {
	ports.Storage
	times   int
	commits bool
}

func (f *forgetful) InTx(ctx context.Context, fn func(context.Context, ports.Stores) error) error {
	if f.times--; f.times < 0 {
		return f.Storage.InTx(ctx, fn)
	}
	if f.commits {
		if err := f.Storage.InTx(ctx, fn); err != nil {
			return err
		}
		return ports.ErrOutcomeUnknown
	}
	lost := errors.New("lost")
	if err := f.Storage.InTx(ctx, func(ctx context.Context, tx ports.Stores) error {
		return errors.Join(fn(ctx, tx), lost)
	}); !errors.Is(err, lost) {
		return err
	}
	return ports.ErrOutcomeUnknown
}

// A retry without a key recognizes its own step.
func TestACallWithoutAKeyWhoseAnswerIsLostFindsItsOwnChange(t *testing.T) {
	t.Parallel()
	for _, commits := range []bool{true, false} {
		for name, call := range map[string]struct {
			do   func(*scene, domain.ID) (idempotency.Result, error)
			life string
			runs int
		}{
			"transition": {func(s *scene, id domain.ID) (idempotency.Result, error) { return s.transition(domain.Assigned, id) }, "created assigned",
				0},
			"start": {func(s *scene, id domain.ID) (idempotency.Result, error) { return s.start("delivered", id) }, "created", 1},
			"stop":  {func(s *scene, id domain.ID) (idempotency.Result, error) { return s.stop(id) }, "created", 0},
		} {
			t.Run(fmt.Sprintf("%s, committed %t", name, commits), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					s := newScene(t)
					id := s.mustCreate(t, nil).ID
					s.storage = &forgetful{Storage: s.Store, times: 2, commits: commits}
					s.build()
					got, err := call.do(s, id)
					s.answered(t, got, err)
					s.wantLife(t, id, call.life)
					s.WantRunning(t, s.tenant, call.runs)
				})
			})
		}
	}
}

// A concurrent change by another is not mistaken for the own change.
func TestACallWithoutAKeyWhoseAnswerIsLostDecidesOnWhatOthersDid(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t)
		id := s.mustCreate(t, nil).ID
		s.storage = &forgetful{Storage: s.Store, times: 1}
		s.build()
		other := sceneOn(t, s.Stage)
		other.tenant = s.tenant
		done := make(chan error)
		go func() {
			_, err := s.transition(domain.Assigned, id) // waits a moment before it retries
			done <- err
		}()
		synctest.Wait()
		if _, err := other.transition(domain.Assigned, id); err != nil {
			t.Fatal(err)
		}
		wantCode(t, <-done, "SANDBOX_TRANSITION_INVALID")
		s.wantLife(t, id, "created assigned")
	})
}
