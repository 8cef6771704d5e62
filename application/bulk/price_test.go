package bulk_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"waybill/domain"
	"waybill/ports"
)

// after returns a pricing that answers after a delay, or when the time is up.
func after(d time.Duration, p pricing) pricing {
	return func(ctx context.Context, trip domain.Trip) (domain.Quote, error) {
		select {
		case <-time.After(d):
			return p(ctx, trip)
		case <-ctx.Done():
			return domain.Quote{}, domain.QuoteUnavailable(ctx.Err())
		}
	}
}

func TestPricesAreAskedForSixteenAtATime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t)
		var now, most atomic.Int32
		slow := after(time.Second, goodPrice)
		s.price = func(ctx context.Context, trip domain.Trip) (domain.Quote, error) {
			atTheMost(&most, now.Add(1))
			defer now.Add(-1)
			return slow(ctx, trip)
		}
		start := time.Now()
		got, err := s.start("a").send(t.Context(), s.ask, orders(40))
		s.wantOutcome(t, got, err, 40, 0)
		if most.Load() != 16 || time.Since(start) != 3*time.Second {
			t.Errorf("%d prices at a time, in %s", most.Load(), time.Since(start))
		}
	})
}

func TestItemsAreBookedWhileLaterOnesArePriced(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t)
		begun := time.Now()
		s.price = func(ctx context.Context, trip domain.Trip) (domain.Quote, error) {
			if itemOf(trip) == 9 {
				time.Sleep(5 * time.Second)
			}
			return goodPrice(ctx, trip)
		}
		booked := make([]time.Duration, 10)
		s.bookings = booking{Bookings: s.Store, before: func(i int) { booked[i] = time.Since(begun) }}
		got, err := s.start("a").send(t.Context(), s.ask, orders(10))
		s.wantOutcome(t, got, err, 10, 0)
		if slices.Max(booked[:9]) > 100*time.Millisecond || booked[9] != 5*time.Second {
			t.Errorf("booked after %v, want all but the last one in a moment, and that after 5 s", booked)
		}
	})
}

func TestWhatThereWasNoTimeToPriceComesWithTheNextTry(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t)
		// Each price is in time by itself. The seventh round would be beyond the budget.
		a := &asked{pricing: after(5*time.Second-time.Millisecond, goodPrice)}
		s.price = a.Price
		start := time.Now()
		b := s.start("a")
		_, err := b.send(t.Context(), s.ask, orders(100))
		if e := wantCode(t, err, "IDEMPOTENCY_IN_PROGRESS"); e.RetryAfter != time.Second || time.Since(start) != 30*time.Second ||
			len(s.stored(t)) != 96 {
			t.Errorf("%d deliveries in %s; then %+v", len(s.stored(t)), time.Since(start), e)
		}
		got, err := b.send(t.Context(), s.ask, orders(100))
		s.wantOutcome(t, got, err, 100, 0)
	})
}

func TestPricesThatNeverComeEndTheRun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t)
		s.price = func(ctx context.Context, _ domain.Trip) (domain.Quote, error) {
			<-ctx.Done()
			return domain.Quote{}, ctx.Err() // without a code, as a port should not
		}
		start := time.Now()
		_, err := s.start("a").send(t.Context(), s.ask, orders(12))
		if wantCode(t, err, "IDEMPOTENCY_IN_PROGRESS"); time.Since(start) != 30*time.Second {
			t.Errorf("after %s", time.Since(start))
		}
	})
}

