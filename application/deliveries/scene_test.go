package deliveries_test

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"waybill/adapters/storage/gormstore"
	"waybill/application/deliveries"
	"waybill/application/idempotency"
	"waybill/application/quotes"
	"waybill/domain"
	"waybill/ports"
)

var (
	accra = domain.Coordinates{Latitude: 5.6, Longitude: -0.18}
	tema  = domain.Coordinates{Latitude: 5.67, Longitude: -0.01}
	depot = domain.Pickup{Name: "Depot", Contact: "+233302000001", Address: "Ring Road", Coordinates: accra}
)

// pricing, area, locks and clock are the simplest things that keep the
// promises of their ports.
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

type openLocks struct{}

func (openLocks) TryLock(context.Context, string) (func(), bool) { return func() {}, true }

type foldCase struct{}

func (foldCase) PhoneNumber(string) (domain.PhoneNumber, bool) { panic("not for use cases") }
func (foldCase) MatchKey(address string) string {
	return strings.ToLower(strings.Join(strings.Fields(address), " "))
}

// clock goes on by a millisecond with every look.
type clock struct{ ticks atomic.Int64 }

func (c *clock) Now() time.Time {
	return time.Date(2026, 3, 14, 12, 0, 0, 0, time.UTC).Add(time.Duration(c.ticks.Add(1)) * time.Millisecond)
}

// counted identifiers are unique and in order.
type counted struct{ n atomic.Uint64 }

func (c *counted) ID(p domain.Prefix) domain.ID {
	var bytes [16]byte
	binary.BigEndian.PutUint64(bytes[8:], c.n.Add(1))
	return domain.MakeID(p, bytes)
}
func (c *counted) Reference() domain.Reference        { return domain.MakeReference(c.n.Add(1)) }
func (c *counted) APIKey(e domain.Environment) string { return domain.MakeAPIKey(e, [32]byte{}) }

// scene is the use cases on a real database, with every neighbour replaceable.
type scene struct {
	*deliveries.Deliveries
	store    *gormstore.Store
	storage  ports.Storage
	bookings ports.Bookings
	clock    *clock
	ids      *counted
	price    pricing
	serves   area
	tenant   domain.Tenant
}

// migrated is an empty database. Making it once spares every test the migrations.
var migrated = sync.OnceValues(func() ([]byte, error) {
	dir, err := os.MkdirTemp("", "waybill")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "waybill.db")
	if err := gormstore.Migrate(context.Background(), "sqlite://"+path); err != nil {
		return nil, err
	}
	return os.ReadFile(path)
})

func openStore(t *testing.T) *gormstore.Store {
	t.Helper()
	empty, err := migrated()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "waybill.db")
	if err := os.WriteFile(path, empty, 0o600); err != nil {
		t.Fatal(err)
	}
	store, err := gormstore.Open(t.Context(), "sqlite://"+path, gormstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	return store
}

func newScene(t *testing.T) *scene {
	t.Helper()
	store := openStore(t)
	s := &scene{
		store: store, storage: store, bookings: store, clock: &clock{}, ids: &counted{},
		price: newPrice, serves: everywhere,
	}
	s.tenant = s.newTenant(t, domain.Sandbox)
	s.build()
	return s
}

// build makes the use cases anew after a neighbour was replaced.
func (s *scene) build() { s.buildWith(s.ids) }

func (s *scene) buildWith(ids ports.Identifiers) {
	gate := idempotency.NewGate(s.storage, openLocks{}, s.clock, ids, slog.New(slog.DiscardHandler), idempotency.Retention(24*time.Hour))
	s.Deliveries = deliveries.New(s.storage, s.bookings, gate, quotes.New(s.storage, s.price, s.serves), s.clock, ids, foldCase{})
}

