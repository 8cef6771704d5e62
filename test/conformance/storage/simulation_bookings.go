package storage

import (
	"context"
	"testing"

	"waybill/domain"
	"waybill/ports"
	"waybill/test/sample"
)

func testSimulatedBookings(t *testing.T, b ports.Database) {
	const most = domain.MaxRunningSimulations

	t.Run("a booking whose simulation runs is counted, and no other", func(t *testing.T) {
		tenant := newTenant(t, b)
		for range 2 {
			wantStored(t, b, bookWrite(t, b, sample.SimulatedWrite(tenant)))
		}
		wantCapacity(t, b, tenant, most-2)
		wantStored(t, b, bookWrite(t, b, sample.BookingWrite(tenant)))
		wantStored(t, b, bookWrite(t, b, sample.BookingWrite(live(tenant))))
		wantStored(t, b, bookWrite(t, b, sample.SimulatedWrite(tenant, func(p *domain.Plan) { p.Scenario = domain.ScenarioManual })))
		wantCapacity(t, b, tenant, most-2)
		wantEqual(t, "Running", must(b.Read().Simulations.Running(t.Context()))(t), 2)
	})

	t.Run("one too many is refused, and nothing of it is stored", func(t *testing.T) {
		tenant := newTenant(t, b)
		fillSimulations(t, b, tenant, 1)
		last := bookWrite(t, b, sample.SimulatedWrite(tenant))
		refused := sample.SimulatedWrite(tenant)
		wantRefused(t, b, refused, ports.ErrSimulationLimit)
		nameless := sample.Recipient(func(r *domain.Recipient) { r.Name = "" })
		addRecipient(t, b, tenant, nameless)
		known := sample.BookingTo(tenant, nameless, sample.Address(nameless.ID))
		known.Recipient.Name, known.FillName, known.NewAddress = "Efua Mensah", true, true
		sample.Simulate(known)
		wantRefused(t, b, known, ports.ErrSimulationLimit)
		wantCapacity(t, b, tenant, 0)

		// What does not run goes through, and so do others'.
		wantStored(t, b, bookWrite(t, b, sample.BookingWrite(tenant)))
		wantStored(t, b, bookWrite(t, b, sample.SimulatedWrite(newSibling(t, b, tenant))))
		mustPlay(t, b, tenant, last.Delivery.ID, cancelIt)
		wantStored(t, b, bookWrite(t, b, refused))
		wantCapacity(t, b, tenant, 0)
	})

	t.Run("the same booking again finds itself, though there is no room any more", func(t *testing.T) {
		tenant := newTenant(t, b)
		fillSimulations(t, b, tenant, 1)
		w := bookWrite(t, b, sample.SimulatedWrite(tenant))
		wantError(t, "the repeated booking", b.Book(t.Context(), w), ports.ErrKeyTaken)
		wantStored(t, b, w)
	})

	t.Run("a booking that is refused is not counted", func(t *testing.T) {
		tenant := newTenant(t, b)
		earlier := bookWrite(t, b, sample.SimulatedWrite(tenant))
		sameOrder := sample.BookingTo(tenant, earlier.Recipient, earlier.Address, func(b *domain.Booking) {
			b.ExternalID = earlier.Delivery.ExternalID
		})
		sameReference := sample.BookingTo(tenant, earlier.Recipient, earlier.Address, func(b *domain.Booking) {
			b.Reference = earlier.Delivery.Reference
		})
		known := sample.BookingWrite(tenant)
		known.Recipient.PhoneNumber = earlier.Recipient.PhoneNumber
		nowhere := sample.BookingTo(tenant, sample.Recipient(), earlier.Address)
		sameKey := sample.BookingWrite(tenant)
		sameKey.Key.Key = earlier.Key.Key
		for _, c := range []struct {
			w    ports.BookingWrite
			want error
		}{
			{sameOrder, ports.ErrExternalIDTaken}, {sameReference, ports.ErrReferenceTaken}, {known, ports.ErrDirectoryChanged},
			{nowhere, domain.ErrNotFound}, {sameKey, ports.ErrKeyTaken},
		} {
			sample.Simulate(c.w)
			wantRefused(t, b, c.w, c.want)
		}
		wantCapacity(t, b, tenant, most-1)
	})

	t.Run("an item of a bulk is counted, or refused and not recorded", func(t *testing.T) {
		q := newBulk(t, b)
		h := q.mustClaim(t, theirs, aLease)
		item := func(index int) ports.BookingWrite {
			w := sample.SimulatedWrite(q.tenant)
			w.Bulk = &ports.BulkItemMark{Hold: h, Item: domain.BulkItem{Index: index, Created: true, Result: []byte("{}")}}
			return w
		}
		fillSimulations(t, b, q.tenant, 1)
		one := bookWrite(t, b, item(0))
		wantBooked(t, b, one)
		wantRefused(t, b, item(1), ports.ErrSimulationLimit)
		wantError(t, "the first item again", b.Book(t.Context(), one), ports.ErrItemDone)
		wantEqual(t, "the items", q.items(t, h), []domain.BulkItem{one.Bulk.Item})
		wantCapacity(t, b, q.tenant, 0)
	})

	t.Run("of many at once as many are booked as there may be", func(t *testing.T) {
		const capacity = 20
		tenant := newTenant(t, b)
		recipient, address := newRecipient(t, b, tenant)
		fillSimulations(t, b, tenant, capacity)
		errs := together(4*capacity, func(int) error {
			w := sample.BookingTo(tenant, recipient, address)
			sample.Simulate(w)
			return b.Book(context.Background(), w)
		})
		wantWinners(t, errs, capacity, ports.ErrSimulationLimit)
		running, _, err := b.Read().Simulations.Load(t.Context(), tenant)
		if err != nil || running != capacity {
			t.Errorf("%d run (error %v), want %d", running, err, capacity)
		}
		wantCapacity(t, b, tenant, 0)
	})
}
