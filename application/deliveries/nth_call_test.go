package deliveries_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"waybill/application/deliveries"
	"waybill/application/idempotency"
	"waybill/domain"
)

// useCase is one request on a world of its own.
type useCase struct {
	name  string
	keyed bool
	calls int // of ports that can fail, when nothing does
	ready func(*testing.T, *scene) (send func(context.Context) (idempotency.Result, error))
	check func(*testing.T, *scene)
}

var useCases = []useCase{
	{
		// key, recipient, external_id, price, book
		name: "create with a new recipient", keyed: true, calls: 5,
		ready: func(_ *testing.T, s *scene) func(context.Context) (idempotency.Result, error) {
			return func(ctx context.Context) (idempotency.Result, error) {
				return s.create(ctx, key(s.tenant, "order-0001", 1), order(func(o *deliveries.Order) { o.ExternalID = "order-7" }))
			}
		},
		check: oneDelivery,
	},
	{
		// key, recipient, address, pickup location, price, book
		name: "create from a saved location to a known address", keyed: true, calls: 6,
		ready: func(t *testing.T, s *scene) func(context.Context) (idempotency.Result, error) {
			s.newAddress(t, s.tenant, s.newRecipient(t, s.tenant, "", "+233201234567"), "4 Castle Road")
			location := string(s.newLocation(t, s.tenant, nil).ID)
			return func(ctx context.Context) (idempotency.Result, error) {
				return s.create(ctx, key(s.tenant, "order-0001", 1), order(func(o *deliveries.Order) { o.Pickup, o.PickupLocationID = nil, &location }))
			}
		},
		check: oneDelivery,
	},
	{
		// key, transaction: claim, lock, update, complete
		name: "cancel with a key", keyed: true, calls: 6,
		ready: func(t *testing.T, s *scene) func(context.Context) (idempotency.Result, error) {
			d := s.mustCreate(t, key(s.tenant, "order-0001", 1), order(nil))
			return func(ctx context.Context) (idempotency.Result, error) {
				return s.Cancel(ctx, key(s.tenant, "cancel-0001", 2), d.ID, render)
			}
		},
		check: cancelledOnce,
	},
	{
		// transaction: lock, update
		name: "cancel without a key", calls: 3,
		ready: func(t *testing.T, s *scene) func(context.Context) (idempotency.Result, error) {
			d := s.mustCreate(t, key(s.tenant, "order-0001", 1), order(nil))
			return func(ctx context.Context) (idempotency.Result, error) {
				return s.Cancel(ctx, idempotency.Request{Tenant: s.tenant}, d.ID, render)
			}
		},
		check: cancelledOnce,
	},
}

func oneDelivery(t *testing.T, s *scene) {
	all, people := s.all(t, s.tenant), s.recipients(t, s.tenant)
	if len(all) != 1 || len(people) != 1 || len(s.addresses(t, s.tenant, people[0].ID)) != 1 || people[0].Name != "Ama" {
		t.Fatalf("%d deliveries, recipients %+v", len(all), people)
	}
	if events := s.events(t, s.tenant, all[0].ID); len(events) != 1 || events[0].Sequence != 1 || events[0].Type != "delivery.created" {
		t.Errorf("events %+v", events)
	}
}

func cancelledOnce(t *testing.T, s *scene) {
	all := s.all(t, s.tenant)
	if len(all) != 1 || all[0].Status() != domain.Cancelled {
		t.Fatalf("deliveries %+v", all)
	}
	if events := s.events(t, s.tenant, all[0].ID); len(events) != 2 || events[1].Sequence != 2 || events[1].Type != "delivery.cancelled" {
		t.Errorf("events %+v", events)
	}
}

// Whichever call fails in whichever way, the same request sent again gets the
// one thing that was asked for, and it is there once.
func TestWhicheverCallFailsTheRetryFindsOneEffect(t *testing.T) {
	t.Parallel()
	for _, u := range useCases {
		for _, kind := range faultKinds {
			t.Run(u.name+": a call "+string(kind), func(t *testing.T) {
				t.Parallel()
				n := 1
				for failNth(t, u, kind, n) {
					n++
				}
				if n != u.calls+1 {
					t.Errorf("the use case makes %d calls, not %d: is each one meant?", n-1, u.calls)
				}
			})
		}
	}
}

// failNth reports whether there was an nth call.
func failNth(t *testing.T, u useCase, kind fault, n int) (there bool) {
	ok := t.Run(fmt.Sprint("call ", n), func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s := newScene(t)
			send := u.ready(t, s)
			ctx, hangUp := context.WithTimeout(t.Context(), 10*time.Second)
			defer hangUp()
			f := newFaults(t, s.store, s.store, kind, n, hangUp)
			s.storage, s.bookings = f, f
			s.price = func(ctx context.Context, trip domain.Trip) (quote domain.Quote, err error) {
				err = f.call(ctx, "Price", false, func() (err error) {
					quote, err = newPrice(ctx, trip)
					return err
				})
				return quote, err
			}
			s.build()
			first, firstErr := send(ctx)
			there = f.fired != ""
			if !there && firstErr != nil {
				t.Errorf("nothing went wrong, yet %v", firstErr)
			}

			s.storage, s.bookings, s.price = s.store, s.store, newPrice
			s.build()
			second, err := send(t.Context())
			if err != nil {
				t.Fatalf("%s went wrong (%v); the retry got %v", f.fired, firstErr, err)
			}
			if firstErr == nil && (!sameAnswer(first, second) || first.Replayed || second.Replayed != u.keyed) {
				t.Errorf("%s went wrong; first answer, replayed %t\n%s\nretry, replayed %t\n%s",
					f.fired, first.Replayed, first.Answer.Body, second.Replayed, second.Answer.Body)
			}
			if third, err := send(t.Context()); err != nil || !sameAnswer(second, third) {
				t.Errorf("%s went wrong; a third request got %v\n%s", f.fired, err, third.Answer.Body)
			}
			u.check(t, s)
			if t.Failed() {
				t.Logf("call %d, %s, %s; first error %v", n, f.fired, kind, firstErr)
			}
			if errors.Is(firstErr, context.Canceled) && kind != callerHangsUp {
				t.Errorf("nobody hung up: %v", firstErr)
			}
		})
	})
	return ok && there
}
