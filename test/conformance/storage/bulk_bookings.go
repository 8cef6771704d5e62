package storage

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"waybill/domain"
	"waybill/ports"
	"waybill/test/sample"
)

func testBulkBookings(t *testing.T, b ports.Database) {
	// mark makes the write the outcome of an item.
	mark := func(w ports.BookingWrite, h ports.BulkHold, index int) ports.BookingWrite {
		w.Bulk = &ports.BulkItemMark{Hold: h, Item: domain.BulkItem{Index: index, Created: true, Result: fmt.Appendf(nil, `{"item": %d}`, index)}}
		return w
	}

	t.Run("a booking is stored together with its item", func(t *testing.T) {
		q := newBulk(t, b)
		h := q.mustClaim(t, theirs, aLease)
		w := mark(sample.BookingWrite(q.tenant), h, 4)
		book(t, b, w)
		wantBooked(t, b, w)
		wantEqual(t, "the items", q.items(t, h), []domain.BulkItem{w.Bulk.Item})
		q.wantLeft(t, aLease)
		wantError(t, "a key of its own", errorOf(b.Read().Idempotency.Find(t.Context(), q.tenant, w.Key.Key)), domain.ErrNotFound)
	})

	t.Run("a booking is a sign of life", func(t *testing.T) {
		q := newBulk(t, b)
		h := q.mustClaim(t, theirs, ranOut)
		h.Lease = aLease
		book(t, b, mark(sample.BookingWrite(q.tenant), h, 0))
		q.wantLeft(t, aLease)
	})

	t.Run("the same item again is done, whatever else would clash", func(t *testing.T) {
		q := newBulk(t, b)
		h := q.mustClaim(t, theirs, aLease)
		w := bookWrite(t, b, mark(sample.BookingWrite(q.tenant), h, 0))
		wantError(t, "the repeated booking", b.Book(t.Context(), w), ports.ErrItemDone)
		// Another try has IDs of its own and the same order.
		other := mark(sample.BookingTo(q.tenant, w.Recipient, w.Address, func(b *domain.Booking) { b.ExternalID = w.Delivery.ExternalID }), h, 0)
		other.Bulk.Item.Result = []byte("another")
		wantRefused(t, b, other, ports.ErrItemDone)
		wantBooked(t, b, w)
		wantEqual(t, "the items", q.items(t, h), []domain.BulkItem{w.Bulk.Item})
	})

	t.Run("who lost the lease books nothing, whatever else would clash", func(t *testing.T) {
		q := newBulk(t, b)
		former := q.mustClaim(t, theirs, ranOut)
		h := q.again().mustClaim(t, another, aLease)
		w := bookWrite(t, b, mark(sample.BookingWrite(q.tenant), h, 0))
		sameOrder := func(b *domain.Booking) { b.ExternalID = w.Delivery.ExternalID }
		wantRefused(t, b, mark(sample.BookingWrite(q.tenant, sameOrder), former, 0), ports.ErrLeaseLost)
		wantRefused(t, b, mark(sample.BookingWrite(q.tenant), former, 1), ports.ErrLeaseLost)
		wantEqual(t, "the items", q.items(t, h), []domain.BulkItem{w.Bulk.Item})

		// Nor when the bulk is answered and its items are forgotten.
		q.mustFinish(t, h, domain.Answer{Status: 201, Body: []byte("{}")}, time.Hour)
		for _, late := range []ports.BulkHold{former, h} {
			wantRefused(t, b, mark(sample.BookingWrite(q.tenant), late, 0), ports.ErrLeaseLost)
			wantEqual(t, "the items", q.items(t, late), []domain.BulkItem{})
		}
	})

	t.Run("a booking that is refused records no item", func(t *testing.T) {
		q := newBulk(t, b)
		h := q.mustClaim(t, theirs, ranOut)
		recipient, address := newRecipient(t, b, q.tenant)
		earlier := bookWrite(t, b, sample.BookingTo(q.tenant, recipient, address))
		full := sample.Recipient()
		addRecipient(t, b, q.tenant, full)
		fillAddresses(t, b, q.tenant, full.ID, domain.MaxAddressesPerRecipient)

		sameOrder := sample.BookingTo(q.tenant, recipient, address, func(b *domain.Booking) { b.ExternalID = earlier.Delivery.ExternalID })
		sameReference := sample.BookingTo(q.tenant, recipient, address, func(b *domain.Booking) { b.Reference = earlier.Delivery.Reference })
		known := sample.BookingWrite(q.tenant)
		known.Recipient.PhoneNumber = recipient.PhoneNumber
		tooMany := sample.BookingTo(q.tenant, full, sample.Address(full.ID))
		tooMany.NewAddress = true
		for _, c := range []struct {
			w    ports.BookingWrite
			want error
		}{
			{sameOrder, ports.ErrExternalIDTaken},
			{sameReference, ports.ErrReferenceTaken},
			{known, ports.ErrDirectoryChanged},
			{tooMany, domain.TooManyAddresses("address")},
			{sample.BookingTo(q.tenant, sample.Recipient(), address), domain.ErrNotFound},
		} {
			wantRefused(t, b, mark(c.w, h, 0), c.want)
			wantEqual(t, "the items", q.items(t, h), []domain.BulkItem{})
		}
		q.wantLeft(t, ranOut) // no sign of life either
		book(t, b, mark(sample.BookingTo(q.tenant, recipient, address), h, 0))
	})

	t.Run("a run is stored up to the first that does not come through", func(t *testing.T) {
		q := newBulk(t, b)
		h := q.mustClaim(t, theirs, ranOut)
		h.Lease = aLease
		recipient, address := newRecipient(t, b, q.tenant)
		earlier := bookWrite(t, b, sample.BookingTo(q.tenant, recipient, address))
		taken := func(b *domain.Booking) { b.ExternalID = earlier.Delivery.ExternalID }
		known := sample.BookingWrite(q.tenant)
		known.Recipient.PhoneNumber = recipient.PhoneNumber
		var stored []domain.BulkItem
		index := 0
		for _, c := range []struct {
			in   string
			what ports.BookingWrite
		}{
			{"a taken external_id", sample.BookingWrite(q.tenant, taken)},
			{"a known recipient", known},
			{"a taken reference", sample.BookingWrite(q.tenant, func(b *domain.Booking) { b.Reference = earlier.Delivery.Reference })},
		} {
			writes := []ports.BookingWrite{
				sample.BookingWrite(q.tenant), sample.BookingTo(q.tenant, recipient, address), sample.SimulatedWrite(q.tenant), c.what,
				sample.BookingWrite(q.tenant),
			}
			for i := range writes {
				writes[i] = mark(writes[i], h, index+i)
			}
			if n, err := b.BookRun(t.Context(), writes); n != 3 || err != nil {
				t.Errorf("%s: %d were stored (%v), want 3", c.in, n, err)
			}
			for _, w := range writes[:3] {
				wantBooked(t, b, w)
				stored = append(stored, w.Bulk.Item)
			}
			wantFed(t, b, writes[:3], writes[3:])
			wantEqual(t, "the items", q.items(t, h), stored)
			index += 3
		}
		q.wantLeft(t, aLease)

		// One that is recorded is in the way, and so is one that claims the same
		// as another of the run.
		again := mark(sample.BookingWrite(q.tenant), h, 0)
		if n, err := b.BookRun(t.Context(), []ports.BookingWrite{again, mark(sample.BookingWrite(q.tenant), h, index)}); n != 0 || err != nil {
			t.Errorf("an item that is done: %d were stored (%v), want none", n, err)
		}
		one := mark(sample.BookingWrite(q.tenant), h, index)
		same := mark(sample.BookingWrite(q.tenant, func(b *domain.Booking) { b.ExternalID = one.Delivery.ExternalID }), h, index+1)
		if n, err := b.BookRun(t.Context(), []ports.BookingWrite{one, same}); n != 1 || err != nil {
			t.Errorf("twice the same external_id: %d were stored (%v), want 1", n, err)
		}
		if n, err := b.BookRun(t.Context(), nil); n != 0 || err != nil {
			t.Errorf("nothing: %d were stored (%v)", n, err)
		}
	})

	t.Run("who lost the lease books no run", func(t *testing.T) {
		q := newBulk(t, b)
		former := q.mustClaim(t, theirs, ranOut)
		h := q.again().mustClaim(t, another, aLease)
		n, err := b.BookRun(t.Context(), []ports.BookingWrite{mark(sample.BookingWrite(q.tenant), former, 0),
			mark(sample.BookingWrite(q.tenant), former, 1)})
		wantError(t, "BookRun", err, ports.ErrLeaseLost)
		wantEqual(t, "booked", n, 0)
		wantEqual(t, "the items", q.items(t, h), []domain.BulkItem{})
	})
}

