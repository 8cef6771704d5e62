package storage

import (
	"errors"
	"math/rand/v2"
	"sync"
	"testing"

	"waybill/domain"
	"waybill/ports"
	"waybill/test/sample"
)

// bookAtOnce books all at the same moment and returns what became of each.
func bookAtOnce(t testing.TB, b ports.Database, writes []ports.BookingWrite) []error {
	t.Helper()
	outcomes := make([]error, len(writes))
	start := make(chan struct{})
	var all sync.WaitGroup
	for _, i := range rand.Perm(len(writes)) {
		all.Go(func() {
			<-start
			outcomes[i] = bookInTime(t, b, writes[i])
		})
	}
	close(start)
	all.Wait()
	return outcomes
}

// A storage may store bookings together. No caller may notice.
func testBookingsAtOnce(t *testing.T, b ports.Database) {
	crowded := newTenant(t, b)
	var running []ports.BookingWrite
	for range domain.MaxRunningSimulations {
		running = append(running, sample.SimulatedWrite(crowded))
	}
	for _, err := range bookAtOnce(t, b, running) {
		if err != nil {
			t.Fatal(err)
		}
	}

	t.Run("each is stored or refused for itself, whoever is beside it", func(t *testing.T) {
		for range 3 {
			tenant, foreign := newTenant(t, b), newTenant(t, b)
			before := bookWrite(t, b, sample.BookingWrite(tenant))
			recipient, address := newRecipient(t, b, tenant)
			var writes []ports.BookingWrite
			var want []error
			add := func(w ports.BookingWrite, err error) { writes, want = append(writes, w), append(want, err) }

			for i := range 40 {
				switch w := sample.BookingWrite([]domain.Tenant{tenant, live(tenant), foreign}[i%3]); {
				case i%8 == 1:
					add(sample.SimulatedWrite(tenant), nil)
				case i%8 == 2:
					add(sample.BookingTo(tenant, recipient, address), nil)
				case i%8 == 3:
					another := sample.BookingTo(tenant, recipient, sample.Address(recipient.ID))
					another.NewAddress = true
					add(another, nil)
				default:
					add(w, nil)
				}
			}
			w := sample.BookingWrite(tenant)
			w.Key.Key = before.Key.Key
			add(w, ports.ErrKeyTaken)
			add(before, ports.ErrKeyTaken)
			add(sample.BookingWrite(tenant, func(b *domain.Booking) { b.ExternalID = before.Delivery.ExternalID }), ports.ErrExternalIDTaken)
			beside := besides(t, b, tenant)
			add(sample.BookingWrite(beside, func(b *domain.Booking) { b.Reference = before.Delivery.Reference }), ports.ErrReferenceTaken)
			w = sample.BookingWrite(tenant)
			w.Recipient.PhoneNumber = recipient.PhoneNumber
			add(w, ports.ErrDirectoryChanged)
			w = sample.BookingTo(tenant, recipient, sample.Address(recipient.ID, func(a *domain.Address) { a.MatchKey = address.MatchKey }))
			w.NewAddress = true
			add(w, ports.ErrDirectoryChanged)
			add(sample.SimulatedWrite(crowded), ports.ErrSimulationLimit)
			add(sample.BookingTo(foreign, recipient, address), domain.ErrNotFound)

			var stored, refused []ports.BookingWrite
			for i, err := range bookAtOnce(t, b, writes) {
				if want[i] == nil && err == nil {
					stored = append(stored, writes[i])
					wantStored(t, b, writes[i])
					continue
				}
				wantError(t, "Book", err, want[i])
				if writes[i].Delivery != before.Delivery {
					refused = append(refused, writes[i])
					wantRefused(t, b, writes[i], want[i]) // it is still, and left nothing behind
				}
			}
			wantFed(t, b, stored, refused)
		}
	})

	t.Run("of several that claim the same one comes through", func(t *testing.T) {
		tenant := newTenant(t, b)
		recipient := sample.Recipient()
		for what, claim := range map[string]func(w *ports.BookingWrite, first ports.BookingWrite){
			"a key":          func(w *ports.BookingWrite, first ports.BookingWrite) { w.Key.Key = first.Key.Key },
			"a phone number": func(w *ports.BookingWrite, _ ports.BookingWrite) { w.Recipient.PhoneNumber = recipient.PhoneNumber },
			"an external_id": nil,
		} {
			first := sample.BookingWrite(tenant)
			var writes []ports.BookingWrite
			for range 30 {
				w := sample.BookingWrite(tenant, func(b *domain.Booking) {
					if claim == nil {
						b.ExternalID = first.Delivery.ExternalID
					}
				})
				if claim != nil {
					claim(&w, first)
				}
				writes = append(writes, w)
			}
			var stored, refused []ports.BookingWrite
			for i, err := range bookAtOnce(t, b, writes) {
				switch {
				case err == nil:
					stored = append(stored, writes[i])
					wantStored(t, b, writes[i])
				case !errors.Is(err, ports.ErrKeyTaken) && !errors.Is(err, ports.ErrDirectoryChanged) && !errors.Is(err, ports.ErrExternalIDTaken):
					t.Errorf("%s: %v", what, err)
				default:
					refused = append(refused, writes[i])
				}
			}
			if len(stored) != 1 {
				t.Errorf("%s: %d were stored, want 1", what, len(stored))
			}
			wantFed(t, b, stored, refused)
		}
	})
}

// wantFed fails unless the feed has an event of each delivery that was stored,
// and, when it has, none of the others.
func wantFed(t testing.TB, b ports.Database, stored, refused []ports.BookingWrite) {
	t.Helper()
	events := func(w ports.BookingWrite) int {
		return len(must(b.Read().Feed.Events(t.Context(), w.Delivery.Tenant, domain.FeedFilter{DeliveryID: w.Delivery.ID}, nil, 10))(t).Events)
	}
	for _, w := range stored {
		eventually(t, "the feed has what was stored", func() bool { return events(w) == 1 })
	}
	for _, w := range refused {
		if n := events(w); n != 0 {
			t.Errorf("the feed has %d events of %s, which was refused", n, w.Delivery.ID)
		}
	}
}
