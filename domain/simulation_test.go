package domain_test

import (
	"slices"
	"testing"
	"time"

	"waybill/domain"
)

// life is a scenario written by hand from the product's rules: the status each step leads to, its
// reason, and the wait before it in steps.
type life struct {
	scenario domain.Scenario
	statuses []domain.Status
	waits    []int
	reason   domain.ReasonCode // of the only failed or cancelled step
	codOnly  bool
}

var lives = []life{
	{scenario: "delivered", statuses: []domain.Status{"assigned", "picked_up", "in_transit", "delivered"}, waits: []int{1, 1, 1, 1}},
	{scenario: "delayed", statuses: []domain.Status{"assigned", "picked_up", "in_transit", "delivered"}, waits: []int{1, 1, 1, 5}},
	{scenario: "failed_at_pickup", statuses: []domain.Status{"assigned", "failed"}, waits: []int{1, 1}, reason: "pickup_unavailable"},
	{scenario: "failed_at_dropoff", statuses: []domain.Status{"assigned", "picked_up", "in_transit", "failed"}, waits: []int{1, 1, 1, 1},
		reason: "recipient_unreachable"},
	{
		scenario: "failed_then_retried",
		statuses: []domain.Status{"assigned", "picked_up", "in_transit", "failed", "assigned", "picked_up", "in_transit", "delivered"},
		waits:    []int{1, 1, 1, 1, 1, 1, 1, 1}, reason: "recipient_unreachable",
	},
	{scenario: "cod_refused", statuses: []domain.Status{"assigned", "picked_up", "in_transit", "failed"}, waits: []int{1, 1, 1, 1},
		reason: "cod_refused", codOnly: true},
	{scenario: "cancelled_by_platform", statuses: []domain.Status{"assigned", "cancelled"}, waits: []int{1, 1},
		reason: "cancelled_by_platform"},
	{scenario: "no_rider_found", statuses: []domain.Status{"cancelled"}, waits: []int{3}, reason: "no_rider"},
	{scenario: "outsourced_then_delivered", statuses: []domain.Status{"outsourced", "picked_up", "in_transit", "delivered"},
		waits: []int{1, 1, 1, 1}},
	{scenario: "stalled", statuses: []domain.Status{"assigned", "picked_up", "in_transit"}, waits: []int{1, 1, 1}},
}

// simulated returns a booked sandbox delivery with a running simulation.
func simulated(t *testing.T, scenario domain.Scenario, stepSeconds int) *domain.Delivery {
	t.Helper()
	d := sandboxDelivery(domain.Payment{Type: domain.CashOnDelivery, GoodsValue: &domain.Money{Minor: 100, Currency: "GHS"}})
	if err := d.StartSimulation(domain.Plan{Scenario: scenario, StepSeconds: stepSeconds}, noon); err != nil {
		t.Fatal(err)
	}
	return d
}

func sandboxDelivery(p domain.Payment) *domain.Delivery {
	b := bookingAt(noon)
	b.Tenant.Environment = domain.Sandbox
	b.Payment = p
	d, _ := domain.Book(b, eventID(1))
	return d
}

func TestEveryScenarioPlaysAsItIsWritten(t *testing.T) {
	t.Parallel()
	if len(lives)+1 != len(domain.Scenarios()) || domain.Scenarios()[0] != "manual" {
		t.Fatalf("scenarios %v, want manual and the %d here", domain.Scenarios(), len(lives))
	}
	for _, l := range lives {
		t.Run(string(l.scenario), func(t *testing.T) {
			t.Parallel()
			const pace = 7
			d := simulated(t, l.scenario, pace)
			now, end := noon, noon
			for _, wait := range l.waits {
				end = end.Add(time.Duration(wait*pace) * time.Second)
			}
			for i, status := range l.statuses {
				s := d.Simulation()
				due := now.Add(time.Duration(l.waits[i]*pace) * time.Second)
				if s.Status != "running" || s.Step != i || s.StepsTotal() != len(l.statuses) || !s.NextStepAt.Equal(due) || !s.EndsAt().Equal(end) {
					t.Fatalf("before step %d: %+v, ends %v; want it due at %v, the end at %v", i+1, s, s.EndsAt(), due, end)
				}
				if _, happened, err := d.Simulate(i, eventID(i+2), due.Add(-time.Millisecond)); happened || err != nil {
					t.Fatalf("step %d happened early (%v)", i+1, err)
				}
				late := time.Duration(i) * 100 * time.Millisecond
				event, happened, err := d.Simulate(i, eventID(i+2), due.Add(late))
				if err != nil || !happened {
					t.Fatalf("step %d: %t, %v", i+1, happened, err)
				}
				reason := domain.ReasonCode("")
				if status == domain.Failed || status == domain.Cancelled {
					reason = l.reason
				}
				if event.Status != status || event.Sequence != i+2 || event.Reason != reason || !event.OccurredAt.Equal(due.Add(late)) {
					t.Fatalf("step %d: %+v, want %s for %q", i+1, event, status, reason)
				}
				now, end = due.Add(late), end.Add(late)
			}
			s := d.Simulation()
			if s.Status != "completed" || s.Step != len(l.statuses) || s.NextStepAt != nil || s.EndsAt() != nil {
				t.Errorf("at the end %+v", s)
			}
			if _, happened, _ := d.Simulate(s.Step, eventID(99), now.Add(time.Hour)); happened {
				t.Error("a step after the last happened")
			}
		})
	}
}

