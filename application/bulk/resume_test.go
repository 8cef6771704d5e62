package bulk_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"waybill/application/bulk"
	"waybill/application/deliveries"
	"waybill/application/idempotency"
	"waybill/domain"
	"waybill/ports"
	"waybill/test/stage"
)

func TestABulkUnderWayIsToldToWait(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	asking, priced := make(chan struct{}), make(chan struct{})
	s.price = func(ctx context.Context, trip domain.Trip) (domain.Quote, error) {
		close(asking)
		<-priced
		return goodPrice(ctx, trip)
	}
	here, elsewhere := s.start("here"), s.start("elsewhere")
	done := make(chan struct{})
	go func() {
		defer close(done)
		got, err := here.send(t.Context(), s.ask, orders(1))
		if err != nil || got.Replayed {
			t.Errorf("the first request: %+v, %v", got, err)
		}
	}()
	<-asking
	got, err := here.send(t.Context(), s.ask, orders(1))
	wantInProgress(t, got, err) // this process knows that no process died
	got, err = elsewhere.send(t.Context(), s.ask, orders(1))
	wantLeased(t, got, err)
	if n := len(s.stored(t)); n != 0 {
		t.Errorf("%d deliveries", n)
	}
	close(priced)
	<-done
	got, err = here.send(t.Context(), s.ask, orders(1))
	s.wantOutcome(t, got, err, 1, 0)
}

// A process may be frozen for longer than its lease lasts. It stops at its next renewal, not when
// its prices come.
func TestAProcessWhoseLeaseWasTakenWhileItWaitedEndsItsWork(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t)
		s.lease = 3 * time.Second
		hangs := func(ctx context.Context, _ domain.Trip) (domain.Quote, error) {
			<-ctx.Done()
			return domain.Quote{}, domain.QuoteUnavailable(ctx.Err())
		}
		s.price = hangs
		frozen := s.start("frozen")
		type end struct {
			result idempotency.Result
			err    error
			after  time.Duration
		}
		ended, begun := make(chan end), time.Now()
		go func() {
			got, err := frozen.send(t.Context(), s.ask, orders(5))
			ended <- end{got, err, time.Since(begun)}
		}()
		synctest.Wait()
		s.leaseRunsOut(t)
		s.price = goodPrice
		got, err := s.start("next").send(t.Context(), s.ask, orders(5))
		s.wantOutcome(t, got, err, 5, 0)
		e := <-ended
		s.wantOutcome(t, e.result, e.err, 5, 0)
		if e.after > time.Second+200*time.Millisecond {
			t.Errorf("ended after %s, want the other's answer by the next sign of life", e.after)
		}
	})
}

// leave makes a process stop after the given number of items.
func (s *scene) leave(t *testing.T, name string, items []bulk.Item, done int) {
	t.Helper()
	var p *process
	bookings := s.bookings
	defer func() { s.bookings = bookings }()
	s.bookings = booking{Bookings: bookings, after: func(i int) {
		if i == done-1 {
			p.Stop()
		}
	}}
	p = s.start(name)
	got, err := p.send(t.Context(), s.ask, items)
	wantInProgress(t, got, err)
}

func TestWhatIsDoneIsSkippedAndAnsweredAsItWasRecorded(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.price = noPriceFor(1)
	items := orders(6, named)
	s.leave(t, "first", items, 3)
	if n := len(s.stored(t)); n != 2 {
		t.Fatalf("%d deliveries, want items 0 and 2", n)
	}
	a := &asked{pricing: goodPrice}
	s.price = a.Price
	s.leave(t, "second", items, 4)
	got, err := s.start("third").send(t.Context(), s.ask, items)
	o := s.wantOutcome(t, got, err, 6, 1)
	for i, by := range []string{"first", "first", "first", "second", "third", "third"} {
		if o.Results[i].By != by {
			t.Errorf("item %d was answered by %q, want %q", i, o.Results[i].By, by)
		}
	}
	// A failed item stays failed, though it would succeed by now.
	if o.Results[1].Code != "QUOTE_UNAVAILABLE" || a.times[0]+a.times[1]+a.times[2] != 0 {
		t.Errorf("item 1: %+v; prices asked for %v", o.Results[1], a.times)
	}
	again, err := s.start("fourth").send(t.Context(), s.ask, items)
	s.wantOutcome(t, again, err, 6, 1)
	if !again.Replayed || !stage.SameAnswer(got, again) {
		t.Errorf("replayed %t\n%s\n%s", again.Replayed, got.Answer.Body, again.Answer.Body)
	}
}

func TestAnItemThatBecameWrongMeanwhileFailsByItself(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	place := s.newLocation(t, nil)
	items := orders(4, func(i int, o *deliveries.Order) {
		if i == 1 || i == 2 {
			o.Pickup, o.PickupLocationID = nil, new(string(place.ID))
		}
	})
	s.leave(t, "first", items, 2)
	s.close(t, place)
	got, err := s.start("second").send(t.Context(), s.ask, items)
	o := s.wantOutcome(t, got, err, 4, 1)
	if o.Results[2].Code != "PICKUP_LOCATION_INACTIVE" || o.Results[2].Message == "" {
		t.Errorf("item 2: %+v", o.Results[2])
	}
	// In a new request the rest is invalid.
	_, err = s.start("third").send(t.Context(), stage.Key(s.tenant, "bulk-0002", 2), items[2:])
	if told := problemsOf(t, err); len(told) != 1 || told[0].code != "PICKUP_LOCATION_INACTIVE" {
		t.Errorf("told %v", told)
	}
}

