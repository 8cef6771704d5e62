package storage

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"waybill/domain"
	"waybill/ports"
	"waybill/test/sample"
)

const racers = 24

func testBookingRaces(t *testing.T, b ports.Database) {
	t.Run("many repeats of one write store it once", func(t *testing.T) {
		w := sample.BookingWrite(newTenant(t, b))
		wantOneWinner(t, together(racers, func(int) error { return bookInTime(t, b, w) }), ports.ErrKeyTaken)
		wantStored(t, b, w)
	})

	t.Run("many to one new address create it once", func(t *testing.T) {
		tenant := newTenant(t, b)
		recipient, _ := newRecipient(t, b, tenant)
		match := sample.Address(recipient.ID).MatchKey
		errs := together(racers, func(int) error {
			w := sample.BookingTo(tenant, recipient, sample.Address(recipient.ID, func(a *domain.Address) { a.MatchKey = match }))
			w.NewAddress = true
			return bookInTime(t, b, w)
		})
		wantOneWinner(t, errs, ports.ErrDirectoryChanged)
		wantCapacityFor(t, b, tenant, recipient.ID, domain.MaxAddressesPerRecipient-2)
	})

	t.Run("many to new addresses of a recipient with room for few", func(t *testing.T) {
		const capacity = 7
		tenant := newTenant(t, b)
		recipient := sample.Recipient()
		addRecipient(t, b, tenant, recipient)
		fillAddresses(t, b, tenant, recipient.ID, domain.MaxAddressesPerRecipient-capacity)
		errs := together(3*capacity, func(i int) error {
			if i%2 == 0 {
				_, _, err := addAddress(t, b, tenant, sample.Address(recipient.ID))
				return err
			}
			w := sample.BookingTo(tenant, recipient, sample.Address(recipient.ID))
			w.NewAddress = true
			return bookInTime(t, b, w)
		})
		wantWinners(t, errs, capacity, domain.TooManyAddresses("address"))
		wantEqual(t, "addresses", len(must(b.Read().Recipients.Addresses(t.Context(), tenant, recipient.ID))(t)), domain.MaxAddressesPerRecipient)
	})
}

