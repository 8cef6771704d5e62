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

	"waybill/application/deliveries"
	"waybill/application/idempotency"
	"waybill/domain"
	"waybill/ports"
	"waybill/test/stage"
)

// flooded counts the transactions of bulks that end while a single create waits
// for its own.
type flooded struct {
	ports.Bookings
	ended  atomic.Int64 // of bulks
	mu     sync.Mutex
	waited []int64 // of each single create: how many of bulks it saw end
}

func (f *flooded) BookRun(ctx context.Context, writes []ports.BookingWrite) (int, error) {
	defer f.ended.Add(1)
	return f.Bookings.BookRun(ctx, writes)
}

func (f *flooded) Book(ctx context.Context, w ports.BookingWrite) error {
	if w.Bulk != nil {
		return f.Bookings.Book(ctx, w)
	}
	before := f.ended.Load()
	err := f.Bookings.Book(ctx, w)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.waited = append(f.waited, f.ended.Load()-before)
	return err
}

// All bulks and singles are on one connection here, that of SQLite which writes.
func TestASingleCreateWaitsForOneOrTwoTransactionsOfAFloodOfBulks(t *testing.T) {
	t.Parallel()
	const items = 100
	bulks := 48
	if testing.Short() {
		bulks = 16
	}
	s := newScene(t)
	f := &flooded{Bookings: s.Store}
	s.bookings = f
	p, other := s.start("a"), s.NewTenant(t)
	asks := make([]idempotency.Request, bulks)
	for i := range asks { // before the flood, in which they would wait too
		asks[i] = stage.Key(s.NewTenant(t), fmt.Sprintf("bulk-%04d", i), 1)
	}
	var wg sync.WaitGroup
	for i, ask := range asks {
		wg.Go(func() {
			got, err := p.send(t.Context(), ask, orders(items))
			if err != nil {
				t.Errorf("bulk %d: %v", i, err)
				return
			}
			if o := outcomeOf(t, got); o.Created != items {
				t.Errorf("bulk %d made %d deliveries", i, o.Created)
			}
		})
	}
	flood := make(chan struct{})
	go func() { wg.Wait(); close(flood) }()
	for f.ended.Load() == 0 {
		time.Sleep(time.Millisecond) // until the flood is there
	}
	singles := 0
	for over := false; !over; singles++ {
		if _, err := p.one(t, stage.Key(other, fmt.Sprintf("single-%04d", singles), 1), orders(singles + 1)[singles].Order); err != nil {
			t.Fatal(err)
		}
		select {
		case <-flood:
			over = true
		default:
		}
	}
	slices.Sort(f.waited)
	median, worst := f.waited[len(f.waited)/2], f.waited[len(f.waited)-1]
	t.Logf("%d single creates beside %d transactions of bulks, of which each saw %d end, one of them %d", singles, f.ended.Load(), median, worst)
	// One that takes long gives its turn away, as on a machine that is busy, and one
	// that ends beside the count makes one more of it.
	if median > 3 {
		t.Errorf("half of the single creates waited for %d transactions of bulks and more, want about one or two", median)
	}
}

// A row that somebody holds must not stop the bulks of others.
func TestATransactionThatTakesLongGivesItsTurnAway(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t)
		held := s.ask
		s.bookings = stuck{s.Store, held.Tenant.ApplicationID}
		p := s.start("a")
		var wg sync.WaitGroup
		for i := range 4 {
			wg.Go(func() {
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
		wg.Wait()
	})
}

// stuck is a storage in which the rows of one application are held.
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