func TestAResumedItemWhoseFieldsBecameWrongIsToldSo(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	items := orders(3)
	s.leave(t, "first", items, 1)
	// The rules for single fields may be stricter in the process that resumes.
	items[1].Problems = []domain.FieldError{{Field: "vehicle_type", Code: domain.FieldNotAllowed, Message: "is not offered any more"}}
	items[2].Problems = []domain.FieldError{{Code: domain.FieldInvalidType, Message: "must be an object"}}
	got, err := s.start("second").send(t.Context(), s.ask, items)
	o := s.wantOutcome(t, got, err, 3, 2)
	if e := o.Results[1]; e.Code != "VALIDATION_ERROR" || e.Message != "vehicle_type: is not offered any more" {
		t.Errorf("item 1: %+v", e)
	}
	if e := o.Results[2]; e.Code != "VALIDATION_ERROR" || e.Message != "must be an object" {
		t.Errorf("item 2: %+v", e)
	}
}

func TestAPanicWhileAResumedItemIsDraftedIsAnError(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	items := orders(3, func(i int, o *deliveries.Order) { o.Recipient.Address = []string{"One", "Two", "Three"}[i] })
	s.leave(t, "first", items, 1)
	s.normalizer = panicking{at: "Three"}
	_, err := s.start("second").send(t.Context(), s.ask, items)
	wantCode(t, err, "INTERNAL_SERVER_ERROR")
	s.normalizer = stage.FoldCase{}
	got, err := s.start("third").send(t.Context(), s.ask, items)
	s.wantOutcome(t, got, err, 3, 0)
}

func TestStop(t *testing.T) {
	t.Parallel()
	t.Run("ends a bulk between two items and gives the lease back", func(t *testing.T) {
		t.Parallel()
		s := newScene(t)
		items := orders(5)
		s.leave(t, "first", items, 2)
		if n := len(s.stored(t)); n != 2 {
			t.Errorf("%d deliveries, want 2", n)
		}
		if r, there := s.record(t); !there || r.Answered() || r.LeaseLeft > 0 {
			t.Errorf("record %+v", r)
		}
		got, err := s.start("second").send(t.Context(), s.ask, items)
		s.wantOutcome(t, got, err, 5, 0)
	})
	t.Run("waits for no price", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			s := newScene(t)
			s.price = after(9*time.Second, goodPrice)
			first := s.start("first")
			time.AfterFunc(2*time.Second, first.Stop)
			start := time.Now()
			got, err := first.send(t.Context(), s.ask, orders(3))
			wantInProgress(t, got, err)
			if time.Since(start) != 2*time.Second {
				t.Errorf("ended after %s", time.Since(start))
			}
			s.price = goodPrice
			got, err = s.start("second").send(t.Context(), s.ask, orders(3))
			s.wantOutcome(t, got, err, 3, 0)
		})
	})
	t.Run("holds for bulks that come later, and may be said twice", func(t *testing.T) {
		t.Parallel()
		s := newScene(t)
		first := s.start("first")
		first.Stop()
		first.Stop()
		got, err := first.send(t.Context(), s.ask, orders(3))
		wantInProgress(t, got, err)
		if n := len(s.stored(t)); n != 0 {
			t.Errorf("%d deliveries", n)
		}
		got, err = s.start("second").send(t.Context(), s.ask, orders(3))
		s.wantOutcome(t, got, err, 3, 0)
	})
}

func TestATurnEndsWhenItTakesTooLong(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t)
		s.bookings = booking{Bookings: s.Store, before: func(int) { time.Sleep(9 * time.Second) }}
		start := time.Now()
		got, err := s.start("first").send(t.Context(), s.ask, orders(10))
		wantInProgress(t, got, err)
		if n := len(s.stored(t)); n != 5 || time.Since(start) != 45*time.Second {
			t.Errorf("%d deliveries in %s, want the item to be the last that 40 s fall into", n, time.Since(start))
		}
		got, err = s.start("second").send(t.Context(), s.ask, orders(10))
		s.wantOutcome(t, got, err, 10, 0)
	})
}

func TestAKeyThatIsLockedForTooLongIsInProgress(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.storage = stage.Between{Storage: s.storage, Change: func(tx *ports.Stores) { tx.Bulks = busyBulks{tx.Bulks} }}
	got, err := s.start("a").send(t.Context(), s.ask, orders(2))
	wantInProgress(t, got, err)
	s.untouched(t)
}

// busyBulks finds every key locked by another request.
type busyBulks struct{ ports.BulkStore }

func (busyBulks) Claim(context.Context, domain.Tenant, domain.KeyRecord, string, time.Duration, time.Duration) (ports.BulkHold, error) {
	return ports.BulkHold{}, ports.ErrKeyBusy
}
