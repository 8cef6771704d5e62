package gormstore_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"waybill/adapters/storage/gormstore"
	"waybill/domain"
	"waybill/ports"
	"waybill/test/sample"
)

// askers is how many look for rows at a time. The first ones have a row each, as
// long as there is no connection; all others wait together.
const askers = 2

// look is a question to the storage, and whether the answer is right.
type look struct {
	what string
	ask  func(ctx context.Context, r ports.Readers) (right bool, err error)
	none bool // ErrNotFound is right
}

// looksOf are questions for a booking and for what is none of the tenant's.
func looksOf(w, foreign ports.BookingWrite) []look {
	t, elsewhere := w.Delivery.Tenant, w.Delivery.Tenant
	elsewhere.Environment = domain.Live
	return []look{
		{what: "delivery", ask: func(ctx context.Context, r ports.Readers) (bool, error) {
			d, err := r.Deliveries.Get(ctx, t, w.Delivery.ID)
			return err == nil && d.ID == w.Delivery.ID && d.Tenant == t && d.Reference == w.Delivery.Reference, err
		}},
		{what: "external_id", ask: func(ctx context.Context, r ports.Readers) (bool, error) {
			d, err := r.Deliveries.FindByExternalID(ctx, t, w.Delivery.ExternalID)
			return err == nil && d.ID == w.Delivery.ID, err
		}},
		{what: "key", ask: func(ctx context.Context, r ports.Readers) (bool, error) {
			k, err := r.Idempotency.Find(ctx, t, w.Key.Key)
			return k.ClaimID == w.Key.ClaimID && string(k.Answer.Body) == string(w.Key.Answer.Body), err
		}},
		{what: "phone number", ask: func(ctx context.Context, r ports.Readers) (bool, error) {
			p, err := r.Recipients.FindByPhone(ctx, t, w.Recipient.PhoneNumber)
			return p.ID == w.Recipient.ID, err
		}},
		{what: "address", ask: func(ctx context.Context, r ports.Readers) (bool, error) {
			a, err := r.Recipients.FindAddress(ctx, t, w.Recipient.ID, w.Address.MatchKey)
			return a == w.Address, err
		}},
		{what: "delivery of another application", none: true, ask: func(ctx context.Context, r ports.Readers) (bool, error) {
			_, err := r.Deliveries.Get(ctx, t, foreign.Delivery.ID)
			return false, err
		}},
		{what: "address of another business", none: true, ask: func(ctx context.Context, r ports.Readers) (bool, error) {
			_, err := r.Recipients.FindAddress(ctx, t, foreign.Recipient.ID, foreign.Address.MatchKey)
			return false, err
		}},
		{what: "key of another environment", none: true, ask: func(ctx context.Context, r ports.Readers) (bool, error) {
			_, err := r.Idempotency.Find(ctx, elsewhere, w.Key.Key)
			return false, err
		}},
	}
}

func TestConcurrentLookUpsFindTheirOwn(t *testing.T) {
	bothWays(t, func(t *testing.T, _, url string, o gormstore.Options) {
		o.PoolSize = 1
		s := openWith(t, url, o)
		const tenants, each = 3, 4
		var booked [tenants][each]ports.BookingWrite
		for i := range each {
			// All tenants call theirs by the same names.
			phone, key := sample.PhoneNumber(), sample.KeyRecord().Key
			for n := range tenants {
				tenant := newTenant(t, s)
				if i > 0 {
					tenant = booked[n][0].Delivery.Tenant
				}
				w := sample.BookingWrite(tenant, func(b *domain.Booking) { b.ExternalID = fmt.Sprint("order-", i) })
				w.Recipient.PhoneNumber, w.Key.Key, w.Key.Answer.Body = phone, key, []byte(w.Delivery.ID)
				if err := s.Book(t.Context(), w); err != nil {
					t.Fatal(err)
				}
				booked[n][i] = w
			}
		}
		var looks []look
		for n := range tenants {
			for i := range each {
				looks = append(looks, looksOf(booked[n][i], booked[(n+1)%tenants][i])...)
			}
		}
		rand.Shuffle(len(looks), func(i, j int) { looks[i], looks[j] = looks[j], looks[i] })

		var all sync.WaitGroup
		ask := func(l look) {
			right, err := l.ask(t.Context(), s.Read())
			if l.none != errors.Is(err, domain.ErrNotFound) || !l.none && !right {
				t.Errorf("%s: right: %t, error: %v; want none: %t", l.what, right, err, l.none)
			}
		}
		s.BatchAtOnce()
		begun := s.CountLooks()
		err := s.InTx(t.Context(), func(context.Context, ports.Stores) error { // has the only connection
			for i, l := range looks {
				all.Go(func() { ask(l) })
				if i < askers {
					await(t, func() bool { return int(begun.Load()) == i+1 })
				}
			}
			await(t, func() bool { return s.Looking() == len(looks)-askers })
			return nil
		})
		if err != nil {
			t.Error(err)
		}
		all.Wait()
	})
}

func TestAKeyWithoutAWaiterIsNotLookedUp(t *testing.T) {
	s := openWith(t, newDatabase(t), gormstore.Options{PoolSize: 1})
	s.BatchAtOnce()
	looks := s.CountLooks()
	w := sample.BookingWrite(newTenant(t, s))
	if err := s.Book(t.Context(), w); err != nil {
		t.Fatal(err)
	}
	err := s.InTx(t.Context(), func(context.Context, ports.Stores) error { // has the only connection
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		const many = 600 // more than are looked for at a time
		var all sync.WaitGroup
		for i := range many {
			all.Go(func() {
				if _, err := s.Read().Deliveries.Get(ctx, w.Delivery.Tenant, w.Delivery.ID); !errors.Is(err, context.Canceled) {
					t.Errorf("given up: %v, want that it was cancelled", err)
				}
			})
			if i < askers {
				await(t, func() bool { return int(looks.Load()) == i+1 })
			}
		}
		await(t, func() bool { return s.Looking() == many-askers })
		cancel()
		all.Wait()
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	if _, err := s.Read().Deliveries.Get(t.Context(), w.Delivery.Tenant, w.Delivery.ID); err != nil {
		t.Error(err)
	}
	if n := looks.Load(); n != askers+1 {
		t.Errorf("rows were asked for %d times, want %d", n, askers+1)
	}
}
