package bulk_test

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"waybill/domain"
	"waybill/ports"
)

// runs records what a storage is asked to book together, and answers it.
type runs struct {
	ports.Bookings
	asked  [][]int // items
	answer func(ctx context.Context, writes []ports.BookingWrite) (int, error)
	single []int
}

func (r *runs) BookRun(ctx context.Context, writes []ports.BookingWrite) (int, error) {
	var items []int
	for _, w := range writes {
		items = append(items, w.Bulk.Item.Index)
	}
	r.asked = append(r.asked, items)
	return r.answer(ctx, writes)
}

func (r *runs) Book(ctx context.Context, w ports.BookingWrite) error {
	r.single = append(r.single, w.Bulk.Item.Index)
	return r.Bookings.Book(ctx, w)
}

func TestItemsThatAreReadyAreBookedTogether(t *testing.T) {
	t.Parallel()
	errDown := errors.New("the database is gone")
	for name, c := range map[string]struct {
		answer func(s *scene, tries int32, ctx context.Context, writes []ports.BookingWrite) (int, error)
		asked  [][]int
		single []int
	}{
		"all come through": {
			func(s *scene, _ int32, ctx context.Context, writes []ports.BookingWrite) (int, error) {
				return s.Store.BookRun(ctx, writes)
			},
			[][]int{{0, 1, 2, 3, 4}}, nil,
		},
		"the third does not": {
			func(s *scene, tries int32, ctx context.Context, writes []ports.BookingWrite) (int, error) {
				if tries == 1 {
					writes = writes[:2]
				}
				if tries == 2 {
					return 0, nil
				}
				return s.Store.BookRun(ctx, writes)
			},
			[][]int{{0, 1, 2, 3, 4}, {2, 3, 4}, {3, 4}}, []int{2},
		},
		"a failure": {
			func(*scene, int32, context.Context, []ports.BookingWrite) (int, error) { return 0, errDown },
			[][]int{{0, 1, 2, 3, 4}, {1, 2, 3, 4}}, []int{0, 1, 2, 3, 4},
		},
		"a commit without an answer": {
			func(s *scene, tries int32, ctx context.Context, writes []ports.BookingWrite) (int, error) {
				if tries == 1 {
					_, err := s.Store.BookRun(ctx, writes[:2])
					return 0, errors.Join(err, ports.ErrOutcomeUnknown)
				}
				return s.Store.BookRun(ctx, writes)
			},
			[][]int{{0, 1, 2, 3, 4}, {1, 2, 3, 4}}, []int{0, 1, 2, 3, 4},
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newScene(t)
				s.price = func(ctx context.Context, trip domain.Trip) (domain.Quote, error) {
					if itemOf(trip) == 0 {
						time.Sleep(time.Second) // by then all others have theirs
					}
					return goodPrice(ctx, trip)
				}
				var tries atomic.Int32
				r := &runs{Bookings: s.Store, answer: func(ctx context.Context, writes []ports.BookingWrite) (int, error) {
					return c.answer(s, tries.Add(1), ctx, writes)
				}}
				s.bookings = r
				got, err := s.start("a").send(t.Context(), s.ask, orders(5, named))
				s.wantOutcome(t, got, err, 5, 0)
				if !slices.EqualFunc(r.asked, c.asked, slices.Equal) || !slices.Equal(r.single, c.single) {
					t.Errorf("asked for %v together and %v alone, want %v and %v", r.asked, r.single, c.asked, c.single)
				}
			})
		})
	}
}

func TestARunWhoseLeaseIsLostEndsTheWork(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t)
		s.price = func(ctx context.Context, trip domain.Trip) (domain.Quote, error) {
			if itemOf(trip) == 0 {
				time.Sleep(time.Second)
			}
			return goodPrice(ctx, trip)
		}
		r := &runs{Bookings: s.Store, answer: func(context.Context, []ports.BookingWrite) (int, error) { return 0, ports.ErrLeaseLost }}
		s.bookings = r
		_, err := s.start("a").send(t.Context(), s.ask, orders(5))
		wantCode(t, err, "IDEMPOTENCY_IN_PROGRESS")
		if len(r.asked) != 1 || r.single != nil || len(s.stored(t)) != 0 {
			t.Errorf("asked for %v together and %v alone; %d deliveries", r.asked, r.single, len(s.stored(t)))
		}
	})
}