func TestEachItemIsPricedForItselfWhateverBecameOfOthers(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]string{
		"five good, eight bad, twenty good": "pppppffffffffpppppppppppppppppppp",
		"all bad":                           strings.Repeat("f", 100),
		"one good behind ninety-nine":       strings.Repeat("f", 99) + "p",
		"in turns":                          strings.Repeat("fp", 50),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newScene(t)
				a := &asked{pricing: func(ctx context.Context, trip domain.Trip) (domain.Quote, error) {
					if row[itemOf(trip)] == 'f' {
						return after(2*time.Second, noPrice)(ctx, trip)
					}
					return goodPrice(ctx, trip)
				}}
				s.price = a.Price
				got, err := s.start("a").send(t.Context(), s.ask, orders(len(row)))
				o := s.wantOutcome(t, got, err, len(row), strings.Count(row, "f"))
				for i, e := range o.Results {
					if (e.Code == "QUOTE_UNAVAILABLE") != (row[i] == 'f') || a.times[i] != 1 {
						t.Errorf("item %d is told %q after %d questions", i, e.Code, a.times[i])
					}
				}
			})
		})
	}
}

func TestAPanicInPricingIsAnErrorAndTheBulkCanBeResumed(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.price = func(ctx context.Context, trip domain.Trip) (domain.Quote, error) {
		if itemOf(trip) == 2 {
			panic("division by zero")
		}
		return goodPrice(ctx, trip)
	}
	_, err := s.start("a").send(t.Context(), s.ask, orders(4))
	if e := wantCode(t, err, "INTERNAL_SERVER_ERROR"); e.Kind != domain.KindInternal || !strings.Contains(e.Error(), "division by zero") {
		t.Errorf("got %v", e)
	}
	if n := len(s.stored(t)); n != 2 {
		t.Errorf("%d deliveries, want the two before it", n)
	}
	// The lease was released, so no retry waits for it.
	s.price = goodPrice
	got, err := s.start("b").send(t.Context(), s.ask, orders(4))
	s.wantOutcome(t, got, err, 4, 0)
}

func TestAFailureOfOursEndsTheRunAndIsNoOutcomeOfAnItem(t *testing.T) {
	t.Parallel()
	broken := errors.New("the disk is on fire")
	for name, failure := range map[string]error{"broken": broken, "busy": domain.Busy(broken)} {
		t.Run(name+" while a price is asked for", func(t *testing.T) {
			t.Parallel()
			s := newScene(t)
			s.price = func(ctx context.Context, trip domain.Trip) (domain.Quote, error) {
				if itemOf(trip) == 1 {
					return domain.Quote{}, failure
				}
				return goodPrice(ctx, trip)
			}
			if _, err := s.start("a").send(t.Context(), s.ask, orders(3)); !errors.Is(err, broken) {
				t.Errorf("got %v", err)
			}
			s.price = goodPrice
			got, err := s.start("b").send(t.Context(), s.ask, orders(3))
			s.wantOutcome(t, got, err, 3, 0)
		})
		t.Run(name+" while an item is booked", func(t *testing.T) {
			t.Parallel()
			s := newScene(t)
			s.bookings = singly{failing{s.Store, failure, new(atomic.Int32)}}
			if _, err := s.start("a").send(t.Context(), s.ask, orders(3)); !errors.Is(err, broken) {
				t.Errorf("got %v", err)
			}
			s.bookings = s.Store
			got, err := s.start("b").send(t.Context(), s.ask, orders(3))
			s.wantOutcome(t, got, err, 3, 0)
		})
	}
}

// failing fails the second booking.
type failing struct {
	ports.Bookings
	failure error
	calls   *atomic.Int32
}

func (f failing) Book(ctx context.Context, w ports.BookingWrite) error {
	if f.calls.Add(1) == 2 {
		return f.failure
	}
	return f.Bookings.Book(ctx, w)
}

func TestALeaseIsKeptWhileAPriceIsSlow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t)
		s.lease = 3 * time.Second
		s.price = after(9500*time.Millisecond, goodPrice)
		got, err := s.start("a").send(t.Context(), s.ask, orders(1))
		s.wantOutcome(t, got, err, 1, 0)
		if s.witness.extended != 9 {
			t.Errorf("%d signs of life in 9.5 s under a lease of 3 s, want one a second", s.witness.extended)
		}
	})
}
