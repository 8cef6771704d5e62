package deliveries_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/golang/mock/gomock"

	"waybill/application/deliveries"
	"waybill/application/idempotency"
	"waybill/domain"
	"waybill/ports"
	"waybill/ports/mocks"
	"waybill/test/stage"
)

// run books n deliveries that a scenario moves, and returns the last one.
func (s *scene) run(t *testing.T, n int) (last *domain.Delivery) {
	t.Helper()
	for i := range n {
		last = s.mustCreate(t, stage.Key(s.tenant, fmt.Sprintf("running-%04d", i), 1), order(moving))
	}
	return last
}

func TestACreateWithASimulationMovesFromNowOn(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	d := s.run(t, 1)
	simulation := d.Simulation()
	if !d.Simulating() || simulation.Scenario != "delivered" || simulation.StepSeconds != 15 || simulation.Step != 0 ||
		!simulation.NextStepAt.Equal(d.CreatedAt.Add(15*time.Second)) || !d.UpdatedAt().Equal(d.CreatedAt) {
		t.Errorf("created %v, updated %v, %+v", d.CreatedAt, d.UpdatedAt(), simulation)
	}
	s.WantRunning(t, s.tenant, 1)
	if events := s.events(t, s.tenant, d.ID); len(events) != 1 {
		t.Errorf("events %+v", events)
	}
}

func TestADeliveryThatMovesByHandIsNotCounted(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	for i, plan := range []*domain.Plan{nil, {Scenario: domain.ScenarioManual, StepSeconds: 15}} {
		d := s.mustCreate(t, stage.Key(s.tenant, fmt.Sprint("order-000", i), 1), order(func(o *deliveries.Order) { o.Simulation = plan }))
		if got := *d.Simulation(); got != (domain.Simulation{Scenario: domain.ScenarioManual, Status: domain.SimulationIdle}) {
			t.Errorf("%+v: %+v", plan, got)
		}
	}
	s.WantRunning(t, s.tenant, 0)
}

func TestAtTheLimitNoMoreSimulationsAreBooked(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	last := s.run(t, domain.MaxRunningSimulations)
	s.price = func(context.Context, domain.Trip) (domain.Quote, error) {
		t.Error("a price was asked")
		return domain.Quote{}, errors.New("not for what cannot be booked")
	}
	s.build()
	late := stage.Key(s.tenant, "one-too-many", 1)
	_, err := s.create(t.Context(), late, order(moving))
	e := wantCode(t, err, "SIMULATION_LIMIT")
	// The first simulation takes one minute and began a little less than a minute ago.
	if e.Details["limit"] != 100 || e.RetryAfter < time.Second || e.RetryAfter > time.Minute {
		t.Errorf("retry after %v, details %v", e.RetryAfter, e.Details)
	}
	s.WantRunning(t, s.tenant, domain.MaxRunningSimulations)

	s.price = newPrice
	s.build()
	s.mustCreate(t, stage.Key(s.tenant, "order-0001", 1), order(nil))
	s.mustCreate(t, stage.Key(s.tenant, "order-0002", 1), order(func(o *deliveries.Order) {
		o.Simulation = &domain.Plan{Scenario: "manual", StepSeconds: 1}
	}))
	sibling := s.NewApplication(t, s.tenant)
	s.mustCreate(t, stage.Key(sibling, "order-0001", 1), order(moving))

	// The place of an ended simulation is free, and so is the key.
	if _, err := s.Cancel(t.Context(), idempotency.Request{Tenant: s.tenant}, last.ID, render); err != nil {
		t.Fatal(err)
	}
	s.mustCreate(t, late, order(moving))
	s.WantRunning(t, s.tenant, domain.MaxRunningSimulations)
}

func TestTheCountDecidesThoughThereWasRoomBefore(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	first := s.run(t, 1)
	bookings := mocks.NewMockBookings(gomock.NewController(t))
	bookings.EXPECT().Book(gomock.Any(), gomock.Any()).Return(fmt.Errorf("book: %w", ports.ErrSimulationLimit))
	s.bookings = bookings
	s.build()
	_, err := s.create(t.Context(), stage.Key(s.tenant, "order-0001", 1), order(moving))
	e := wantCode(t, err, "SIMULATION_LIMIT")
	if left := first.Simulation().EndsAt().Sub(s.Clock.Now()); e.RetryAfter < left || e.RetryAfter > left+time.Second {
		t.Errorf("retry after %v, the first ends in %v", e.RetryAfter, left)
	}
}

func TestAScenarioThatMakesNoSenseIsRefusedBeforeThePriceAndBehindThePickup(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.price = func(context.Context, domain.Trip) (domain.Quote, error) {
		t.Error("a price was asked")
		return domain.Quote{}, errors.New("not for what cannot be booked")
	}
	s.build()
	odd := func(o *deliveries.Order) { o.Simulation = &domain.Plan{Scenario: "cod_refused", StepSeconds: 1} }
	_, err := s.create(t.Context(), stage.Key(s.tenant, "order-0001", 1), order(odd))
	wantCode(t, err, "SIMULATION_NOT_APPLICABLE")
	_, err = s.create(t.Context(), stage.Key(s.tenant, "order-0002", 1), order(func(o *deliveries.Order) {
		odd(o)
		o.Pickup, o.PickupLocationID = nil, new(string(s.IDs.ID(domain.PrefixPickupLocation)))
	}))
	wantCode(t, err, "PICKUP_LOCATION_NOT_FOUND")
	if len(s.all(t, s.tenant)) != 0 {
		t.Error("something was booked")
	}
	s.WantRunning(t, s.tenant, 0)
}

// The last place may be taken by the caller's own first try.
func TestAnOwnFirstTryThatTookTheLastPlaceIsReplayed(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.run(t, domain.MaxRunningSimulations-1)
	first := newOrderOfAnother(t, s, "order-0001", order(moving))
	s.serves = func(domain.Coordinates) bool { // the last step before the load is read
		if len(s.all(t, s.tenant)) < domain.MaxRunningSimulations {
			first.send()
		}
		return true
	}
	s.build()
	got, err := s.create(t.Context(), stage.Key(s.tenant, "order-0001", 1), order(moving))
	if err != nil || !got.Replayed {
		t.Errorf("%+v, %v", got, err)
	}
	s.WantRunning(t, s.tenant, domain.MaxRunningSimulations)
}

func TestACancelEndsTheSimulationAndItsCount(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	d := s.run(t, 2)
	for range 2 {
		if _, err := s.Cancel(t.Context(), idempotency.Request{Tenant: s.tenant}, d.ID, render); err != nil {
			t.Fatal(err)
		}
		s.WantRunning(t, s.tenant, 1)
	}
	stored, err := s.Get(t.Context(), s.tenant, d.ID)
	if err != nil || stored.Status() != domain.Cancelled || stored.Simulation().Status != domain.SimulationStopped ||
		stored.Simulation().NextStepAt != nil {
		t.Errorf("%+v, %+v, %v", stored.Lifecycle(), stored.Simulation(), err)
	}
}
