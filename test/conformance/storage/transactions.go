package storage

import (
	"context"
	"errors"
	"runtime"
	"testing"
	"time"

	"waybill/domain"
	"waybill/ports"
	"waybill/test/sample"
)

var errChangedMind = errors.New("the caller changed its mind")

func testTransactions(t *testing.T, b ports.Database) {
	// doom makes one change of every kind, and hands over to end.
	doom := func(t *testing.T, end func(ctx context.Context, cancel func()) error) (check func(),
		run func(ctx context.Context, cancel func()) error) {
		tenant := newTenant(t, b)
		w := bookWrite(t, b, sample.BookingWrite(tenant))
		place := sample.PickupLocation()
		insertPickupLocation(t, b, tenant, place)
		business, key := sample.Business(), sample.KeyRecord()
		recipient := sample.Recipient()
		address := sample.Address(w.Recipient.ID)
		run = func(ctx context.Context, cancel func()) error {
			return b.InTx(ctx, func(ctx context.Context, tx ports.Stores) error {
				if err := tx.Idempotency.Claim(ctx, tenant, key, time.Hour); err != nil {
					return err
				}
				if err := tx.Tenancy.InsertBusiness(ctx, business); err != nil {
					return err
				}
				if _, _, err := tx.Recipients.Add(ctx, tenant, recipient); err != nil {
					return err
				}
				if _, _, err := tx.Recipients.AddAddress(ctx, tenant, address); err != nil {
					return err
				}
				changed := place
				changed.Name = "Gone again"
				if err := tx.PickupLocations.Update(ctx, tenant, changed); err != nil {
					return err
				}
				d, err := tx.Deliveries.Lock(ctx, tenant, w.Delivery.ID)
				if err != nil {
					return err
				}
				event, err := d.Move(domain.Assigned, domain.ActorPlatform, "", sample.ID(domain.PrefixEvent), sample.Now)
				if err != nil {
					return err
				}
				if err := tx.Deliveries.Update(ctx, tenant, d, sample.Published(event)); err != nil {
					return err
				}
				return end(ctx, cancel)
			})
		}
		check = func() {
			t.Helper()
			ctx, read := t.Context(), b.Read()
			wantStored(t, b, w) // status, sequence and timeline as before
			wantEqual(t, "the pickup location", must(read.PickupLocations.Get(ctx, tenant, place.ID))(t), place)
			wantEqual(t, "the addresses", must(read.Recipients.Addresses(ctx, tenant, w.Recipient.ID))(t), []domain.Address{w.Address})
			wantError(t, "the key", errorOf(read.Idempotency.Find(ctx, tenant, key.Key)), domain.ErrNotFound)
			wantError(t, "the business", errorOf(read.Tenancy.Business(ctx, business.ID)), domain.ErrNotFound)
			wantError(t, "the recipient", errorOf(read.Recipients.Get(ctx, tenant, recipient.ID)), domain.ErrNotFound)
		}
		return check, run
	}

	t.Run("an error takes everything back, the event too", func(t *testing.T) {
		check, run := doom(t, func(context.Context, func()) error { return errChangedMind })
		wantError(t, "InTx", run(t.Context(), nil), errChangedMind)
		check()
	})

	t.Run("a panic takes everything back and goes on", func(t *testing.T) {
		check, run := doom(t, func(context.Context, func()) error { panic(errChangedMind) })
		func() {
			defer func() {
				if got, ok := recover().(error); !ok || !errors.Is(got, errChangedMind) {
					t.Errorf("recovered %v, want the value of the panic", got)
				}
			}()
			_ = run(t.Context(), nil)
		}()
		check()
	})

	t.Run("the end of the goroutine takes everything back", func(t *testing.T) {
		check, run := doom(t, func(context.Context, func()) error { runtime.Goexit(); return nil })
		done := make(chan struct{})
		go func() {
			defer close(done)
			_ = run(t.Context(), nil)
		}()
		<-done
		check()
	})

	t.Run("a caller that is gone takes everything back", func(t *testing.T) {
		check, run := doom(t, func(_ context.Context, cancel func()) error { cancel(); return nil })
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		wantError(t, "InTx", run(ctx, cancel), context.Canceled)
		check()
	})

	t.Run("a caller that is gone before it began does nothing", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		err := b.InTx(ctx, func(context.Context, ports.Stores) error { t.Error("fn was called"); return nil })
		wantError(t, "InTx", err, context.Canceled)
		w := sample.BookingWrite(newTenant(t, b))
		wantError(t, "Book", b.Book(ctx, w), context.Canceled)
		wantError(t, "Get", errorOf(b.Read().Deliveries.Get(t.Context(), w.Delivery.Tenant, w.Delivery.ID)), domain.ErrNotFound)
	})

	t.Run("failures leave no connection behind", func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		tenant := newTenant(t, b)
		for i := range 60 {
			err := b.InTx(ctx, func(ctx context.Context, tx ports.Stores) error {
				if _, _, err := tx.Recipients.Add(ctx, tenant, sample.Recipient()); err != nil {
					return err
				}
				if i%2 == 0 {
					// A statement that fails spoils the transaction on some engines.
					return tx.Memberships.Insert(ctx, domain.Membership{PersonID: sample.ID(domain.PrefixPerson), Role: domain.RoleAdmin})
				}
				return errChangedMind
			})
			if err == nil {
				t.Fatal("no error")
			}
		}
		if err := b.Book(ctx, sample.BookingWrite(tenant)); err != nil {
			t.Errorf("Book afterwards: %v", err)
		}
	})

	t.Run("a transaction sees its own changes, and others see them after the commit", func(t *testing.T) {
		tenant := newTenant(t, b)
		recipient := sample.Recipient()
		inTx(t, b, func(ctx context.Context, tx ports.Stores) error {
			if _, _, err := tx.Recipients.Add(ctx, tenant, recipient); err != nil {
				return err
			}
			wantEqual(t, "inside", must(tx.Recipients.Get(ctx, tenant, recipient.ID))(t), recipient)
			wantError(t, "outside, before the commit", errorOf(b.Read().Recipients.Get(ctx, tenant, recipient.ID)), domain.ErrNotFound)
			return nil
		})
		wantEqual(t, "outside, after the commit", must(b.Read().Recipients.Get(t.Context(), tenant, recipient.ID))(t), recipient)
	})
}
