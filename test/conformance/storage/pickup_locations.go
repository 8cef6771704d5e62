package storage

import (
	"context"
	"slices"
	"testing"
	"time"

	"waybill/domain"
	"waybill/ports"
	"waybill/test/sample"
)

func testPickupLocations(t *testing.T, b ports.Database) {
	read := func() ports.PickupLocationReader { return b.Read().PickupLocations }
	list := func(t testing.TB, tenant domain.Tenant, f domain.PickupLocationFilter) []string {
		t.Helper()
		var names []string
		for _, p := range must(read().List(t.Context(), tenant, f, domain.PageRequest{Limit: 50}))(t) {
			names = append(names, p.Name)
		}
		return names
	}

	t.Run("every field comes back", func(t *testing.T) {
		tenant := newTenant(t, b)
		full := sample.PickupLocation()
		wantFilled(t, full)
		for _, place := range []domain.PickupLocation{full,
			sample.PickupLocation(func(p *domain.PickupLocation) { p.Contact, p.Coordinates, p.Active = "", nil, false }),
			sample.PickupLocation(func(p *domain.PickupLocation) { p.Coordinates = &domain.Coordinates{} }),
		} {
			insertPickupLocation(t, b, tenant, place)
			wantEqual(t, "Get", must(read().Get(t.Context(), tenant, place.ID))(t), place)
			inTx(t, b, func(ctx context.Context, tx ports.Stores) error {
				wantEqual(t, "Lock", must(tx.PickupLocations.Lock(ctx, tenant, place.ID))(t), place)
				return nil
			})
		}
	})

	t.Run("what does not exist is not found", func(t *testing.T) {
		tenant := newTenant(t, b)
		missing := sample.PickupLocation()
		wantError(t, "Get", errorOf(read().Get(t.Context(), tenant, missing.ID)), domain.ErrNotFound)
		wantError(t, "Lock", b.InTx(t.Context(), func(ctx context.Context, tx ports.Stores) error {
			_, err := tx.PickupLocations.Lock(ctx, tenant, missing.ID)
			return err
		}), domain.ErrNotFound)
		wantError(t, "Update", b.InTx(t.Context(), func(ctx context.Context, tx ports.Stores) error {
			return tx.PickupLocations.Update(ctx, tenant, missing)
		}), domain.ErrNotFound)
		if got := list(t, tenant, domain.PickupLocationFilter{}); len(got) != 0 {
			t.Errorf("List of nothing: %q", got)
		}
	})

	t.Run("an update stores every field, also back to nothing", func(t *testing.T) {
		tenant := newTenant(t, b)
		place, bystander := sample.PickupLocation(), sample.PickupLocation()
		insertPickupLocation(t, b, tenant, place)
		insertPickupLocation(t, b, tenant, bystander)
		changed := sample.PickupLocation(func(p *domain.PickupLocation) {
			p.ID, p.CreatedAt = place.ID, place.CreatedAt
			p.Name, p.Address, p.Active = "Tema depot", "Harbour Road 3", false
			p.Coordinates = &domain.Coordinates{Latitude: 5.6698, Longitude: 0.0166}
			p.UpdatedAt = place.UpdatedAt.Add(time.Hour)
		})
		emptied := changed
		emptied.Contact, emptied.Coordinates, emptied.Active = "", nil, true
		for _, next := range []domain.PickupLocation{changed, emptied} {
			inTx(t, b, func(ctx context.Context, tx ports.Stores) error {
				return tx.PickupLocations.Update(ctx, tenant, next)
			})
			wantEqual(t, "Get", must(read().Get(t.Context(), tenant, place.ID))(t), next)
		}
		wantEqual(t, "the other location", must(read().Get(t.Context(), tenant, bystander.ID))(t), bystander)
		for search, want := range map[string][]string{"TEMA": {"Tema depot"}, "harbour r": {"Tema depot"}, "makola k": {bystander.Name}} {
			if got := list(t, tenant, domain.PickupLocationFilter{Search: search}); !slices.Equal(got, want) {
				t.Errorf("search %q after the update finds %q, want %q", search, got, want)
			}
		}
	})

	t.Run("a list is complete and newest first, whatever the page", func(t *testing.T) {
		tenant := newTenant(t, b)
		var places []domain.PickupLocation
		for i := range 7 {
			places = append(places, sample.PickupLocation(func(p *domain.PickupLocation) {
				p.CreatedAt = sample.Now.Add(time.Duration(i/3) * time.Millisecond)
			}))
			insertPickupLocation(t, b, tenant, places[i])
		}
		slices.Reverse(places)
		for _, limit := range []int{1, 2, 3, 7, 100} {
			got := pages(t, limit, func(p domain.PageRequest) ([]domain.PickupLocation, error) {
				return read().List(t.Context(), tenant, domain.PickupLocationFilter{}, p)
			}, func(p domain.PickupLocation) domain.Position {
				return domain.Position{CreatedAt: p.CreatedAt, ID: p.ID}
			})
			wantEqual(t, "List", got, places)
		}
	})

	t.Run("filters narrow a list", func(t *testing.T) {
		tenant := newTenant(t, b)
		for i, p := range []struct {
			name, address string
			active        bool
		}{{"Östra", "Main 1", true}, {"West", "Side_2", false}, {"East", "östra 3,\n  Ama’s Corner", true}} {
			insertPickupLocation(t, b, tenant, sample.PickupLocation(func(l *domain.PickupLocation) {
				l.Name, l.Address, l.Active = p.name, p.address, p.active
				l.CreatedAt = sample.Now.Add(time.Duration(i) * time.Second)
			}))
		}
		yes, no := true, false
		for _, c := range []struct {
			filter domain.PickupLocationFilter
			want   []string
		}{
			{domain.PickupLocationFilter{}, []string{"East", "West", "Östra"}},
			{domain.PickupLocationFilter{Active: &yes}, []string{"East", "Östra"}},
			{domain.PickupLocationFilter{Active: &no}, []string{"West"}},
			{domain.PickupLocationFilter{Search: "ÖSTRA"}, []string{"East", "Östra"}},
			{domain.PickupLocationFilter{Search: "_"}, []string{"West"}},
			{domain.PickupLocationFilter{Search: "_", Active: &yes}, nil},
			{domain.PickupLocationFilter{Search: "tside"}, nil}, // across name and address
			{domain.PickupLocationFilter{Search: "t side"}, nil},
			{domain.PickupLocationFilter{Search: "3, ama's corner"}, []string{"East"}},
			{domain.PickupLocationFilter{Search: "\x00"}, nil},
			{domain.PickupLocationFilter{Search: "\xff"}, nil},
		} {
			if got := list(t, tenant, c.filter); !slices.Equal(got, c.want) {
				t.Errorf("%+v finds %q, want %q", c.filter, got, c.want)
			}
		}
	})
}

func insertPickupLocation(t testing.TB, b ports.Database, tenant domain.Tenant, p domain.PickupLocation) {
	t.Helper()
	inTx(t, b, func(ctx context.Context, tx ports.Stores) error {
		return tx.PickupLocations.Insert(ctx, tenant, p)
	})
}
