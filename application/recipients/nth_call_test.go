package recipients_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"waybill/application/idempotency"
)

// useCase is one request on a world of its own.
type useCase struct {
	name      string
	calls     int // of ports that can fail, when nothing does
	ready     func(*testing.T, *scene) (send func(context.Context) (idempotency.Result, error))
	addresses int // of the one recipient there is in the end
}

var useCases = []useCase{
	{
		// key, transaction: claim, add, complete
		name: "create", calls: 5,
		ready: func(_ *testing.T, s *scene) func(context.Context) (idempotency.Result, error) {
			return func(ctx context.Context) (idempotency.Result, error) {
				return s.create(ctx, key(s.tenant, "person-0001", 1), "Ama", "+233201234567")
			}
		},
	},
	{
		name: "create that fills in a name", calls: 5,
		ready: func(t *testing.T, s *scene) func(context.Context) (idempotency.Result, error) {
			s.mustCreate(t, "")
			return func(ctx context.Context) (idempotency.Result, error) {
				return s.create(ctx, key(s.tenant, "person-0001", 1), "Ama", "+233201234567")
			}
		},
	},
	{
		name: "add an address", calls: 5, addresses: 1,
		ready: func(t *testing.T, s *scene) func(context.Context) (idempotency.Result, error) {
			ama := s.mustCreate(t, "Ama")
			return func(ctx context.Context) (idempotency.Result, error) {
				return s.addAddress(ctx, key(s.tenant, "place-0001", 1), ama, "4 Castle Road")
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
			if firstErr == nil && (!sameAnswer(first, second) || first.Replayed || !second.Replayed) {
				t.Errorf("%s went wrong; first answer, replayed %t\n%s\nretry, replayed %t\n%s",
					f.fired, first.Replayed, first.Answer.Body, second.Replayed, second.Answer.Body)
			}
			if third, err := send(t.Context()); err != nil || !sameAnswer(second, third) {
				t.Errorf("%s went wrong; a third request got %v\n%s", f.fired, err, third.Answer.Body)
			}
			people, places := s.people(t)
			if len(people) != 1 || people[0].Name != "Ama" || len(places[0]) != u.addresses {
				t.Errorf("%s went wrong; directory %+v, addresses %+v", f.fired, people, places)
			}
		})
	})
	return ok && there
}
