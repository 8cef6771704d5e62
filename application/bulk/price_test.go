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

	"waybill/application/deliveries"
	"waybill/domain"
	"waybill/ports"
	"waybill/test/stage"
)

// after answers as the pricing does, so much later or when the time is up.
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

func TestPricesAreAskedForEightAtATime(t *testing.T) {
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
		got, err := s.start("a").send(t.Context(), s.ask, orders(20))
		s.wantOutcome(t, got, err, 20, 0)
		if most.Load() != 8 || time.Since(start) != 3*time.Second {
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
		// Each in time for itself; the eleventh round would be behind the budget.
		a := &asked{pricing: after(1100*time.Millisecond, goodPrice)}
		s.price = a.Price
		start := time.Now()
		b := s.start("a")
		_, err := b.send(t.Context(), s.ask, orders(100))
		if e := wantCode(t, err, "IDEMPOTENCY_IN_PROGRESS"); e.RetryAfter != time.Second || time.Since(start) != 10*time.Second || a.items() != 80 {
			t.Errorf("%d prices were asked for in %s; then %+v", a.items(), time.Since(start), e)
		}
		got, err := b.send(t.Context(), s.ask, orders(100))
		s.wantOutcome(t, got, err, 100, 0)
	})
}

func TestPricesThatNeverComeEndTheTurn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t)
		s.price = func(ctx context.Context, _ domain.Trip) (domain.Quote, error) {
			<-ctx.Done()
			return domain.Quote{}, ctx.Err() // without a code, as a port should not
		}
		start := time.Now()
		_, err := s.start("a").send(t.Context(), s.ask, orders(12))
		if wantCode(t, err, "IDEMPOTENCY_IN_PROGRESS"); time.Since(start) != 10*time.Second {
			t.Errorf("after %s", time.Since(start))
		}
	})
}

func TestBehindFiveFailuresInARowTheRestFailAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t)
		a := &asked{pricing: after(2*time.Second, noPrice)}
		s.price = a.Price
		start := time.Now()
		got, err := s.start("a").send(t.Context(), s.ask, orders(100))
		s.wantOutcome(t, got, err, 100, 100)
		// Eight are under way together, and each of the first four that fail may
		// make room for another one.
		if a.items() > 12 || time.Since(start) > 4*time.Second {
			t.Errorf("%d prices were asked for in %s, want 12 in 4 s at the most", a.items(), time.Since(start))
		}
	})
}

func TestARowOfFailuresIsBrokenByAPriceAndByNothingElse(t *testing.T) {
	t.Parallel()
	const (
		busy    = 7   // items that are priced all the time, so that the others are one by one
		price   = 'p' // what becomes of an item, were it asked for
		failure = 'f'
		taken   = 't' // EXTERNAL_ID_CONFLICT, found before a price is asked
	)
	for name, c := range map[string]struct {
		row  string
		told int // items until the rest is refused unasked
	}{
		"five in a row":                     {"fffffpptp", 5},
		"a price behind every fourth":       {"ffffpffffpffffpf", 16},
		"five in a row in the middle":       {"pfffpfffffpp", 10},
		"an external_id taken in between":   {"ffftffpp", 6},
		"external_ids taken again and over": {"tftftftftftpp", 10},
		"four at the end":                   {"pppffff", 7},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newScene(t)
				what := func(item int) byte { return (strings.Repeat("b", busy) + c.row)[item] }
				items := orders(busy+len(c.row), func(i int, o *deliveries.Order) {
					if what(i) == taken {
						named(i, o)
					}
				})
				failed := 0
				want := make([]string, len(items))
				for i := range items {
					switch {
					case i >= busy+c.told, what(i) == failure:
						want[i] = "QUOTE_UNAVAILABLE"
					case what(i) == taken:
						want[i] = "EXTERNAL_ID_CONFLICT"
					}
					if want[i] != "" {
						failed++
					}
					if what(i) == taken {
						if _, err := s.start("earlier").one(t, stage.Key(s.tenant, "single-"+items[i].Order.ExternalID, 1), items[i].Order); err != nil {
							t.Fatal(err)
						}
						s.earlier++
					}
				}
				s.price = func(ctx context.Context, trip domain.Trip) (domain.Quote, error) {
					switch what(itemOf(trip)) {
					case failure:
						return after(time.Millisecond, noPrice)(ctx, trip)
					case price:
						return after(time.Millisecond, goodPrice)(ctx, trip)
					}
					return after(9*time.Second, goodPrice)(ctx, trip)
				}
				got, err := s.start("a").send(t.Context(), s.ask, items)
				o := s.wantOutcome(t, got, err, len(items), failed)
				for i, e := range o.Results {
					if e.Code != want[i] {
						t.Errorf("item %d of the row is told %q, want %q", i-busy, e.Code, want[i])
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
	// The lease was given back: nobody has to wait for it.
	s.price = goodPrice
	got, err := s.start("b").send(t.Context(), s.ask, orders(4))
	s.wantOutcome(t, got, err, 4, 0)
}

func TestAFailureOfOursEndsTheTurnAndIsNoOutcomeOfAnItem(t *testing.T) {
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
