package directory_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/golang/mock/gomock"

	"waybill/application/directory"
	"waybill/application/idempotency"
	"waybill/domain"
	"waybill/ports"
	"waybill/ports/mocks"
	"waybill/test/stage"
)

// scene holds the use cases on a real database.
type pickuplocationsScene struct {
	*directory.PickupLocations
	*stage.Stage
	tenant domain.Tenant
}

func pickuplocationsNewScene(t *testing.T) *pickuplocationsScene {
	t.Helper()
	s := &pickuplocationsScene{Stage: stage.New(t)}
	s.tenant = s.NewTenant(t)
	s.on(s.Store)
	return s
}

// on makes the use cases anew on another storage.
func (s *pickuplocationsScene) on(storage ports.Storage) {
	s.PickupLocations = directory.NewPickupLocations(storage, s.Gate(storage), s.Clock, s.IDs)
}

var osu = directory.PickupLocationForm{
	Name: "Osu", Contact: "+233302000001", Address: "12 Oxford Street",
	Coordinates: &domain.Coordinates{Latitude: 5.5, Longitude: -0.1}, Active: true,
}

func pickuplocationsRender(p domain.PickupLocation) domain.Answer {
	body, err := json.Marshal(p)
	if err != nil {
		panic(err)
	}
	return domain.Answer{Status: 200, Location: string(p.ID), Body: body}
}

func (s *pickuplocationsScene) create(ctx context.Context, r idempotency.Request, f directory.PickupLocationForm) (idempotency.Result, error) {
	return s.Create(ctx, r, func() (directory.PickupLocationForm, error) { return f, nil }, pickuplocationsRender)
}

func (s *pickuplocationsScene) change(ctx context.Context, r idempotency.Request, id domain.ID, c domain.PickupLocationChange) (idempotency.Result,
	error) {
	return s.Change(ctx, r, id, func() (domain.PickupLocationChange, error) { return c, nil }, pickuplocationsRender)
}

func (s *pickuplocationsScene) mustCreate(t *testing.T, f directory.PickupLocationForm) domain.ID {
	t.Helper()
	got, err := s.create(t.Context(), stage.Key(s.tenant, "ready-"+string(s.IDs.ID("")), 1), f)
	if err != nil {
		t.Fatal(err)
	}
	return domain.ID(got.Answer.Location)
}