func testChangeRaces(t *testing.T, b ports.Database) {
	t.Run("of a cancellation and a pickup one wins", func(t *testing.T) {
		tenant := newTenant(t, b)
		for range 15 {
			w := bookWrite(t, b, sample.BookingWrite(tenant))
			if _, _, err := moveLocked(t.Context(), b, tenant, w.Delivery.ID, domain.Assigned); err != nil {
				t.Fatal(err)
			}
			errs := together(4, func(i int) error {
				return decide(b, tenant, w.Delivery.ID, i%2 == 0)
			})
			won := 0
			for _, err := range errs {
				if err == nil {
					won++
				} else if !errors.As(err, new(*domain.Error)) {
					t.Errorf("a loser was told %v, want a decision of the domain", err)
				}
			}
			events := must(b.Read().Deliveries.Events(t.Context(), tenant, w.Delivery.ID))(t)
			d := must(b.Read().Deliveries.Get(t.Context(), tenant, w.Delivery.ID))(t)
			if won != 1 || len(events) != 3 {
				t.Fatalf("%d winners and %d events, want 1 and 3", won, len(events))
			}
			last := events[2]
			if last.Sequence != 3 || last.Status != d.Status() || d.Lifecycle().Sequence != 3 {
				t.Fatalf("the delivery is %s at %d, its last event %s at %d", d.Status(), d.Lifecycle().Sequence, last.Status, last.Sequence)
			}
		}
	})

	t.Run("many that add one recipient get the same one", func(t *testing.T) {
		tenant := newTenant(t, b)
		phone := sample.PhoneNumber()
		stored := make([]domain.Recipient, racers)
		created := make([]bool, racers)
		errs := together(racers, func(i int) error {
			return b.InTx(t.Context(), func(ctx context.Context, tx ports.Stores) (err error) {
				stored[i], created[i], err = tx.Recipients.Add(ctx, tenant, sample.Recipient(func(r *domain.Recipient) { r.PhoneNumber = phone }))
				return err
			})
		})
		wantCreatedOnce(t, errs, created)
		for _, r := range stored {
			wantEqual(t, "what Add returns", r, stored[0])
		}
	})

	t.Run("many that name a recipient agree on the first name", func(t *testing.T) {
		tenant := newTenant(t, b)
		nameless := sample.Recipient(func(r *domain.Recipient) { r.Name = "" })
		addRecipient(t, b, tenant, nameless)
		names := make([]string, 20)
		for _, err := range together(len(names), func(i int) error {
			return b.InTx(t.Context(), func(ctx context.Context, tx ports.Stores) error {
				stored, _, err := tx.Recipients.Add(ctx, tenant, sample.Recipient(func(r *domain.Recipient) {
					r.PhoneNumber, r.Name = nameless.PhoneNumber, string(rune('A'+i))
				}))
				names[i] = stored.Name
				return err
			})
		}) {
			if err != nil {
				t.Error(err)
			}
		}
		want := must(b.Read().Recipients.Get(t.Context(), tenant, nameless.ID))(t).Name
		for _, got := range names {
			wantEqual(t, "the name", got, want)
		}
	})

	t.Run("many that add one address get the same one", func(t *testing.T) {
		tenant := newTenant(t, b)
		recipient := sample.Recipient()
		addRecipient(t, b, tenant, recipient)
		match := sample.Address(recipient.ID).MatchKey
		stored := make([]domain.Address, racers)
		created := make([]bool, racers)
		errs := together(racers, func(i int) (err error) {
			stored[i], created[i], err = addAddress(t, b, tenant, sample.Address(recipient.ID, func(a *domain.Address) { a.MatchKey = match }))
			return err
		})
		wantCreatedOnce(t, errs, created)
		for _, a := range stored {
			wantEqual(t, "what AddAddress returns", a, stored[0])
		}
		wantCapacityFor(t, b, tenant, recipient.ID, domain.MaxAddressesPerRecipient-1)
	})

	t.Run("locked changes of a pickup location do not overwrite each other", func(t *testing.T) {
		tenant := newTenant(t, b)
		place := sample.PickupLocation(func(p *domain.PickupLocation) { p.Name = "" })
		insertPickupLocation(t, b, tenant, place)
		for _, err := range together(20, func(int) error {
			return b.InTx(t.Context(), func(ctx context.Context, tx ports.Stores) error {
				p, err := tx.PickupLocations.Lock(ctx, tenant, place.ID)
				if err != nil {
					return err
				}
				p.Name += "+"
				return tx.PickupLocations.Update(ctx, tenant, p)
			})
		}) {
			if err != nil {
				t.Error(err)
			}
		}
		wantEqual(t, "changes", len(must(b.Read().PickupLocations.Get(t.Context(), tenant, place.ID))(t).Name), 20)
	})

	t.Run("transactions that meet in a deadlock all go through", func(t *testing.T) {
		tenant := newTenant(t, b)
		places := []domain.PickupLocation{sample.PickupLocation(), sample.PickupLocation()}
		for _, p := range places {
			insertPickupLocation(t, b, tenant, p)
		}
		var locked [2]atomic.Bool
		for _, err := range together(2, func(i int) error {
			return b.InTx(t.Context(), func(ctx context.Context, tx ports.Stores) error {
				if _, err := tx.PickupLocations.Lock(ctx, tenant, places[i].ID); err != nil {
					return err
				}
				// Give the other one time to hold its row, where that is possible.
				locked[i].Store(true)
				for wait := 0; !locked[1-i].Load() && wait < 50; wait++ {
					time.Sleep(2 * time.Millisecond)
				}
				_, err := tx.PickupLocations.Lock(ctx, tenant, places[1-i].ID)
				return err
			})
		}) {
			if err != nil {
				t.Error(err)
			}
		}
	})
}

// decide cancels the delivery or records its pickup, as use cases do.
func decide(b ports.Database, tenant domain.Tenant, id domain.ID, cancel bool) error {
	return b.InTx(context.Background(), func(ctx context.Context, tx ports.Stores) error {
		d, err := tx.Deliveries.Lock(ctx, tenant, id)
		if err != nil {
			return err
		}
		var event domain.Event
		if cancel {
			changed := false
			if event, changed, err = d.Cancel(sample.ID(domain.PrefixEvent), sample.Now); err == nil && !changed {
				err = domain.IdempotencyConflict(sample.Now) // cancelled by the other one: not a win
			}
		} else {
			event, err = d.Move(domain.PickedUp, domain.ActorPlatform, "", sample.ID(domain.PrefixEvent), sample.Now)
		}
		if err != nil {
			return err
		}
		return tx.Deliveries.Update(ctx, tenant, d, sample.Published(event))
	})
}

func wantCreatedOnce(t testing.TB, errs []error, created []bool) {
	t.Helper()
	n := 0
	for i, err := range errs {
		if err != nil {
			t.Error(err)
		}
		if created[i] {
			n++
		}
	}
	wantEqual(t, "times created", n, 1)
}
