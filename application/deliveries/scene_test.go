package deliveries_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"waybill/application/deliveries"
	"waybill/application/idempotency"
	"waybill/domain"
	"waybill/ports"
	"waybill/test/stage"
)

var (
	accra = domain.Coordinates{Latitude: 5.6, Longitude: -0.18}
	tema  = domain.Coordinates{Latitude: 5.67, Longitude: -0.01}
	depot = domain.Pickup{Name: "Depot", Contact: "+233302000001", Address: "Ring Road", Coordinates: accra}
)

// pricing and area are the simplest implementations that keep the promises of their ports.
type pricing func(context.Context, domain.Trip) (domain.Quote, error)

func (p pricing) Price(ctx context.Context, trip domain.Trip) (domain.Quote, error) {
	return p(ctx, trip)
}

type area func(domain.Coordinates) bool

func (a area) Contains(c domain.Coordinates) bool { return a(c) }

func everywhere(domain.Coordinates) bool { return true }

func newPrice(context.Context, domain.Trip) (domain.Quote, error) {
	return domain.Quote{
		Currency: "GHS", Distance: domain.Distance{Kilometres: 9.5, Source: domain.DistanceRoad},
		Fee: &domain.Money{Minor: 2450, Currency: "GHS"},
	}, nil
}

// scene holds the use cases on a real database. Every dependency can be replaced.
type scene struct {
	*deliveries.Deliveries
	*stage.Stage
	storage  ports.Storage
	bookings ports.Bookings
	price    pricing
	serves   area
	tenant   domain.Tenant
}

func newScene(t *testing.T) *scene {
	t.Helper()
	s := &scene{Stage: stage.New(t), price: newPrice, serves: everywhere}
	s.storage, s.bookings = s.Store, s.Store
	s.tenant = s.NewTenant(t)
	s.build()
	return s
}

// build makes the use cases anew after a dependency was replaced.
func (s *scene) build() { s.buildWith(s.IDs) }

func (s *scene) buildWith(ids ports.Identifiers) {
	gate := s.Gate(s.storage)
	s.Deliveries = deliveries.New(s.storage, s.bookings, gate, deliveries.NewQuotes(s.storage, s.price, s.serves), s.Clock, ids, stage.FoldCase{},
		stage.Renderer{})
}

func (s *scene) newRecipient(t *testing.T, tenant domain.Tenant, name string, phone domain.PhoneNumber) domain.Recipient {
	t.Helper()
	now := s.Clock.Now()
	r := domain.Recipient{ID: s.IDs.ID(domain.PrefixRecipient), PhoneNumber: phone, Name: name, CreatedAt: now, UpdatedAt: now}
	s.Write(t, func(ctx context.Context, tx ports.Stores) error {
		_, created, err := tx.Recipients.Add(ctx, tenant, r)
		if err == nil && !created {
			err = errors.New("the recipient is there already")
		}
		return err
	})
	return r
}

func (s *scene) newAddress(t *testing.T, tenant domain.Tenant, of domain.Recipient, text string) domain.Address {
	t.Helper()
	a := domain.Address{
		ID: s.IDs.ID(domain.PrefixAddress), RecipientID: of.ID, Label: "Home", Text: text, MatchKey: stage.FoldCase{}.MatchKey(text),
		Coordinates: tema, Municipality: "Tema", DeliveryNotes: "Ring twice", CreatedAt: s.Clock.Now(),
	}
	s.Write(t, func(ctx context.Context, tx ports.Stores) error {
		_, created, err := tx.Recipients.AddAddress(ctx, tenant, a)
		if err == nil && !created {
			err = errors.New("the address is there already")
		}
		return err
	})
	return a
}

