package sandbox_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"waybill/application/deliveries"
	"waybill/application/idempotency"
	"waybill/application/sandbox"
	"waybill/domain"
	"waybill/ports"
	"waybill/test/stage"
)

// scene is the sandbox on a real database. Every dependency can be replaced.
type scene struct {
	*stage.Stage
	*sandbox.Sandbox
	deliveries *deliveries.Deliveries
	simulator  *sandbox.Simulator
	storage    ports.Storage
	clock      ports.Clock
	tenant     domain.Tenant
	logged     stage.Log

	mu   sync.Mutex
	late []time.Duration // of every step that was done
}

func newScene(t *testing.T) *scene { return sceneOn(t, stage.New(t)) }

func sceneOn(t *testing.T, on *stage.Stage) *scene {
	t.Helper()
	s := &scene{Stage: on}
	s.storage, s.clock = s.Store, s.Clock
	s.tenant = s.NewTenant(t)
	s.build()
	return s
}

// build makes the use cases anew after a dependency was replaced.
func (s *scene) build() {
	s.deliveries = s.Deliveries(s.storage, s.Store, price{}, everywhere{}, stage.FoldCase{})
	s.Sandbox = sandbox.New(s.deliveries, s.clock, s.IDs)
	log := slog.New(slog.NewTextHandler(&s.logged, &slog.HandlerOptions{Level: slog.LevelDebug}))
	s.simulator = sandbox.NewSimulator(s.storage, s.clock, s.IDs, stage.Renderer{}, log, s.noteLateness)
}

func (s *scene) noteLateness(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.late = append(s.late, d)
}

// lateness returns what the hook received, and clears it.
func (s *scene) lateness() []time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	told := s.late
	s.late = nil
	return told
}

// price and everywhere are the simplest implementations that keep the promises of their ports.
type price struct{}

func (price) Price(context.Context, domain.Trip) (domain.Quote, error) {
	return domain.Quote{
		Currency: "GHS", Distance: domain.Distance{Kilometres: 9.5, Source: domain.DistanceRoad},
		Fee: &domain.Money{Minor: 2450, Currency: "GHS"},
	}, nil
}

type everywhere struct{}

func (everywhere) Contains(domain.Coordinates) bool { return true }

// create books a delivery; plan may be nil.
func (s *scene) create(plan *domain.Plan) (*domain.Delivery, error) {
	at := domain.Coordinates{Latitude: 5.6, Longitude: -0.18}
	order := deliveries.Order{
		Recipient:  &deliveries.InlineRecipient{Name: "Ama", PhoneNumber: "+233201234567", Address: "4 Castle Road", Coordinates: at},
		Pickup:     &domain.Pickup{Name: "Depot", Contact: "+233302000001", Address: "Ring Road", Coordinates: at},
		Payment:    domain.Payment{Type: domain.CashOnDelivery, GoodsValue: &domain.Money{Minor: 100, Currency: "GHS"}},
		Simulation: plan, VehicleType: domain.Bike,
	}
	result, err := s.deliveries.Create(context.Background(), stage.Key(s.tenant, string(s.IDs.ID("key-")), 1),
		func() (deliveries.Order, error) { return order, nil }, render)
	if err != nil {
		return nil, err
	}
	return s.deliveries.Get(context.Background(), s.tenant, idOf(result))
}

func (s *scene) mustCreate(t *testing.T, plan *domain.Plan) *domain.Delivery {
	t.Helper()
	d, err := s.create(plan)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// running returns a delivery that a scenario moves, a step every ten seconds.
func (s *scene) running(t *testing.T, scenario domain.Scenario) *domain.Delivery {
	t.Helper()
	return s.mustCreate(t, &domain.Plan{Scenario: scenario, StepSeconds: 10})
}

func render(d *domain.Delivery) domain.Answer {
	body, err := json.Marshal(struct {
		domain.Booking
		domain.Lifecycle
	}{d.Booking, d.Lifecycle()})
	if err != nil {
		panic(err)
	}
	return domain.Answer{Status: 200, Location: "/v1/deliveries/" + string(d.ID), Body: body}
}

func idOf(r idempotency.Result) domain.ID {
	return domain.ID(strings.TrimPrefix(r.Answer.Location, "/v1/deliveries/"))
}

func (s *scene) unkeyed() idempotency.Request { return idempotency.Request{Tenant: s.tenant} }

func (s *scene) transition(to domain.Status, id domain.ID) (idempotency.Result, error) {
	return s.Transition(context.Background(), s.unkeyed(), id, as(to), render)
}

func (s *scene) start(scenario domain.Scenario, id domain.ID) (idempotency.Result, error) {
	return s.Start(context.Background(), s.unkeyed(), id, as(domain.Plan{Scenario: scenario, StepSeconds: 10}), render)
}

func (s *scene) stop(id domain.ID) (idempotency.Result, error) {
	return s.Stop(context.Background(), s.unkeyed(), id, render)
}

func (s *scene) stored(t *testing.T, id domain.ID) *domain.Delivery {
	t.Helper()
	d, err := s.Store.Read().Deliveries.Get(context.Background(), s.tenant, id)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func (s *scene) events(t *testing.T, id domain.ID) []domain.Event {
	t.Helper()
	events, err := s.Store.Read().Deliveries.Events(context.Background(), s.tenant, id)
	if err != nil {
		t.Fatal(err)
	}
	return events
}

// life returns a timeline in short: its types by sequence.
func (s *scene) life(t *testing.T, id domain.ID) string {
	t.Helper()
	var types []string
	for i, e := range s.events(t, id) {
		if e.Sequence != i+1 {
			t.Errorf("event %d has sequence %d", i+1, e.Sequence)
		}
		types = append(types, strings.TrimPrefix(string(e.Type), "delivery."))
	}
	return strings.Join(types, " ")
}

func (s *scene) wantLife(t *testing.T, id domain.ID, want string) {
	t.Helper()
	if got := s.life(t, id); got != want {
		t.Errorf("the timeline is %q, want %q", got, want)
	}
}

// toStep moves the clock beyond the due time of a delivery's next step.
func (s *scene) toStep(t *testing.T, id domain.ID, past time.Duration) {
	t.Helper()
	due := s.stored(t, id).Simulation().NextStepAt
	if due == nil {
		t.Fatal("no next step")
	}
	s.Clock.GoOn(due.Sub(s.Clock.Now()) + past)
}

// step does a step at its time.
func (s *scene) step(t *testing.T, id domain.ID, done int) {
	t.Helper()
	s.toStep(t, id, 0)
	if err := s.simulator.Step(t.Context(), id, done); err != nil {
		t.Fatal(err)
	}
}

// answered fails unless the answer shows what is stored.
func (s *scene) answered(t *testing.T, got idempotency.Result, err error) *domain.Delivery {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	d := s.stored(t, idOf(got))
	if want := render(d); string(want.Body) != string(got.Answer.Body) {
		t.Errorf("answered\n%s\nstored\n%s", got.Answer.Body, want.Body)
	}
	return d
}

func wantCode(t *testing.T, err error, code string) *domain.Error {
	t.Helper()
	var e *domain.Error
	if !errors.As(err, &e) || e.Code != code {
		t.Fatalf("got %v, want %s", err, code)
	}
	return e
}

func stepID(id domain.ID, done int) string { return fmt.Sprintf("%s/%d", id, done) }

// as returns the form of a valid request.
func as[T any](form T) func() (T, error) { return func() (T, error) { return form, nil } }
