package storage

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"waybill/domain"
	"waybill/ports"
	"waybill/test/sample"
)

// testWork counts worlds that are drawn by a seed: each number is the length of the
// list that it leads to.
func testWork(t *testing.T, b ports.Database) {
	random := rand.New(rand.NewPCG(24, uint64(len(t.Name())))) //nolint:gosec // a world that can be drawn again
	tenants := []domain.Tenant{newTenant(t, b), live(newTenant(t, b)), newTenant(t, b)}
	tenants = append(tenants, live(tenants[2]))
	at := sample.Now
	edges := domain.AgeEdges()
	ago := func() time.Duration { // often on an edge or a millisecond beside one
		if random.IntN(3) == 0 {
			return time.Duration(random.Int64N(int64(10 * 24 * time.Hour)))
		}
		return edges[random.IntN(len(edges))] + time.Duration(random.IntN(3)-1)*time.Millisecond
	}
	for range 70 {
		tenant := tenants[random.IntN(len(tenants))]
		recipient, address := newRecipient(t, b, tenant)
		ages := []time.Duration{ago(), ago(), ago(), ago(), ago()}
		slices.Sort(ages)
		slices.Reverse(ages)
		w := sample.BookingTo(tenant, recipient, address, func(d *domain.Booking) {
			d.CreatedAt = domain.Millis(at.Add(-ages[0]))
			d.ID = idAt(d.CreatedAt)
		})
		w.Event.DeliveryID = w.Delivery.ID
		book(t, b, w)
		for _, age := range ages[1 : 1+random.IntN(5)] {
			if err := moveAnywhere(t, b, w.Delivery, random, domain.Millis(at.Add(-age))); err != nil {
				t.Fatal(err)
			}
		}
	}

	ages := []domain.Age{{}}
	for i, edge := range edges {
		ages = append(ages, domain.Age{From: edge}, domain.Age{Until: edge})
		if i > 0 {
			ages = append(ages, domain.Age{From: edges[i-1], Until: edge}, domain.Age{From: edges[0], Until: edge})
		}
	}
	businesses := []domain.ID{"", tenants[0].BusinessID, tenants[1].BusinessID, tenants[2].BusinessID, sample.ID(domain.PrefixBusiness)}
	counted := 0
	for _, e := range []domain.Environment{domain.Live, domain.Sandbox} {
		tallies := must(b.Read().Platform.Work(t.Context(), e, at))(t)
		for _, status := range append(domain.OpenStatuses(), domain.Failed, "") {
			for _, age := range ages {
				for _, business := range businesses {
					f := domain.WorkFilter{Environment: e, BusinessID: business, Status: status, Age: age}
					n := tallies.Count(f)
					s := f.Search(at)
					s.NewestFirst = random.IntN(2) == 0
					found := pages(t, 1+random.IntN(40), func(p domain.PageRequest) ([]*domain.Delivery, error) {
						return b.Read().Platform.Deliveries(t.Context(), s, p)
					}, func(d *domain.Delivery) domain.Position { return domain.Position{CreatedAt: d.CreatedAt, ID: d.ID} })
					if len(found) != n {
						t.Errorf("%+v counts %d, and its list has %d", f, n, len(found))
					}
					counted += n
				}
			}
		}
	}
	if counted < 1000 {
		t.Errorf("all filters count %d together: the world is too small to tell", counted)
	}
	names := must(b.Read().Platform.BusinessNames(t.Context(), append(businesses, "biz_1", tenants[3].BusinessID)))(t)
	for _, id := range businesses[1:4] {
		if want := must(b.Read().Tenancy.Business(t.Context(), id))(t).Name; names[id] != want {
			t.Errorf("%s is called %q, want %q", id, names[id], want)
		}
	}
	if len(names) != 3 {
		t.Errorf("the names are %v, want those of three businesses", names)
	}
	if n := len(must(b.Read().Platform.Work(t.Context(), "", at))(t)); n > 0 {
		t.Errorf("no environment has %d tallies", n)
	}
}

// moveAnywhere moves a delivery to a status that the platform may move it to, if any.
func moveAnywhere(t *testing.T, b ports.Database, of *domain.Delivery, random *rand.Rand, at time.Time) error {
	return b.InTx(t.Context(), func(ctx context.Context, tx ports.Stores) error {
		d, err := tx.Deliveries.Lock(ctx, of.Tenant, of.ID)
		if err != nil {
			return err
		}
		next := d.Next(domain.ActorPlatform)
		if len(next) == 0 {
			return nil
		}
		e, err := d.Move(next[random.IntN(len(next))], domain.ActorPlatform, "", sample.ID(domain.PrefixEvent), at)
		if err != nil {
			return err
		}
		return tx.Deliveries.Update(ctx, of.Tenant, d, sample.Published(e))
	})
}
