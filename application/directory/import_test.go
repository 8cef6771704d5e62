package directory_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"waybill/application/directory"
	"waybill/domain"
	"waybill/ports"
)

var by = domain.AuditActor{Name: "command:ama"}

func (s *pickuplocationsScene) load(t *testing.T, dryRun bool, rows ...domain.PickupLocationRow) directory.Imported {
	t.Helper()
	told := 0
	done, err := s.Import(t.Context(), by, s.tenant, rows, dryRun, func() { told++ })
	if err != nil || told != len(rows) {
		t.Fatalf("%d of %d rows told, %v", told, len(rows), err)
	}
	return done
}

func (s *pickuplocationsScene) kept(t *testing.T) []domain.AuditEntry {
	t.Helper()
	entries, err := s.Store.Read().Audit.List(t.Context(), domain.AuditFilter{}, domain.PageRequest{Limit: 10})
	if err != nil {
		t.Fatal(err)
	}
	return entries
}

func TestTheSameTableAgainChangesNothing(t *testing.T) {
	t.Parallel()
	s := pickuplocationsNewScene(t)
	rows := []domain.PickupLocationRow{
		{Line: 2, Name: "Osu", Address: "1 Street", Contact: "+1", Coordinates: &domain.Coordinates{Latitude: 5.5, Longitude: -0.1}},
		{Line: 3, Name: "Tema", Address: "2 Road", Active: new(false)},
	}
	if done := s.load(t, true, rows...); done.Created != 2 || len(done.Incomplete) != 1 || len(s.all(t)) != 0 || len(s.kept(t)) != 0 {
		t.Errorf("a dry run: %+v", done)
	}
	if done := s.load(t, false, rows...); done.Created != 2 || done.Incomplete[0].Line != 3 || done.Incomplete[0].Location.Name != "Tema" {
		t.Errorf("the first time: %+v", done)
	}
	before := s.all(t)
	s.Clock.GoOn(time.Hour)
	if done := s.load(t, false, rows...); done.Unchanged != 2 || done.Created+done.Updated != 0 || len(done.Incomplete) != 1 {
		t.Errorf("the second time: %+v", done)
	}
	if !cmp.Equal(before, s.all(t)) || len(s.kept(t)) != 1 {
		t.Errorf("%v became %v", before, s.all(t))
	}
	// A row changes its filled fields, and keeps the others.
	completed := []domain.PickupLocationRow{
		{Line: 2, Name: "Tema", Address: "2 Road", Contact: "+2"},
		{Line: 3, Name: "Osu", Address: "1 Street", Coordinates: &domain.Coordinates{Latitude: 6.5, Longitude: -0.1}},
	}
	if done := s.load(t, false, completed...); done.Updated != 2 || len(done.Incomplete) != 1 {
		t.Errorf("completed: %+v", done)
	}
	for _, l := range s.all(t) {
		if l.Name == "Tema" && (l.Contact != "+2" || l.Active) || l.Name == "Osu" && (l.Contact != "+1" || l.Coordinates.Latitude != 6.5) {
			t.Errorf("%+v", l)
		}
	}
	entry := s.kept(t)[0]
	if entry.Action != domain.ActionPickupImport || entry.Target != s.tenant.BusinessID || entry.Actor != by ||
		entry.Details["updated"] != "2" {
		t.Errorf("%+v", entry)
	}
}