// newTenant is an application of a business of its own.
func (s *scene) newTenant(t *testing.T, e domain.Environment) domain.Tenant {
	t.Helper()
	business := domain.Business{ID: s.ids.ID(domain.PrefixBusiness), Name: "Shop", CreatedAt: s.clock.Now()}
	s.write(t, func(ctx context.Context, tx ports.Stores) error {
		return tx.Tenancy.InsertBusiness(ctx, business)
	})
	return s.newApplication(t, domain.Tenant{BusinessID: business.ID, Environment: e})
}

// newApplication is another application of the same business.
func (s *scene) newApplication(t *testing.T, of domain.Tenant) domain.Tenant {
	t.Helper()
	of.ApplicationID = s.ids.ID(domain.PrefixApplication)
	s.write(t, func(ctx context.Context, tx ports.Stores) error {
		return tx.Tenancy.InsertApplication(ctx, domain.Application{
			ID: of.ApplicationID, BusinessID: of.BusinessID, Name: "App", CreatedAt: s.clock.Now(),
		})
	})
	return of
}

func (s *scene) newRecipient(t *testing.T, tenant domain.Tenant, name string, phone domain.PhoneNumber) domain.Recipient {
	t.Helper()
	now := s.clock.Now()
	r := domain.Recipient{ID: s.ids.ID(domain.PrefixRecipient), PhoneNumber: phone, Name: name, CreatedAt: now, UpdatedAt: now}
	s.write(t, func(ctx context.Context, tx ports.Stores) error {
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
		ID: s.ids.ID(domain.PrefixAddress), RecipientID: of.ID, Label: "Home", Text: text, MatchKey: foldCase{}.MatchKey(text),
		Coordinates: tema, Municipality: "Tema", DeliveryNotes: "Ring twice", CreatedAt: s.clock.Now(),
	}
	s.write(t, func(ctx context.Context, tx ports.Stores) error {
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
	now, at := s.clock.Now(), accra
	p := domain.PickupLocation{
		ID: s.ids.ID(domain.PrefixPickupLocation), Name: "Osu", Contact: "+233302000002", Address: "12 Oxford Street",
		Coordinates: &at, Active: true, CreatedAt: now, UpdatedAt: now,
	}
	if change != nil {
		change(&p)
	}
	s.write(t, func(ctx context.Context, tx ports.Stores) error { return tx.PickupLocations.Insert(ctx, tenant, p) })
	return p
}

func (s *scene) write(t *testing.T, fn func(context.Context, ports.Stores) error) {
	t.Helper()
	if err := s.store.InTx(context.Background(), fn); err != nil {
		t.Fatal(err)
	}
}

// order is a good order to an inline recipient.
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

func key(t domain.Tenant, k string, fingerprint byte) idempotency.Request {
	return idempotency.Request{Tenant: t, Key: k, Fingerprint: [32]byte{fingerprint}}
}

// create sends an order; the answer's body is the whole delivery as JSON.
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

// mustCreate sends an order that has to be booked and returns what is stored.
func (s *scene) mustCreate(t *testing.T, r idempotency.Request, o deliveries.Order) *domain.Delivery {
	t.Helper()
	result, err := s.create(t.Context(), r, o)
	if err != nil {
		t.Fatalf("refused: %v", err)
	}
	d, err := s.store.Read().Deliveries.Get(t.Context(), r.Tenant, idOf(result))
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
	found, err := s.store.Read().Deliveries.List(context.Background(), tenant, domain.DeliveryFilter{}, domain.PageRequest{Limit: 100})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func (s *scene) recipients(t *testing.T, tenant domain.Tenant) []domain.Recipient {
	t.Helper()
	found, err := s.store.Read().Recipients.List(context.Background(), tenant, domain.RecipientFilter{}, domain.PageRequest{Limit: 100})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func (s *scene) addresses(t *testing.T, tenant domain.Tenant, of domain.ID) []domain.Address {
	t.Helper()
	found, err := s.store.Read().Recipients.Addresses(context.Background(), tenant, of)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func (s *scene) events(t *testing.T, tenant domain.Tenant, of domain.ID) []domain.Event {
	t.Helper()
	found, err := s.store.Read().Deliveries.Events(context.Background(), tenant, of)
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
