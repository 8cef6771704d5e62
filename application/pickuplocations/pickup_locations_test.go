package pickuplocations_test

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/golang/mock/gomock"

	"waybill/adapters/storage/gormstore"
	"waybill/application/idempotency"
	"waybill/application/pickuplocations"
	"waybill/domain"
	"waybill/ports"
	"waybill/ports/mocks"
)

type openLocks struct{}

func (openLocks) TryLock(context.Context, string) (func(), bool) { return func() {}, true }

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
func (c *counted) Reference() domain.Reference      { panic("not for pickup locations") }
func (c *counted) APIKey(domain.Environment) string { panic("not for pickup locations") }

// scene is the use cases on a real database.
type scene struct {
	*pickuplocations.PickupLocations
	store  *gormstore.Store
	clock  *clock
	ids    *counted
	tenant domain.Tenant
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
	s := &scene{store: store, clock: &clock{}, ids: &counted{}}
	s.tenant = s.newTenant(t)
	s.on(store)
	return s
}

// on makes the use cases anew on another storage.
func (s *scene) on(storage ports.Storage) {
	gate := idempotency.NewGate(storage, openLocks{}, s.clock, s.ids, slog.New(slog.DiscardHandler), idempotency.Retention(24*time.Hour))
	s.PickupLocations = pickuplocations.New(storage, gate, s.clock, s.ids)
}

func (s *scene) newTenant(t *testing.T) domain.Tenant {
	t.Helper()
	tenant := domain.Tenant{
		BusinessID: s.ids.ID(domain.PrefixBusiness), ApplicationID: s.ids.ID(domain.PrefixApplication), Environment: domain.Sandbox,
	}
	err := s.store.InTx(t.Context(), func(ctx context.Context, tx ports.Stores) error {
		return errors.Join(
			tx.Tenancy.InsertBusiness(ctx, domain.Business{ID: tenant.BusinessID, Name: "Shop", CreatedAt: s.clock.Now()}),
			tx.Tenancy.InsertApplication(ctx, domain.Application{ID: tenant.ApplicationID, BusinessID: tenant.BusinessID, Name: "App", CreatedAt: s.clock.Now()}),
		)
	})
	if err != nil {
		t.Fatal(err)
	}
	return tenant
}

var osu = pickuplocations.Form{
	Name: "Osu", Contact: "+233302000001", Address: "12 Oxford Street",
	Coordinates: &domain.Coordinates{Latitude: 5.5, Longitude: -0.1}, Active: true,
}

func key(t domain.Tenant, k string, fingerprint byte) idempotency.Request {
	return idempotency.Request{Tenant: t, Key: k, Fingerprint: [32]byte{fingerprint}}
}

func render(p domain.PickupLocation) domain.Answer {
	body, err := json.Marshal(p)
	if err != nil {
		panic(err)
	}
	return domain.Answer{Status: 200, Location: string(p.ID), Body: body}
}

func (s *scene) create(ctx context.Context, r idempotency.Request, f pickuplocations.Form) (idempotency.Result, error) {
	return s.Create(ctx, r, func() (pickuplocations.Form, error) { return f, nil }, render)
}

func (s *scene) change(ctx context.Context, r idempotency.Request, id domain.ID, c domain.PickupLocationChange) (idempotency.Result, error) {
	return s.Change(ctx, r, id, func() (domain.PickupLocationChange, error) { return c, nil }, render)
}

func (s *scene) mustCreate(t *testing.T, f pickuplocations.Form) domain.ID {
	t.Helper()
	got, err := s.create(t.Context(), key(s.tenant, "ready-"+string(s.ids.ID("")), 1), f)
	if err != nil {
		t.Fatal(err)
	}
	return domain.ID(got.Answer.Location)
}

