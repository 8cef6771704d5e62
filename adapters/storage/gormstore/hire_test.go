package gormstore

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"waybill/domain"
	"waybill/ports"
)

// slowFolder takes its time for each fold and tells how many bookings it had.
func slowFolder(took time.Duration) (*folder, chan int) {
	folds := make(chan int, 1000)
	return &folder{writers: 2, patience: time.Hour, long: longFold, store: func(_ context.Context, entries []*entry) []error {
		folds <- len(entries)
		time.Sleep(took)
		return make([]error, len(entries))
	}}, folds
}

func writersOf(f *folder) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.busy
}

// newcomer is a booking that claims nothing.
func newcomer() *entry {
	return &entry{BookingWrite: ports.BookingWrite{Delivery: &domain.Delivery{}}}
}

func TestASecondWriterComesWhereHalfAFoldWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, folds := slowFolder(longFold / 2)
		f.lately = mostFolded
		book := func(n int) {
			for range n {
				go func() { _ = f.book(t.Context(), newcomer()) }()
				synctest.Wait()
			}
		}
		book(1 + manyWaiting - 1) // the first one is stored by itself
		if len(folds) != 1 {
			t.Fatalf("%d folds while %d wait, want 1", len(folds), manyWaiting-1)
		}
		book(1)
		if len(folds) != 2 {
			t.Fatalf("%d folds where %d wait, want 2", len(folds), manyWaiting)
		}
		if first, second := <-folds, <-folds; first != 1 || second != manyWaiting {
			t.Errorf("folds of %d and %d, want 1 and %d", first, second, manyWaiting)
		}
		time.Sleep(time.Second)
	})
}

func TestASecondWriterComesWhereAFoldTakesLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, folds := slowFolder(time.Second)
		f.lately = mostFolded
		for _, at := range []time.Duration{0, longFold, longFold + time.Millisecond} {
			time.AfterFunc(at, func() { _ = f.book(t.Context(), newcomer()) })
		}
		time.Sleep(longFold)
		synctest.Wait()
		if len(folds) != 1 {
			t.Fatalf("%d folds, want the second booking to wait", len(folds))
		}
		time.Sleep(time.Millisecond)
		synctest.Wait()
		if len(folds) != 2 {
			t.Fatalf("%d folds, want a second one as the first takes long", len(folds))
		}
		time.Sleep(time.Minute)
	})
}

func TestASecondWriterComesForWhoeverWaitsWhileNobodyElseArrives(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, folds := slowFolder(time.Second)
		f.lately = mostFolded
		for range 2 {
			go func() { _ = f.book(t.Context(), newcomer()) }()
			synctest.Wait()
		}
		time.Sleep(2*longFold + time.Millisecond)
		synctest.Wait()
		if len(folds) != 2 {
			t.Errorf("%d folds, want a second one after %s", len(folds), 2*longFold)
		}
		time.Sleep(time.Minute)
	})
}

func TestASecondWriterComesAtOnceWhereFoldsAreSmallAndGoesWhereTheyAreNot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const took = longFold / 2
		f, _ := slowFolder(took)
		book := func(n int) {
			for range n {
				go func() { _ = f.book(t.Context(), newcomer()) }()
				synctest.Wait()
			}
		}
		busy := func() int { f.mu.Lock(); defer f.mu.Unlock(); return f.busy }
		for range lastFolds {
			book(1)
			time.Sleep(took / 2)
			if book(1); busy() != 2 {
				t.Fatalf("%d writers where each fold has one, want 2", busy())
			}
			time.Sleep(time.Second)
		}
		book(1)
		time.Sleep(took / 2)
		book(1) // half a fold behind, so that whoever ends finds somebody waiting
		for range 3 * lastFolds {
			book(manyWaiting/2 - 1)
			time.Sleep(took / 2)
		}
		if busy() != 1 {
			t.Errorf("%d writers where folds are no longer small, want 1", busy())
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if n := len(f.waiting); n > 0 || busy() > 0 {
			t.Errorf("%d wait and %d are at work in the end", n, busy())
		}
	})
}

func TestASecondProberComesWhereManyWaitOrOneTakesLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked := 0
		ls := &probes{long: longProbe, conn: func(context.Context, func(*pgConn) error) error {
			asked++
			time.Sleep(time.Second)
			return errors.New("nobody is there")
		}}
		add := func(n int) {
			for range n {
				ls.add(&probe{done: make(chan error, 1)})
				synctest.Wait()
			}
		}
		add(1 + mostProbes/2 - 1)
		if asked != 1 {
			t.Fatalf("%d probers, want one", asked)
		}
		add(1)
		if asked != 2 {
			t.Fatalf("%d probers where %d wait, want two", asked, mostProbes/2)
		}
		time.Sleep(time.Minute)
		asked = 0
		add(1)
		time.Sleep(longProbe + time.Millisecond)
		if add(1); asked != 2 {
			t.Fatalf("%d probers where one takes long, want two", asked)
		}
		time.Sleep(time.Minute)
	})
}

func TestWhoeversTimeIsUpBooksNothing(t *testing.T) {
	ended, end := context.WithCancel(t.Context())
	end()
	f, folds := slowFolder(0)
	for range 500 {
		if err := f.book(ended, newcomer()); !errors.Is(err, context.Canceled) {
			t.Fatalf("%v, want that the caller was gone", err)
		}
	}
	if len(folds) > 0 {
		t.Errorf("%d bookings of callers that were gone, want none", len(folds))
	}
}

func TestABookingThatHasWaitedForTooLongIsGivenAnotherTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, _ := slowFolder(mostWaited + time.Millisecond)
		f.writers = 1
		var mu sync.Mutex
		outcomes := map[time.Duration]error{}
		for _, at := range []time.Duration{0, time.Nanosecond, mostWaited} {
			time.AfterFunc(at, func() {
				err := f.book(t.Context(), newcomer())
				mu.Lock()
				defer mu.Unlock()
				outcomes[at] = err
			})
		}
		time.Sleep(time.Minute)
		mu.Lock()
		defer mu.Unlock()
		if n := writersOf(f); n != 0 {
			t.Errorf("%d writers are at work where nobody waits", n)
		}
		if outcomes[0] != nil || !errors.Is(outcomes[time.Nanosecond], ports.ErrBookingLate) || outcomes[mostWaited] != nil {
			t.Errorf("outcomes %v, want that only the second is told that it is late", outcomes)
		}
	})
}

// Where all that wait are late the writer is let go, and the next booking has one.
func TestAWriterWhoFindsOnlyLateBookingsIsLetGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, folds := slowFolder(mostWaited + time.Millisecond)
		f.writers = 1
		for range 3 {
			go func() { _ = f.book(t.Context(), newcomer()) }()
			time.Sleep(time.Nanosecond)
		}
		time.Sleep(time.Minute)
		if n := writersOf(f); n != 0 {
			t.Fatalf("%d writers are at work where nobody waits", n)
		}
		before := len(folds)
		if err := f.book(t.Context(), newcomer()); err != nil || len(folds) != before+1 {
			t.Errorf("the next booking: %v, in %d folds", err, len(folds)-before)
		}
	})
}
