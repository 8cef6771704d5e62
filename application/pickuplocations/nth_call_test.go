package pickuplocations_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"waybill/application/idempotency"
	"waybill/domain"
)

// useCase is one request on a world of its own.
type useCase struct {
	name  string
	keyed bool
	calls int // of ports that can fail, when nothing does
	ready func(*testing.T, *scene) (send func(context.Context) (idempotency.Result, error))
}

var useCases = []useCase{
	{
		// key, transaction: claim, insert, complete
		name: "create", keyed: true, calls: 5,
		ready: func(_ *testing.T, s *scene) func(context.Context) (idempotency.Result, error) {
			form := osu
			form.Name = "Ridge"
			return func(ctx context.Context) (idempotency.Result, error) {
				return s.create(ctx, key(s.tenant, "place-0001", 1), form)
			}
		},
	},
	{
		// key, transaction: claim, lock, update, complete
		name: "change with a key", keyed: true, calls: 6,
		ready: func(t *testing.T, s *scene) func(context.Context) (idempotency.Result, error) {
			id := s.mustCreate(t, osu)
			return func(ctx context.Context) (idempotency.Result, error) {
				return s.change(ctx, key(s.tenant, "change-0001", 1), id, domain.PickupLocationChange{Name: new("Ridge")})
			}
		},
	},
	{
		// transaction: lock, update
		name: "change without a key", calls: 3,
		ready: func(t *testing.T, s *scene) func(context.Context) (idempotency.Result, error) {
			id := s.mustCreate(t, osu)
			return func(ctx context.Context) (idempotency.Result, error) {
				return s.change(ctx, idempotency.Request{Tenant: s.tenant}, id, domain.PickupLocationChange{Name: new("Ridge")})
			}
		},
	},
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
			f := newFaults(t, s.store, kind, n, hangUp)
			s.on(f)
			first, firstErr := send(ctx)
			if there = f.fired != ""; !there && firstErr != nil {
				t.Errorf("nothing went wrong, yet %v", firstErr)
			}

			s.on(s.store)
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
			if all := s.all(t); len(all) != 1 || all[0].Name != "Ridge" {
				t.Errorf("%s went wrong; locations %+v", f.fired, all)
			}
		})
	})
	return ok && there
}