func (s *scene) stored(t *testing.T, id domain.ID) domain.PickupLocation {
	t.Helper()
	p, err := s.Get(context.Background(), s.tenant, id)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func (s *scene) all(t *testing.T) []domain.PickupLocation {
	t.Helper()
	found, err := s.List(context.Background(), s.tenant, domain.PickupLocationFilter{}, domain.PageRequest{Limit: 100})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func sameAnswer(a, b idempotency.Result) bool {
	return a.Answer.Status == b.Answer.Status && a.Answer.Location == b.Answer.Location && string(a.Answer.Body) == string(b.Answer.Body)
}

func TestACreatedLocationIsWhatWasSent(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	got, err := s.create(t.Context(), key(s.tenant, "place-0001", 1), osu)
	if err != nil {
		t.Fatal(err)
	}
	p := s.stored(t, domain.ID(got.Answer.Location))
	if p.Name != "Osu" || p.Contact != "+233302000001" || p.Address != "12 Oxford Street" || *p.Coordinates != *osu.Coordinates ||
		!p.Active || !p.CreatedAt.Equal(p.UpdatedAt) || string(render(p).Body) != string(got.Answer.Body) {
		t.Errorf("stored %+v, answered %s", p, got.Answer.Body)
	}
	again, err := s.create(t.Context(), key(s.tenant, "place-0001", 1), osu)
	if err != nil || !again.Replayed || !sameAnswer(got, again) || len(s.all(t)) != 1 {
		t.Errorf("%+v, %v", again, err)
	}
}

func TestAChangeIsStoredAndAnswered(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	id := s.mustCreate(t, osu)
	before := s.stored(t, id)
	got, err := s.change(t.Context(), idempotency.Request{Tenant: s.tenant}, id, domain.PickupLocationChange{Name: new("Ridge"), Active: new(false)})
	after := s.stored(t, id)
	if err != nil || after.Name != "Ridge" || after.Active || after.Address != before.Address || !after.UpdatedAt.After(before.UpdatedAt) ||
		!after.CreatedAt.Equal(before.CreatedAt) || string(render(after).Body) != string(got.Answer.Body) {
		t.Errorf("stored %+v, answered %s, %v", after, got.Answer.Body, err)
	}
}

func TestAChangeThatChangesNothingLeavesTheTimeAlone(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	id := s.mustCreate(t, osu)
	before := s.stored(t, id)
	got, err := s.change(t.Context(), idempotency.Request{Tenant: s.tenant}, id, domain.PickupLocationChange{Name: new("Osu"), Active: new(true)})
	if after := s.stored(t, id); err != nil || !after.UpdatedAt.Equal(before.UpdatedAt) || string(render(before).Body) != string(got.Answer.Body) {
		t.Errorf("%+v, answered %s, %v", after, got.Answer.Body, err)
	}
}

func TestAChangeThatChangesNothingWritesNothing(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	ctrl := gomock.NewController(t)
	storage, store := mocks.NewMockStorage(ctrl), mocks.NewMockPickupLocationStore(ctrl)
	s.on(storage)
	storage.EXPECT().InTx(gomock.Any(), gomock.Any()).DoAndReturn(func(ctx context.Context, fn func(context.Context, ports.Stores) error) error {
		return fn(ctx, ports.Stores{PickupLocations: store})
	})
	store.EXPECT().Lock(gomock.Any(), s.tenant, domain.ID("pkp_1")).Return(domain.PickupLocation{ID: "pkp_1", Name: "Osu"}, nil) // and no Update
	if _, err := s.change(t.Context(), idempotency.Request{Tenant: s.tenant}, "pkp_1", domain.PickupLocationChange{Name: new("Osu")}); err != nil {
		t.Error(err)
	}
}

func TestHalfAPositionIsRefusedAndNotRemembered(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	id := s.mustCreate(t, pickuplocations.Form{Name: "Unfinished", Address: "Spintex Road", Active: true})
	ask := key(s.tenant, "change-0001", 1)
	if _, err := s.change(t.Context(), ask, id, domain.PickupLocationChange{Latitude: new(5.6)}); !domain.HasCode(err, "VALIDATION_ERROR") {
		t.Fatalf("got %v", err)
	}
	ask.Fingerprint = [32]byte{2}
	got, err := s.change(t.Context(), ask, id, domain.PickupLocationChange{
		Latitude: new(5.6), Longitude: new(-0.2), Contact: new(domain.PhoneNumber("+233302000003")),
	})
	if p := s.stored(t, id); err != nil || got.Replayed || !p.Complete() {
		t.Errorf("%+v, %v", p, err)
	}
}

func TestAnotherBusinessSeesAndChangesNothing(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	id := s.mustCreate(t, osu)
	before, live := s.stored(t, id), s.tenant
	live.Environment = domain.Live
	for name, tenant := range map[string]domain.Tenant{"another business": s.newTenant(t), "live": live} {
		if _, err := s.Get(t.Context(), tenant, id); !domain.HasCode(err, "NOT_FOUND") {
			t.Errorf("%s reads it: %v", name, err)
		}
		if _, err := s.change(t.Context(), key(tenant, "change-0001", 1), id, domain.PickupLocationChange{Name: new("Mine")}); !domain.HasCode(err, "NOT_FOUND") {
			t.Errorf("%s changes it: %v", name, err)
		}
		if found, err := s.List(t.Context(), tenant, domain.PickupLocationFilter{}, domain.PageRequest{Limit: 9}); err != nil || len(found) != 0 {
			t.Errorf("%s lists %d, %v", name, len(found), err)
		}
	}
	if after := s.stored(t, id); after.Name != before.Name || !after.UpdatedAt.Equal(before.UpdatedAt) {
		t.Errorf("%+v", after)
	}
}

func TestAFormThatIsRefusedStoresNothing(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	id := s.mustCreate(t, osu)
	wrong := domain.Invalid(domain.FieldError{Field: "name"})
	_, create := s.Create(t.Context(), key(s.tenant, "place-0001", 1), func() (pickuplocations.Form, error) { return osu, wrong }, render)
	_, change := s.Change(t.Context(), key(s.tenant, "place-0001", 1), id, func() (domain.PickupLocationChange, error) {
		return domain.PickupLocationChange{Name: new("Ridge")}, wrong
	}, render)
	if !errors.Is(create, wrong) || !errors.Is(change, wrong) || len(s.all(t)) != 1 || s.stored(t, id).Name != "Osu" {
		t.Errorf("%v, %v, %+v", create, change, s.all(t))
	}
}

func TestAnOperatorMayAddAnIncompleteLocation(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	got, err := s.Add(t.Context(), s.tenant, pickuplocations.Form{Name: "Tema", Address: "Harbour Road", Active: true})
	if err != nil {
		t.Fatal(err)
	}
	if p := s.stored(t, got.ID); p.Complete() || p.Name != "Tema" || !p.Active {
		t.Errorf("stored %+v", p)
	}
	nobody := domain.Tenant{BusinessID: s.ids.ID(domain.PrefixBusiness), Environment: domain.Live}
	if _, err := s.Add(t.Context(), nobody, osu); !domain.HasCode(err, "NOT_FOUND") {
		t.Errorf("a business that does not exist: %v", err)
	}
}
