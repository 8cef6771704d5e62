package directory_test

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"sync/atomic"
	"testing"

	"waybill/application/directory"
	"waybill/application/idempotency"
	"waybill/domain"
	"waybill/ports"
	"waybill/test/stage"
)

// scene holds the use cases on a real database.
type scene struct {
	*directory.Recipients
	*stage.Stage
	tenant domain.Tenant
}

func newScene(t *testing.T) *scene {
	t.Helper()
	s := &scene{Stage: stage.New(t)}
	s.tenant = s.NewTenant(t)
	s.on(s.Store)
	return s
}

// on makes the use cases anew on another storage.
func (s *scene) on(storage ports.Storage) {
	s.Recipients = directory.NewRecipients(storage, s.Gate(storage), s.Clock, s.IDs, stage.FoldCase{})
}

func (s *scene) create(ctx context.Context, r idempotency.Request, name string, phone domain.PhoneNumber) (idempotency.Result, error) {
	return s.Create(ctx, r, func() (directory.Person, error) {
		return directory.Person{PhoneNumber: phone, Name: name}, nil
	}, func(stored domain.Recipient, created bool) domain.Answer {
		return render(stored, string(stored.ID), created)
	})
}

func (s *scene) addAddress(ctx context.Context, r idempotency.Request, to domain.ID, text string) (idempotency.Result, error) {
	return s.AddAddress(ctx, r, to, func() (directory.Place, error) {
		return directory.Place{Label: "Work", Text: text, Coordinates: domain.Coordinates{Latitude: 5.6, Longitude: -0.2}, Municipality: "Accra",
			DeliveryNotes: "Blue gate"}, nil
	}, func(stored domain.Address, created bool) domain.Answer {
		return render(stored, string(stored.ID), created)
	})
}

func render(stored any, id string, created bool) domain.Answer {
	body, err := json.Marshal(stored)
	if err != nil {
		panic(err)
	}
	a := domain.Answer{Status: 200, Body: body}
	if created {
		a.Status, a.Location = 201, id
	}
	return a
}

// people returns the whole directory with its addresses.
func (s *scene) people(t *testing.T) ([]domain.Recipient, [][]domain.Address) {
	t.Helper()
	found, err := s.List(context.Background(), s.tenant, domain.RecipientFilter{}, domain.PageRequest{Limit: 100})
	if err != nil {
		t.Fatal(err)
	}
	places := make([][]domain.Address, len(found))
	for i, r := range found {
		if places[i], err = s.Addresses(context.Background(), s.tenant, r.ID); err != nil {
			t.Fatal(err)
		}
	}
	return found, places
}

func (s *scene) mustCreate(t *testing.T, name string) domain.ID {
	t.Helper()
	got, err := s.create(t.Context(), stage.Key(s.tenant, "ready-0001", 1), name, "+233201234567")
	if err != nil {
		t.Fatal(err)
	}
	return domain.ID(got.Answer.Location)
}

func TestCreateFindsBeforeItAdds(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ stored, sent, kept string }{
		"with another name":      {"Ama Mensah", "Ama", "Ama Mensah"},
		"without a name":         {"Ama Mensah", "", "Ama Mensah"},
		"filling in a name":      {"", "Ama", "Ama"},
		"none had or sent a one": {"", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScene(t)
			id := s.mustCreate(t, c.stored)
			before, _ := s.people(t)
			got, err := s.create(t.Context(), stage.Key(s.tenant, "person-0002", 2), c.sent, "+233201234567")
			if err != nil || got.Answer.Status != 200 || got.Replayed {
				t.Fatalf("%+v, %v", got, err)
			}
			found, _ := s.people(t)
			if len(found) != 1 || found[0].ID != id || found[0].Name != c.kept {
				t.Fatalf("directory %+v", found)
			}
			if string(render(found[0], "", false).Body) != string(got.Answer.Body) {
				t.Errorf("answered %s, stored %+v", got.Answer.Body, found[0])
			}
			if filled := c.kept != c.stored; filled == found[0].UpdatedAt.Equal(before[0].UpdatedAt) ||
				!found[0].CreatedAt.Equal(before[0].CreatedAt) {
				t.Errorf("from %+v to %+v", before[0], found[0])
			}
		})
	}
}

