package bulk_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
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

// oneWriter is a storage that books on one connection, as SQLite does, first come, first served. It
// is as slow as a busy disk.
type oneWriter struct {
	ports.Bookings
	connection chan struct{}
	ended      atomic.Int64 // transactions of bulks
	waited     []int64      // for each single create: how many of them it saw end
}

const (
	longForRun = 20 * time.Millisecond
	longForOne = 5 * time.Millisecond
)

func (w *oneWriter) BookRun(ctx context.Context, writes []ports.BookingWrite) (int, error) {
	w.connection <- struct{}{}
	defer func() { w.ended.Add(1); <-w.connection }()
	time.Sleep(longForRun)
	return w.Bookings.BookRun(ctx, writes)
}

func (w *oneWriter) Book(ctx context.Context, b ports.BookingWrite) error {
	before := w.ended.Load()
	w.connection <- struct{}{}
	defer func() { <-w.connection }()
	time.Sleep(longForOne)
	if b.Bulk == nil {
		w.waited = append(w.waited, w.ended.Load()-before)
	}
	return w.Bookings.Book(ctx, b)
}

func TestASingleCreateWaitsForOneOrTwoTransactionsOfAFloodOfBulks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const bulks, items = 48, 52 // of two transactions each
		s := newScene(t)
		w := &oneWriter{Bookings: s.Store, connection: make(chan struct{}, 1)}
		s.bookings = w
		p, other := s.start("a"), s.NewTenant(t)
		asks := make([]idempotency.Request, bulks)
		for i := range asks {
			asks[i] = stage.Key(s.NewTenant(t), fmt.Sprintf("bulk-%04d", i), 1)
		}
		var flood sync.WaitGroup
		for i, ask := range asks {
			flood.Go(func() {
				got, err := p.send(t.Context(), ask, orders(items))
				if err != nil || outcomeOf(t, got).Created != items {
					t.Errorf("bulk %d: %s, %v", i, got.Answer.Body, err)
				}
			})
		}
		for i := range 20 {
			time.Sleep(longForRun)
			if _, err := p.one(t, stage.Key(other, fmt.Sprintf("single-%04d", i), 1), orders(i + 1)[i].Order); err != nil {
				t.Fatal(err)
			}
		}
		left := 2*bulks - int(w.ended.Load())
		flood.Wait()
		if worst := slices.Max(w.waited); len(w.waited) != 20 || worst > 2 {
			t.Errorf("single creates waited for %v transactions of bulks, want two at the most", w.waited)
		}
		if left < bulks/2 {
			t.Errorf("%d transactions of the flood are left, so this test shows little", left)
		}
	})
}

func TestAWriterThatPausesWorksForAFractionOfTheTimeAndKeepsNoAnswerBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const bulks = 10
		s := newScene(t)
		w := &oneWriter{Bookings: s.Store, connection: make(chan struct{}, 1)}
		s.bookings, s.throttle = w, bulk.Throttle{Writers: 1, Pause: 3}
		p := s.start("a")
		send := func(key string) {
			got, err := p.send(t.Context(), stage.Key(s.NewTenant(t), key, 1), orders(50))
			if err != nil || outcomeOf(t, got).Created != 50 {
				t.Errorf("%s: %s, %v", key, got.Answer.Body, err)
			}
		}
		begun := time.Now()
		send("alone-0001")
		if took := time.Since(begun); took != longForRun {
			t.Errorf("a bulk that came alone took %s, want the %s of its transaction", took, longForRun)
		}
		var flood sync.WaitGroup
		for i := range bulks {
			flood.Go(func() { send(fmt.Sprintf("bulk-%04d", i)) })
		}
		flood.Wait()
		// A pause after each transaction but the last.
		if took, want := time.Since(begun), (1+bulks)*longForRun+bulks*3*longForRun; took != want {
			t.Errorf("%d transactions, one after the other, took %s, want %s", 1+bulks, took, want)
		}
	})
}

// A locked row must not stop the bulks of others.
func TestATransactionThatTakesLongReleasesItsPermit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t)
		s.bookings = stuck{s.Store, s.ask.Tenant.ApplicationID}
		p := s.start("a")
		var held sync.WaitGroup
		for i := range 4 {
			held.Go(func() {
				ask := stage.Key(s.tenant, fmt.Sprintf("held-%04d", i), 1)
				_, _ = p.send(t.Context(), ask, orders(10, func(n int, o *deliveries.Order) { o.ExternalID = fmt.Sprint(i, "-", n) }))
			})
		}
		synctest.Wait()
		other, begun := stage.Key(s.NewTenant(t), "bulk-0001", 1), time.Now()
		if got, err := p.send(t.Context(), other, orders(10)); err != nil || outcomeOf(t, got).Created != 10 {
			t.Errorf("%+v, %v", got, err)
		}
		if took := time.Since(begun); took > 3*time.Second {
			t.Errorf("the bulk of another customer took %s beside four that hang", took)
		}
		held.Wait()
	})
}

// stuck is a storage in which the rows of one application are locked.
type stuck struct {
	ports.Bookings
	application domain.ID
}

func (s stuck) BookRun(ctx context.Context, writes []ports.BookingWrite) (int, error) {
	if writes[0].Delivery.Tenant.ApplicationID == s.application {
		<-ctx.Done()
		return 0, ctx.Err()
	}
	return s.Bookings.BookRun(ctx, writes)
}

func (s stuck) Book(ctx context.Context, w ports.BookingWrite) error {
	if w.Delivery.Tenant.ApplicationID == s.application {
		<-ctx.Done()
		return ctx.Err()
	}
	return s.Bookings.Book(ctx, w)
}
