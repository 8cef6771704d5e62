package gormstore_test

import (
	"context"
	"database/sql"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"waybill/adapters/storage/gormstore"
	"waybill/ports"
	"waybill/test/sample"
)

// heldUp makes commits wait until the function it returns is called, and counts
// them.
func heldUp(s *gormstore.Store) (letGo func(), commits *atomic.Int32) {
	s.WaitForBatches(time.Hour)
	s.BatchAtOnce()
	gate, commits := make(chan struct{}), new(atomic.Int32)
	s.CommitWith(func(tx *sql.Tx) error {
		commits.Add(1)
		<-gate
		return tx.Commit()
	})
	return sync.OnceFunc(func() { close(gate) }), commits
}

// await returns when the condition holds.
func await(t testing.TB, condition func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !condition(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("what is awaited does not come")
		}
	}
}

func TestBookingsThatWaitAreStoredInOneTransaction(t *testing.T) {
	for name, open := range map[string]func(testing.TB) *gormstore.Store{"SQLite": openSQLite, "Postgres": openPostgres} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := open(t)
			tenant := newTenant(t, s)
			s.WaitForBatches(time.Minute) // however slow the machine is
			letGo, commits := heldUp(s)
			defer letGo()
			const bookings = 60
			outcomes := make(chan error, bookings)
			for range bookings {
				go func() { outcomes <- s.Book(t.Context(), sample.BookingWrite(tenant)) }()
			}
			_, _, writers := s.Batches()
			await(t, func() bool {
				waiting, inside, _ := s.Batches()
				// All may have come before the first writer looked, which has them all then.
				return waiting+inside == bookings && (int(commits.Load()) == writers || waiting == 0 && commits.Load() > 0)
			})
			letGo()
			for range bookings {
				if err := <-outcomes; err != nil {
					t.Error(err)
				}
			}
			// Those that the writers had taken at first, and one for all others.
			if n := int(commits.Load()); n > writers+1 {
				t.Errorf("%d bookings took %d transactions, want at most %d", bookings, n, writers+1)
			}
		})
	}
}

func TestABookingThatHasNotBegunYetCanBeGivenUp(t *testing.T) {
	s := openSQLite(t)
	tenant := newTenant(t, s)
	letGo, commits := heldUp(s)
	defer letGo()
	first := make(chan error, 1)
	go func() { first <- s.Book(t.Context(), sample.BookingWrite(tenant)) }()
	await(t, func() bool { return commits.Load() == 1 })
	ctx, cancel := context.WithCancel(t.Context())
	waiting, second := sample.BookingWrite(tenant), make(chan error, 1)
	go func() { second <- s.Book(ctx, waiting) }()
	await(t, func() bool { waiting, _, _ := s.Batches(); return waiting == 1 })
	cancel()
	if err := <-second; !errors.Is(err, context.Canceled) || errors.Is(err, ports.ErrOutcomeUnknown) {
		t.Errorf("given up: %v, want that it was cancelled", err)
	}
	letGo()
	if err := <-first; err != nil {
		t.Error(err)
	}
	if err := s.Book(t.Context(), waiting); err != nil {
		t.Errorf("booked later: %v; it had been stored", err)
	}
}