func TestAnAddressIsAddedOncePerRecipient(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	ama := s.mustCreate(t, "Ama")
	first, err := s.addAddress(t.Context(), stage.Key(s.tenant, "place-0001", 2), ama, "4 Castle Road")
	if err != nil || first.Answer.Status != 201 {
		t.Fatalf("%+v, %v", first, err)
	}
	second, err := s.addAddress(t.Context(), stage.Key(s.tenant, "place-0002", 3), ama, " 4  castle ROAD")
	if err != nil || second.Answer.Status != 200 || string(second.Answer.Body) != string(first.Answer.Body) {
		t.Errorf("%+v, %v", second, err)
	}
	_, places := s.people(t)
	want := domain.Address{
		ID: domain.ID(first.Answer.Location), RecipientID: ama, Label: "Work", Text: "4 Castle Road", MatchKey: "4 castle road",
		Coordinates: domain.Coordinates{Latitude: 5.6, Longitude: -0.2}, Municipality: "Accra", DeliveryNotes: "Blue gate",
	}
	if len(places[0]) != 1 {
		t.Fatalf("addresses %+v", places[0])
	}
	if want.CreatedAt = places[0][0].CreatedAt; places[0][0] != want || want.CreatedAt.IsZero() {
		t.Errorf("address %+v, want %+v", places[0][0], want)
	}
	if got, err := s.Address(t.Context(), s.tenant, want.ID); err != nil || got.ID != want.ID {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestAnotherBusinessSeesAndChangesNothing(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	ama := s.mustCreate(t, "Ama")
	got, err := s.addAddress(t.Context(), stage.Key(s.tenant, "place-0001", 2), ama, "4 Castle Road")
	if err != nil {
		t.Fatal(err)
	}
	live := s.tenant
	live.Environment = domain.Live
	for name, tenant := range map[string]domain.Tenant{"another business": s.NewTenant(t), "live": live} {
		_, read := s.Get(t.Context(), tenant, ama)
		_, list := s.Addresses(t.Context(), tenant, ama)
		_, one := s.Address(t.Context(), tenant, domain.ID(got.Answer.Location))
		_, add := s.addAddress(t.Context(), stage.Key(tenant, "place-0001", 2), ama, "5 Castle Road")
		for verb, err := range map[string]error{"reads": read, "lists addresses": list, "reads the address": one, "adds one": add} {
			if !domain.HasCode(err, "NOT_FOUND") {
				t.Errorf("%s %s: %v", name, verb, err)
			}
		}
		if found, err := s.List(t.Context(), tenant, domain.RecipientFilter{}, domain.PageRequest{Limit: 9}); err != nil || len(found) != 0 {
			t.Errorf("%s lists %d, %v", name, len(found), err)
		}
	}
	if got, err := s.Get(t.Context(), s.tenant, ama); err != nil || got.ID != ama {
		t.Errorf("its owner: %+v, %v", got, err)
	}
	if _, err := s.Addresses(t.Context(), s.tenant, s.IDs.ID(domain.PrefixRecipient)); !domain.HasCode(err, "NOT_FOUND") {
		t.Errorf("an unknown recipient has addresses: %v", err)
	}
}

func TestAnAddressTooManyIsRefusedAndNotRemembered(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	ama := s.mustCreate(t, "Ama")
	for i := range domain.MaxAddressesPerRecipient {
		if _, err := s.addAddress(t.Context(), stage.Key(s.tenant, "place-"+string(s.IDs.ID("")), byte(i)), ama,
			"Street "+string(s.IDs.ID(""))); err != nil {
			t.Fatal(err)
		}
	}
	_, err := s.addAddress(t.Context(), stage.Key(s.tenant, "place-0201", 1), ama, "One Street more")
	var e *domain.Error
	if !errors.As(err, &e) || e.Code != "VALIDATION_ERROR" || e.Fields[0].Field != "address" {
		t.Errorf("got %v", err)
	}
	_, places := s.people(t)
	if got, err := s.addAddress(t.Context(), stage.Key(s.tenant, "place-0201", 2), ama, places[0][7].Text); err != nil ||
		got.Answer.Status != 200 {
		t.Errorf("one that is there: %+v, %v", got, err)
	}
}

func TestAFormIsReadForTheFirstRequestOnly(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	ama := s.mustCreate(t, "Ama")
	if _, err := s.addAddress(t.Context(), stage.Key(s.tenant, "place-0001", 2), ama, "4 Castle Road"); err != nil {
		t.Fatal(err)
	}
	person, err := s.Create(t.Context(), stage.Key(s.tenant, "ready-0001", 1), func() (directory.Person, error) { panic("read") }, nil)
	if err != nil || !person.Replayed {
		t.Errorf("%+v, %v", person, err)
	}
	place, err := s.AddAddress(t.Context(), stage.Key(s.tenant, "place-0001", 2), ama, func() (directory.Place, error) { panic("read") }, nil)
	if err != nil || !place.Replayed {
		t.Errorf("%+v, %v", place, err)
	}
	wrong := domain.Invalid(domain.FieldError{Field: "phone_number"})
	if _, err := s.Create(t.Context(), stage.Key(s.tenant, "person-0002", 1), func() (directory.Person, error) {
		return directory.Person{}, wrong
	}, nil); !errors.Is(err, wrong) {
		t.Errorf("got %v", err)
	}
	if _, err := s.AddAddress(t.Context(), stage.Key(s.tenant, "person-0002", 2), ama, func() (directory.Place, error) {
		return directory.Place{}, wrong
	}, nil); !errors.Is(err, wrong) {
		t.Errorf("got %v: the refused key has to be free", err)
	}
}

func TestConcurrentInvitationsOfOnePersonGetTheSame(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	var all sync.WaitGroup
	var created atomic.Int32
	for i := range 10 {
		all.Go(func() {
			got, err := s.create(t.Context(), stage.Key(s.tenant, "person-000"+string(rune('0'+i)), 1), "Ama", "+233201234567")
			if err != nil {
				t.Error(err)
			}
			if got.Answer.Status == 201 {
				created.Add(1)
			}
		})
	}
	all.Wait()
	if found, _ := s.people(t); len(found) != 1 || created.Load() != 1 {
		t.Errorf("%d recipients, %d told that they created one", len(found), created.Load())
	}
}