func (s *pickuplocationsScene) stored(t *testing.T, id domain.ID) domain.PickupLocation {
	t.Helper()
	p, err := s.Get(context.Background(), s.tenant, id)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func (s *pickuplocationsScene) all(t *testing.T) []domain.PickupLocation {
	t.Helper()
	found, err := s.List(context.Background(), s.tenant, domain.PickupLocationFilter{}, domain.PageRequest{Limit: 100})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestACreatedLocationIsWhatWasSent(t *testing.T) {
	t.Parallel()
	s := pickuplocationsNewScene(t)
	got, err := s.create(t.Context(), stage.Key(s.tenant, "place-0001", 1), osu)
	if err != nil {
		t.Fatal(err)
	}
	p := s.stored(t, domain.ID(got.Answer.Location))
	if p.Name != "Osu" || p.Contact != "+233302000001" || p.Address != "12 Oxford Street" || *p.Coordinates != *osu.Coordinates ||
		!p.Active || !p.CreatedAt.Equal(p.UpdatedAt) || string(pickuplocationsRender(p).Body) != string(got.Answer.Body) {
		t.Errorf("stored %+v, answered %s", p, got.Answer.Body)
	}
	again, err := s.create(t.Context(), stage.Key(s.tenant, "place-0001", 1), osu)
	if err != nil || !again.Replayed || !stage.SameAnswer(got, again) || len(s.all(t)) != 1 {
		t.Errorf("%+v, %v", again, err)
	}
}

func TestAChangeIsStoredAndAnswered(t *testing.T) {
	t.Parallel()
	s := pickuplocationsNewScene(t)
	id := s.mustCreate(t, osu)
	before := s.stored(t, id)
	got, err := s.change(t.Context(), idempotency.Request{Tenant: s.tenant}, id, domain.PickupLocationChange{Name: new("Ridge"),
		Active: new(false)})
	after := s.stored(t, id)
	if err != nil || after.Name != "Ridge" || after.Active || after.Address != before.Address || !after.UpdatedAt.After(before.UpdatedAt) ||
		!after.CreatedAt.Equal(before.CreatedAt) || string(pickuplocationsRender(after).Body) != string(got.Answer.Body) {
		t.Errorf("stored %+v, answered %s, %v", after, got.Answer.Body, err)
	}
}

func TestAChangeThatChangesNothingLeavesTheTimeAlone(t *testing.T) {
	t.Parallel()
	s := pickuplocationsNewScene(t)
	id := s.mustCreate(t, osu)
	before := s.stored(t, id)
	got, err := s.change(t.Context(), idempotency.Request{Tenant: s.tenant}, id, domain.PickupLocationChange{Name: new("Osu"),
		Active: new(true)})
	if after := s.stored(t, id); err != nil || !after.UpdatedAt.Equal(before.UpdatedAt) ||
		string(pickuplocationsRender(before).Body) != string(got.Answer.Body) {
		t.Errorf("%+v, answered %s, %v", after, got.Answer.Body, err)
	}
}

func TestABusinessHasAThousandPickupLocationsInAnEnvironmentAndOperatorsAddMore(t *testing.T) {
	t.Parallel()
	s := pickuplocationsNewScene(t)
	rows := make([]domain.PickupLocationRow, domain.MaxPickupLocations+1)
	for i := range rows {
		rows[i] = domain.PickupLocationRow{Line: i + 2, Name: fmt.Sprint("Shop ", i), Address: "1 Ring Road"}
	}
	owner := domain.AuditActor{Name: "Ama", BusinessID: s.tenant.BusinessID}
	load := func(by domain.AuditActor, dryRun bool, rows []domain.PickupLocationRow) error {
		_, err := s.Import(t.Context(), by, s.tenant, rows, dryRun, nil)
		return err
	}
	if err := load(owner, false, rows[:domain.MaxPickupLocations]); err != nil {
		t.Fatal(err)
	}
	_, byAPI := s.create(t.Context(), stage.Key(s.tenant, "one-more-1", 1), osu)
	_, byForm := s.Add(t.Context(), owner, s.tenant, osu)
	for way, err := range map[string]error{"API": byAPI, "form": byForm, "preview": load(owner, true, rows), "import": load(owner, false, rows)} {
		if !domain.HasCode(err, "PICKUP_LOCATION_LIMIT") {
			t.Errorf("%s: %v", way, err)
		}
	}
	if err := cmp.Or(load(owner, false, rows[:1]), load(by, false, rows)); err != nil {
		t.Errorf("one that is there, and by an operator: %v", err)
	}
	if _, err := s.Add(t.Context(), owner, domain.Tenant{BusinessID: s.tenant.BusinessID, Environment: domain.Live}, osu); err != nil {
		t.Errorf("in the other environment: %v", err)
	}
}

func TestAChangeThatChangesNothingWritesNothing(t *testing.T) {
	t.Parallel()
	s := pickuplocationsNewScene(t)
	ctrl := gomock.NewController(t)
	storage, store := mocks.NewMockStorage(ctrl), mocks.NewMockPickupLocationStore(ctrl)
	s.on(storage)
	storage.EXPECT().InTx(gomock.Any(), gomock.Any()).DoAndReturn(
		func(ctx context.Context, fn func(context.Context, ports.Stores) error) error {
			return fn(ctx, ports.Stores{PickupLocations: store})
		})
	// and no Update
	store.EXPECT().Lock(gomock.Any(), s.tenant, domain.ID("pkp_1")).Return(domain.PickupLocation{ID: "pkp_1", Name: "Osu"}, nil)
	if _, err := s.change(t.Context(), idempotency.Request{Tenant: s.tenant}, "pkp_1",
		domain.PickupLocationChange{Name: new("Osu")}); err != nil {
		t.Error(err)
	}
}

func TestHalfAPositionIsRefusedAndNotRemembered(t *testing.T) {
	t.Parallel()
	s := pickuplocationsNewScene(t)
	id := s.mustCreate(t, directory.PickupLocationForm{Name: "Unfinished", Address: "Spintex Road", Active: true})
	ask := stage.Key(s.tenant, "change-0001", 1)
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

func TestAnotherBusinessSeesAndChangesNoPickupLocation(t *testing.T) {
	t.Parallel()
	s := pickuplocationsNewScene(t)
	id := s.mustCreate(t, osu)
	before, live := s.stored(t, id), s.tenant
	live.Environment = domain.Live
	for name, tenant := range map[string]domain.Tenant{"another business": s.NewTenant(t), "live": live} {
		if _, err := s.Get(t.Context(), tenant, id); !domain.HasCode(err, "NOT_FOUND") {
			t.Errorf("%s reads it: %v", name, err)
		}
		if _, err := s.change(t.Context(), stage.Key(tenant, "change-0001", 1), id,
			domain.PickupLocationChange{Name: new("Mine")}); !domain.HasCode(err, "NOT_FOUND") {
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
	s := pickuplocationsNewScene(t)
	id := s.mustCreate(t, osu)
	wrong := domain.Invalid(domain.FieldError{Field: "name"})
	_, create := s.Create(t.Context(), stage.Key(s.tenant, "place-0001", 1), func() (directory.PickupLocationForm, error) {
		return osu, wrong
	}, pickuplocationsRender)
	_, change := s.Change(t.Context(), stage.Key(s.tenant, "place-0001", 1), id, func() (domain.PickupLocationChange, error) {
		return domain.PickupLocationChange{Name: new("Ridge")}, wrong
	}, pickuplocationsRender)
	if !errors.Is(create, wrong) || !errors.Is(change, wrong) || len(s.all(t)) != 1 || s.stored(t, id).Name != "Osu" {
		t.Errorf("%v, %v, %+v", create, change, s.all(t))
	}
}

func TestAnOperatorMayAddAnIncompleteLocation(t *testing.T) {
	t.Parallel()
	s := pickuplocationsNewScene(t)
	got, err := s.Add(t.Context(), domain.AuditActor{Name: "test"}, s.tenant, directory.PickupLocationForm{Name: "Tema", Address: "Harbour Road",
		Active: true})
	if err != nil {
		t.Fatal(err)
	}
	if p := s.stored(t, got.ID); p.Complete() || p.Name != "Tema" || !p.Active {
		t.Errorf("stored %+v", p)
	}
	nobody := domain.Tenant{BusinessID: s.IDs.ID(domain.PrefixBusiness), Environment: domain.Live}
	if _, err := s.Add(t.Context(), domain.AuditActor{Name: "test"}, nobody, osu); !domain.HasCode(err, "NOT_FOUND") {
		t.Errorf("a business that does not exist: %v", err)
	}
}