func TestOnlyTheNextStepHappens(t *testing.T) {
	t.Parallel()
	d := simulated(t, domain.ScenarioDelivered, 1)
	for _, done := range []int{-1, 1, 2, 4, 100} {
		if _, happened, err := d.Simulate(done, eventID(2), noon.Add(time.Hour)); happened || err != nil {
			t.Errorf("after %d steps: %t, %v", done, happened, err)
		}
	}
	if _, happened, _ := d.Simulate(0, eventID(2), noon.Add(time.Second)); !happened {
		t.Fatal("the next step did not happen")
	}
	if _, happened, _ := d.Simulate(0, eventID(3), noon.Add(time.Hour)); happened {
		t.Error("a step happened twice")
	}
}

func TestAScenarioThatDoesNotFitIsRefused(t *testing.T) {
	t.Parallel()
	for _, l := range lives {
		d := sandboxDelivery(domain.Payment{Type: domain.DeliveryOnly})
		err := d.StartSimulation(domain.Plan{Scenario: l.scenario, StepSeconds: 1}, noon)
		if !l.codOnly {
			if err != nil {
				t.Errorf("%s: %v", l.scenario, err)
			}
			continue
		}
		e := asError(t, err, domain.KindConflict, "SIMULATION_NOT_APPLICABLE")
		applicable := e.Details["applicable_scenarios"].([]string)
		if e.Details["scenario"] != string(l.scenario) || e.Details["payment_type"] != "delivery_only" || e.Details["status"] != "booked" ||
			len(applicable) != len(lives) || slices.Contains(applicable, string(l.scenario)) {
			t.Errorf("details %v", e.Details)
		}
		if s := d.Simulation(); s.Status != "idle" || s.Scenario != "manual" {
			t.Errorf("a refusal left %+v", s)
		}
	}
}

func TestASimulationStartsFromBookedOnly(t *testing.T) {
	t.Parallel()
	for _, status := range domain.Statuses()[1:] {
		d := deliveryIn(status, false)
		d.Tenant.Environment = domain.Sandbox
		e := asError(t, d.StartSimulation(domain.Plan{Scenario: "delivered", StepSeconds: 1}, noon), domain.KindConflict,
			"SIMULATION_NOT_APPLICABLE")
		if e.Details["status"] != string(status) || len(e.Details["applicable_scenarios"].([]string)) != 0 {
			t.Errorf("%s: details %v", status, e.Details)
		}
	}
	live := deliveryIn(domain.Booked, false)
	live.Tenant.Environment = domain.Live
	asError(t, live.StartSimulation(domain.Plan{Scenario: "delivered", StepSeconds: 1}, noon), domain.KindConflict,
		"SIMULATION_NOT_APPLICABLE")
}

func TestARunningSimulationAloneMovesItsDelivery(t *testing.T) {
	t.Parallel()
	for _, by := range []domain.Actor{domain.ActorHelper, domain.ActorPlatform} {
		d := simulated(t, domain.ScenarioDelivered, 60)
		_, err := d.Move(domain.Assigned, by, "", eventID(2), noon)
		e := asError(t, err, domain.KindConflict, "SIMULATION_RUNNING")
		if e.Details["scenario"] != "delivered" || e.Details["step"] != 0 || e.Details["steps_total"] != 4 ||
			e.Details["next_step_at"] != "2026-03-14T12:01:00.000Z" {
			t.Errorf("details %v", e.Details)
		}
		asError(t, d.StartSimulation(domain.Plan{Scenario: "stalled", StepSeconds: 1}, noon), domain.KindConflict, "SIMULATION_RUNNING")
		if d.Status() != domain.Booked || d.Simulation().Scenario != "delivered" {
			t.Errorf("a refusal left %s, %+v", d.Status(), d.Simulation())
		}
	}
}

func TestAStopLeavesTheDeliveryWhereItIs(t *testing.T) {
	t.Parallel()
	d := simulated(t, domain.ScenarioDelivered, 1)
	if _, happened, _ := d.Simulate(0, eventID(2), noon.Add(time.Second)); !happened {
		t.Fatal("the first step did not happen")
	}
	at := noon.Add(90 * time.Second)
	if !d.StopSimulation(at) {
		t.Fatal("nothing was stopped")
	}
	s := d.Simulation()
	if s.Status != "stopped" || s.Step != 1 || s.NextStepAt != nil || d.Status() != domain.Assigned || !d.UpdatedAt().Equal(at) {
		t.Errorf("%+v, %s, updated %v", s, d.Status(), d.UpdatedAt())
	}
	if _, happened, _ := d.Simulate(1, eventID(3), at.Add(time.Hour)); happened {
		t.Error("a step happened after the stop")
	}
	before := d.Lifecycle()
	if d.StopSimulation(at.Add(time.Minute)) || d.Lifecycle() != before {
		t.Error("a second stop changed something")
	}
	if _, err := d.Move(domain.PickedUp, domain.ActorHelper, "", eventID(3), at); err != nil {
		t.Errorf("by hand after the stop: %v", err)
	}
}