func testBulkRaces(t *testing.T, b ports.Database) {
	// meanwhile runs first in a transaction that is still open while second
	// has begun, and then ends with the error end. It returns what second did.
	meanwhile := func(t *testing.T, end error, first func(context.Context, ports.Stores) error, second func() error) error {
		t.Helper()
		begun, done := make(chan struct{}), make(chan error, 1)
		err := b.InTx(t.Context(), func(ctx context.Context, tx ports.Stores) error {
			if err := first(ctx, tx); err != nil {
				return err
			}
			go func() {
				close(begun)
				done <- second()
			}()
			<-begun
			select {
			case err := <-done:
				t.Errorf("the second did not wait: %v", err)
				done <- err
			case <-time.After(100 * time.Millisecond):
			}
			return end
		})
		if !errors.Is(err, end) {
			t.Fatalf("the first: %v, want %v", err, end)
		}
		return <-done
	}

	for name, c := range map[string]struct {
		end  error
		want error
	}{
		"a takeover waits for an item under way and is refused":           {nil, ports.ErrKeyTaken},
		"a takeover waits for an item under way that is then rolled back": {errChangedMind, nil},
	} {
		t.Run(name, func(t *testing.T) {
			q := newBulk(t, b)
			h := q.mustClaim(t, theirs, ranOut)
			h.Lease = aLease
			item := domain.BulkItem{Index: 0, Created: true, Result: []byte("{}")}
			err := meanwhile(t, c.end, func(ctx context.Context, tx ports.Stores) error {
				if err := tx.Bulks.Extend(ctx, q.tenant, h); err != nil {
					return err
				}
				return tx.Bulks.AddItem(ctx, q.tenant, h, item)
			}, func() error {
				_, err := q.again().claim(t, another, aLease, time.Hour)
				return err
			})
			wantError(t, "the takeover", err, c.want)
			if held := q.extend(t, h) == nil; held != (c.end == nil) {
				t.Errorf("the first still holds the bulk: %t", held)
			}
		})
	}

	for name, c := range map[string]struct {
		end  error
		want error
	}{
		"an item waits for a takeover under way and is refused":           {nil, ports.ErrLeaseLost},
		"an item waits for a takeover under way that is then rolled back": {errChangedMind, nil},
	} {
		t.Run(name, func(t *testing.T) {
			q := newBulk(t, b)
			h := q.mustClaim(t, theirs, ranOut)
			w := sample.BookingWrite(q.tenant)
			w.Bulk = &ports.BulkItemMark{Hold: h, Item: domain.BulkItem{Index: 0, Created: true, Result: []byte("{}")}}
			again := q.again()
			err := meanwhile(t, c.end, func(ctx context.Context, tx ports.Stores) error {
				_, err := tx.Bulks.Claim(ctx, q.tenant, again.record, another, aLease, time.Hour)
				return err
			}, func() error { return b.Book(t.Context(), w) })
			wantError(t, "the item", err, c.want)
			_, err = b.Read().Deliveries.Get(t.Context(), q.tenant, w.Delivery.ID)
			if booked := err == nil; booked != (c.want == nil) {
				t.Errorf("the delivery is there: %t", booked)
			}
		})
	}

	t.Run("of many that claim one bulk one wins, first or resumed", func(t *testing.T) {
		q := newBulk(t, b)
		for range 2 {
			holds := make([]ports.BulkHold, 16)
			errs := together(len(holds), func(i int) (err error) {
				holds[i], err = q.again().claim(t, sample.ClaimID(), aLease, time.Hour)
				return err
			})
			wantOneWinner(t, errs, ports.ErrKeyTaken)
			for i, err := range errs {
				if err == nil {
					q.wantHeld(t, holds[i])
					q.release(t, holds[i])
				}
			}
		}
	})

	t.Run("many that take one bulk from each other book every item once", func(t *testing.T) {
		const items, workers, patience = 12, 6, 3
		q := newBulk(t, b)
		recipient, address := newRecipient(t, b, q.tenant)
		// work books the missing items under a lease that is over at once, so
		// that another worker may take it away in between.
		work := func() (finished bool, err error) {
			again := q.again()
			h, err := again.claim(t, sample.ClaimID(), ranOut, time.Hour)
			if err != nil {
				return false, err
			}
			for i := range items {
				w := sample.BookingTo(q.tenant, recipient, address)
				w.Bulk = &ports.BulkItemMark{Hold: h, Item: domain.BulkItem{Index: i, Created: true, Result: []byte("{}")}}
				if err := b.Book(t.Context(), w); err != nil && !isAny(err, ports.ErrItemDone) {
					return false, err
				}
			}
			err = b.InTx(t.Context(), func(ctx context.Context, tx ports.Stores) error {
				return tx.Bulks.Finish(ctx, q.tenant, h, domain.Answer{Status: 201, Body: []byte("{}")}, time.Hour)
			})
			return err == nil, err
		}
		finished := make([]bool, workers)
		for _, err := range together(workers, func(i int) (err error) {
			for range patience {
				if finished[i], err = work(); finished[i] || !isAny(err, ports.ErrLeaseLost, ports.ErrKeyTaken) {
					return err
				}
			}
			return nil
		}) {
			if err != nil {
				t.Error(err)
			}
		}
		// Without another worker to take it away it comes to an end, unless it
		// has.
		if _, err := work(); err != nil && !isAny(err, ports.ErrKeyTaken) {
			t.Error(err)
		}
		list := must(b.Read().Deliveries.List(t.Context(), q.tenant, domain.DeliveryFilter{}, domain.PageRequest{Limit: 200}))(t)
		wantEqual(t, "deliveries", len(list), items)
	})
}

func isAny(err error, targets ...error) bool {
	return slices.ContainsFunc(targets, func(target error) bool { return errors.Is(err, target) })
}

// wantBooked fails unless the delivery and its event are there.
func wantBooked(t testing.TB, b ports.Database, w ports.BookingWrite) {
	t.Helper()
	read, tenant := b.Read(), w.Delivery.Tenant
	wantDelivery(t, "the delivery", must(read.Deliveries.Get(t.Context(), tenant, w.Delivery.ID))(t), w.Delivery)
	wantEqual(t, "its events", must(read.Deliveries.Events(t.Context(), tenant, w.Delivery.ID))(t), []domain.Event{w.Event.Event})
}
