package gormstore_test

import (
	"errors"
	"testing"

	"waybill/adapters/storage/gormstore"
	"waybill/domain"
	"waybill/ports"
	"waybill/test/sample"
)

func TestWhatWasLookedUpAheadIsFoundOnceAndThenLookedUpAnew(t *testing.T) {
	bothWays(t, func(t *testing.T, _, url string, o gormstore.Options) {
		s := openWith(t, url, o)
		w := sample.BookingWrite(newTenant(t, s), func(b *domain.Booking) { b.ExternalID = "order-1" })
		elsewhere := sample.BookingWrite(newTenant(t, s), func(b *domain.Booking) { b.ExternalID = "order-1" })
		elsewhere.Recipient.PhoneNumber = w.Recipient.PhoneNumber
		for _, each := range []ports.BookingWrite{w, elsewhere} {
			if err := s.Book(t.Context(), each); err != nil {
				t.Fatal(err)
			}
		}
		looks := s.CountLooks()
		ctx := s.Read().Ahead(t.Context(), w.Delivery.Tenant, ports.Sought{
			Key: w.Key.Key, PhoneNumber: w.Recipient.PhoneNumber, ExternalID: "order-1",
			PickupLocation: domain.MakeID(domain.PrefixPickupLocation, [16]byte{1}),
		})
		find := func(of ports.BookingWrite) {
			t.Helper()
			r := s.Read()
			if p, err := r.Recipients.FindByPhone(ctx, of.Delivery.Tenant, of.Recipient.PhoneNumber); err != nil || p.ID != of.Recipient.ID {
				t.Errorf("recipient %s, %v; want %s", p.ID, err, of.Recipient.ID)
			}
			if d, err := r.Deliveries.FindByExternalID(ctx, of.Delivery.Tenant, "order-1"); err != nil || d.ID != of.Delivery.ID {
				t.Errorf("delivery %v, %v; want %s", d, err, of.Delivery.ID)
			}
			if k, err := r.Idempotency.Find(ctx, of.Delivery.Tenant, of.Key.Key); err != nil || k.ClaimID != of.Key.ClaimID {
				t.Errorf("key %+v, %v; want that of %s", k, err, of.Key.ClaimID)
			}
			_, err := r.PickupLocations.Get(ctx, of.Delivery.Tenant, domain.MakeID(domain.PrefixPickupLocation, [16]byte{1}))
			if !errors.Is(err, domain.ErrNotFound) {
				t.Errorf("a pickup location that there is not: %v", err)
			}
		}
		for _, step := range []struct {
			of   ports.BookingWrite
			want int32
		}{{elsewhere, 5}, {w, 5}, {w, 9}} {
			if find(step.of); looks.Load() != step.want {
				t.Errorf("%d questions to the database, want %d", looks.Load(), step.want)
			}
		}
	})
}

// A replay needs the row of its key alone, and waits for no table that hangs but once in a
// while.
func TestAKeyIsNotLookedUpWithOthersWhereOneOfTheirTablesHangs(t *testing.T) {
	t.Parallel()
	url := newDatabase(t)
	s := openWith(t, url, gormstore.Options{})
	tenant := newTenant(t, s)
	if !s.Read().Quiet() {
		t.Error("a storage that looks for nothing is not quiet")
	}
	holder := connect(t, url)
	do(t, holder, "BEGIN")
	do(t, holder, "LOCK TABLE recipients IN ACCESS EXCLUSIVE MODE")
	s.Read().Ahead(t.Context(), tenant, ports.Sought{Key: "order-0001", PhoneNumber: "+233200000001"})
	do(t, holder, "ROLLBACK")
	await(t, func() bool { waiting, underWay := s.LooksUnderWay(); return waiting+underWay == 0 })
	if s.Read().Quiet() {
		t.Error("the next key is looked up with all else, though that was just given up")
	}
}