func TestACancelStopsWhatRuns(t *testing.T) {
	t.Parallel()
	d := simulated(t, domain.ScenarioDelivered, 1)
	event, changed, err := d.Cancel(eventID(2), noon.Add(time.Second))
	if err != nil || !changed || event.Reason != domain.ReasonCancelledByCaller {
		t.Fatalf("%+v, %t, %v", event, changed, err)
	}
	if s := d.Simulation(); s.Status != "stopped" || s.NextStepAt != nil || d.Status() != domain.Cancelled {
		t.Errorf("%+v, %s", s, d.Status())
	}
	picked := simulated(t, domain.ScenarioDelivered, 1)
	for i, at := 0, noon; i < 2; i++ {
		at = at.Add(time.Duration(i+1) * time.Second)
		if _, happened, _ := picked.Simulate(i, eventID(i+2), at); !happened {
			t.Fatal("no step")
		}
	}
	before := picked.Lifecycle()
	if _, _, err := picked.Cancel(eventID(9), noon.Add(time.Minute)); err == nil || picked.Lifecycle() != before {
		t.Errorf("a cancel after pickup: %v, %+v", err, picked.Simulation())
	}
}

func TestAnotherSimulationMayFollowOneThatWasStoppedAtOnce(t *testing.T) {
	t.Parallel()
	d := simulated(t, domain.ScenarioDelivered, 1)
	d.StopSimulation(noon)
	if err := d.StartSimulation(domain.Plan{Scenario: "stalled", StepSeconds: 2}, noon.Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	if s := d.Simulation(); s.Status != "running" || s.Scenario != "stalled" || s.Step != 0 || !s.NextStepAt.Equal(noon.Add(62*time.Second)) {
		t.Errorf("%+v", s)
	}
}

func TestManualIsNoSimulationThatRuns(t *testing.T) {
	t.Parallel()
	d := sandboxDelivery(domain.Payment{Type: domain.DeliveryOnly})
	before := d.Lifecycle()
	if err := d.StartSimulation(domain.Plan{Scenario: "manual", StepSeconds: 15}, noon.Add(time.Minute)); err != nil ||
		d.Lifecycle() != before {
		t.Errorf("%v, %+v", err, d.Lifecycle())
	}
	if s := d.Simulation(); d.Simulating() || s.Scenario != "manual" || s.Status != "idle" || s.Step != 0 || s.StepsTotal() != 0 ||
		s.NextStepAt != nil {
		t.Errorf("%+v", s)
	}
}

func TestSimulationLimitTellsWhenToComeBack(t *testing.T) {
	t.Parallel()
	for first, want := range map[time.Duration]time.Duration{
		42 * time.Second: 42 * time.Second, time.Hour: time.Hour, time.Millisecond: time.Second, 0: time.Second,
		// Overdue: none may ever end.
		-time.Millisecond: time.Second, -7 * time.Second: 7 * time.Second, -time.Minute: time.Minute, -time.Hour: time.Minute,
	} {
		e := domain.SimulationLimit(first)
		if e.Kind != domain.KindLimited || e.Code != "SIMULATION_LIMIT" || e.RetryAfter != want || e.Details["limit"] != 100 {
			t.Errorf("%v: %+v", first, e)
		}
	}
}

// During an upgrade, an old process may be notified of what only a newer one knows.
func TestAScenarioOfANewerVersionIsLeftToIt(t *testing.T) {
	t.Parallel()
	for _, s := range []domain.Simulation{
		{Scenario: "teleported", Status: domain.SimulationRunning, StepSeconds: 1, NextStepAt: &noon},
		// as if it had a fourth step
		{Scenario: domain.ScenarioStalled, Status: domain.SimulationRunning, Step: 3, StepSeconds: 1, NextStepAt: &noon},
	} {
		newer := func() *domain.Delivery {
			b := bookingAt(noon)
			b.Tenant.Environment = domain.Sandbox
			return domain.RestoreDelivery(b, domain.Lifecycle{Status: domain.Booked, Sequence: 1, UpdatedAt: noon, Simulation: &s})
		}
		d := newer()
		before := d.Lifecycle()
		if _, happened, err := d.Simulate(s.Step, eventID(2), noon.Add(time.Hour)); happened || err != nil || d.Lifecycle() != before {
			t.Errorf("%s: %t, %v, %+v", s.Scenario, happened, err, d.Lifecycle())
		}
		if !d.StopSimulation(noon.Add(time.Hour)) || d.Simulating() {
			t.Errorf("%s cannot be stopped", s.Scenario)
		}
		if _, changed, err := newer().Cancel(eventID(2), noon.Add(time.Hour)); !changed || err != nil {
			t.Errorf("%s cannot be cancelled: %v", s.Scenario, err)
		}
	}
}