func (s *scene) newLocation(t *testing.T, tenant domain.Tenant, change func(*domain.PickupLocation)) domain.PickupLocation {
	t.Helper()
	now, at := s.Clock.Now(), accra
	p := domain.PickupLocation{
		ID: s.IDs.ID(domain.PrefixPickupLocation), Name: "Osu", Contact: "+233302000002", Address: "12 Oxford Street",
		Coordinates: &at, Active: true, CreatedAt: now, UpdatedAt: now,
	}
	if change != nil {
		change(&p)
	}
	s.Write(t, func(ctx context.Context, tx ports.Stores) error { return tx.PickupLocations.Insert(ctx, tenant, p) })
	return p
}

// order returns a valid order to an inline recipient.
func order(change func(*deliveries.Order)) deliveries.Order {
	o := deliveries.Order{
		Recipient: &deliveries.InlineRecipient{
			Name: "Ama", PhoneNumber: "+233201234567", Address: "4 Castle Road", Coordinates: tema,
			Label: "Work", Municipality: "Accra", DeliveryNotes: "Blue gate",
		},
		Pickup: new(depot), Payment: domain.Payment{Type: domain.DeliveryOnly}, VehicleType: domain.Bike, Instructions: "Call first",
	}
	if change != nil {
		change(&o)
	}
	return o
}

// moving lets a scenario move the delivery of an order.
func moving(o *deliveries.Order) {
	o.Simulation = &domain.Plan{Scenario: domain.ScenarioDelivered, StepSeconds: 15}
}

// create sends an order. The response body is the whole delivery as JSON.
func (s *scene) create(ctx context.Context, r idempotency.Request, o deliveries.Order) (idempotency.Result, error) {
	return s.Create(ctx, r, func() (deliveries.Order, error) { return o, nil }, render)
}

func render(d *domain.Delivery) domain.Answer {
	body, err := json.Marshal(struct {
		domain.Booking
		domain.Lifecycle
	}{d.Booking, d.Lifecycle()})
	if err != nil {
		panic(err)
	}
	return domain.Answer{Status: 201, Location: "/v1/deliveries/" + string(d.ID), Body: body}
}

// mustCreate sends an order that must be booked and returns the stored delivery.
func (s *scene) mustCreate(t *testing.T, r idempotency.Request, o deliveries.Order) *domain.Delivery {
	t.Helper()
	result, err := s.create(t.Context(), r, o)
	if err != nil {
		t.Fatalf("refused: %v", err)
	}
	d, err := s.Store.Read().Deliveries.Get(t.Context(), r.Tenant, idOf(result))
	if err != nil {
		t.Fatal(err)
	}
	if got := render(d); string(got.Body) != string(result.Answer.Body) {
		t.Errorf("answered\n%s\nstored\n%s", result.Answer.Body, got.Body)
	}
	return d
}

func idOf(r idempotency.Result) domain.ID {
	return domain.ID(strings.TrimPrefix(r.Answer.Location, "/v1/deliveries/"))
}

func (s *scene) all(t *testing.T, tenant domain.Tenant) []*domain.Delivery {
	t.Helper()
	found, err := s.Store.Read().Deliveries.List(context.Background(), tenant, domain.DeliveryFilter{}, domain.PageRequest{Limit: 100})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func (s *scene) recipients(t *testing.T, tenant domain.Tenant) []domain.Recipient {
	t.Helper()
	found, err := s.Store.Read().Recipients.List(context.Background(), tenant, domain.RecipientFilter{}, domain.PageRequest{Limit: 100})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func (s *scene) addresses(t *testing.T, tenant domain.Tenant, of domain.ID) []domain.Address {
	t.Helper()
	found, err := s.Store.Read().Recipients.Addresses(context.Background(), tenant, of)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func (s *scene) events(t *testing.T, tenant domain.Tenant, of domain.ID) []domain.Event {
	t.Helper()
	found, err := s.Store.Read().Deliveries.Events(context.Background(), tenant, of)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func wantCode(t *testing.T, err error, code string) *domain.Error {
	t.Helper()
	var e *domain.Error
	if !errors.As(err, &e) || e.Code != code {
		t.Fatalf("got %v, want %s", err, code)
	}
	return e
}