func TestTablesThatAreImportedAtOnceDoubleNothing(t *testing.T) {
	t.Parallel()
	s := pickuplocationsNewScene(t)
	rows := []domain.PickupLocationRow{{Line: 2, Name: "Osu", Address: "1 Street"}, {Line: 3, Name: "Tema", Address: "2 Road"}}
	processes := []*directory.PickupLocations{s.PickupLocations, directory.NewPickupLocations(s.Store, s.Gate(s.Store), s.Clock, s.IDs)}
	var all sync.WaitGroup
	for i := range 4 {
		all.Go(func() {
			if _, err := processes[i%2].Import(t.Context(), by, s.tenant, rows, false, nil); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if found := s.all(t); len(found) != 2 {
		t.Errorf("%d locations", len(found))
	}
}

// written records what is written of pickup locations, even where the transaction fails.
type written struct {
	ports.Storage
	rows, begun int
}

type writtenLocations struct {
	ports.PickupLocationStore
	to *written
}

func (w writtenLocations) InsertAll(ctx context.Context, t domain.Tenant, all []domain.PickupLocation) error {
	w.to.rows += len(all)
	return w.PickupLocationStore.InsertAll(ctx, t, all)
}

func (w writtenLocations) UpdateAll(ctx context.Context, t domain.Tenant, all []domain.PickupLocation) error {
	w.to.rows += len(all)
	return w.PickupLocationStore.UpdateAll(ctx, t, all)
}

func (w *written) InTx(ctx context.Context, do func(context.Context, ports.Stores) error) error {
	w.begun++
	return w.Storage.InTx(ctx, func(ctx context.Context, tx ports.Stores) error {
		tx.PickupLocations = writtenLocations{tx.PickupLocations, w}
		return do(ctx, tx)
	})
}

func TestAnImportOtherThanItsPreviewHoldsUpNoWriters(t *testing.T) {
	t.Parallel()
	s := pickuplocationsNewScene(t)
	s.load(t, false, domain.PickupLocationRow{Line: 2, Name: "Osu", Address: "1 Street"})
	w := &written{Storage: s.Store}
	s.on(w)
	rows := []domain.PickupLocationRow{{Line: 2, Name: "Osu", Address: "1 Street", Contact: "+2"}, {Line: 3, Name: "Tema", Address: "2 Road"}}
	done, err := s.ImportPreviewed(t.Context(), by, s.tenant, rows, []string{"0"})
	if !errors.Is(err, directory.ErrPreviewOutdated) || len(done.Fates) != len(rows) || w.rows != 0 || w.begun != 0 {
		t.Fatalf("%v, %+v; %d rows written in %d transactions", err, done.Fates, w.rows, w.begun)
	}
	if _, err := s.ImportPreviewed(t.Context(), by, s.tenant, rows, []string{done.Fates[0].Mark, done.Fates[1].Mark}); err != nil || w.rows != 2 {
		t.Errorf("as previewed: %v; %d rows written", err, w.rows)
	}
}

func TestAnImportForAnUnknownBusinessIsNotFound(t *testing.T) {
	t.Parallel()
	s := pickuplocationsNewScene(t)
	nobody := domain.Tenant{BusinessID: s.IDs.ID(domain.PrefixBusiness), Environment: domain.Live}
	for _, dryRun := range []bool{true, false} {
		rows := []domain.PickupLocationRow{{Line: 2, Name: "Osu", Address: "1 Street"}}
		if _, err := s.Import(t.Context(), by, nobody, rows, dryRun, nil); !errors.Is(err, domain.ErrNotFound) {
			t.Error(err)
		}
	}
}

func TestWhatOperatorsDoWithALocationIsKept(t *testing.T) {
	t.Parallel()
	s := pickuplocationsNewScene(t)
	made, err := s.Add(t.Context(), by, s.tenant, directory.PickupLocationForm{Name: "Osu", Address: "1 Street", Active: true})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second run changes nothing
		if _, err := s.Amend(t.Context(), by, s.tenant, made.ID, domain.PickupLocationChange{Name: new("Tema")}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.Amend(t.Context(), by, s.tenant, made.ID, domain.PickupLocationChange{Latitude: new(1.0)}); err == nil {
		t.Error("half a position was taken")
	}
	var got []domain.Action
	for _, e := range s.kept(t) {
		got = append(got, e.Action)
	}
	if want := "[pickup_location.update pickup_location.create]"; fmt.Sprint(got) != want {
		t.Errorf("kept %v, want %s", got, want)
	}
}
