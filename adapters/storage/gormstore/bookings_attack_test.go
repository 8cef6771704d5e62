package gormstore_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"waybill/adapters/storage/gormstore"
	"waybill/domain"
	"waybill/ports"
	"waybill/test/sample"
)

// batched books all of them in one batch: the writers are held up until they wait,
// and until prepare is through.
func batched(t *testing.T, s *gormstore.Store, tenant domain.Tenant, writes []ports.BookingWrite, prepare func()) []error {
	t.Helper()
	s.WaitForBatches(time.Minute) // however slow the machine is
	letGo, commits := heldUp(s)
	defer letGo()
	var all sync.WaitGroup
	_, _, writers := s.Batches()
	for i := range writers {
		all.Go(func() {
			err := s.Book(t.Context(), sample.BookingWrite(tenant))
			// Where a test ends sessions, this one may be in its COMMIT.
			if err != nil && !errors.Is(err, ports.ErrOutcomeUnknown) {
				t.Errorf("a booking that holds a writer up: %v", err)
			}
		})
		await(t, func() bool { return int(commits.Load()) == i+1 })
	}
	outcomes := make([]error, len(writes))
	for i, w := range writes {
		all.Go(func() { outcomes[i] = s.Book(t.Context(), w) })
	}
	await(t, func() bool { waiting, _, _ := s.Batches(); return waiting == len(writes) })
	prepare()
	letGo()
	all.Wait()
	return outcomes
}

func TestARowThatTheDatabaseRefusesFailsNoneBesideIt(t *testing.T) {
	for dialect, open := range map[string]func(testing.TB) *gormstore.Store{"SQLite": openSQLite, "Postgres": openPostgres} {
		for name, spoil := range map[string]func(w *ports.BookingWrite){
			"a NUL":               func(w *ports.BookingWrite) { w.Recipient.Name = "Ama\x00" },
			"no UTF-8":            func(w *ports.BookingWrite) { w.Address.Label = "Home\xff" },
			"a number too high":   func(w *ports.BookingWrite) { w.Key.Answer.Status = 1 << 20 },
			"a number too low":    func(w *ports.BookingWrite) { w.Event.Sequence = 0 },
			"a time too far":      func(w *ports.BookingWrite) { w.Key.CreatedAt = time.Date(300_000, 1, 1, 0, 0, 0, 0, time.UTC) },
			"no ID":               func(w *ports.BookingWrite) { w.Event.ID = "evt_x" },
			"another environment": func(w *ports.BookingWrite) { w.Delivery.Tenant.Environment = "moon" },
			"what no index can hold": func(w *ports.BookingWrite) {
				var key strings.Builder
				for key.Len() < 20_000 { // that cannot be compressed
					key.WriteString(string(sample.Reference()))
				}
				w.Key.Key = key.String()
			},
		} {
			t.Run(dialect+"/"+name, func(t *testing.T) {
				t.Parallel()
				s := open(t)
				tenant := newTenant(t, s)
				writes := make([]ports.BookingWrite, 5)
				for i := range writes {
					writes[i] = sample.BookingWrite(tenant)
				}
				spoil(&writes[2])
				for i, err := range batched(t, s, tenant, writes, func() {}) {
					if i == 2 {
						// SQLite takes more than Postgres does.
						if again := s.Book(t.Context(), writes[i]); (err == nil) != errors.Is(again, ports.ErrKeyTaken) {
							t.Errorf("the spoiled booking: %v, and alone: %v", err, again)
						}
						continue
					}
					if err != nil {
						t.Errorf("number %d beside it: %v", i, err)
					}
				}
			})
		}
	}
}

func TestAConnectionThatEndsInABatchFailsNoneOfItsBookings(t *testing.T) {
	direct := newDatabase(t)
	s := open(t, direct)
	tenant := newTenant(t, s)
	writes := make([]ports.BookingWrite, 5)
	for i := range writes {
		writes[i] = sample.BookingWrite(tenant)
	}
	var once sync.Once
	outcomes := batched(t, s, tenant, writes, func() {
		err := s.WatchWrites(func(statement string, _ []any) {
			if strings.HasPrefix(statement, "INSERT INTO deliveries") {
				once.Do(func() { endSessions(t, direct) }) // the transaction has begun
			}
		})
		if err != nil {
			t.Error(err)
		}
	})
	for i, err := range outcomes {
		if err != nil {
			t.Errorf("number %d: %v", i, err)
		}
		if again := s.Book(t.Context(), writes[i]); !errors.Is(again, ports.ErrKeyTaken) {
			t.Errorf("number %d again: %v, want ErrKeyTaken", i, again)
		}
	}
}

func TestASessionThatForgetsItsStatementsFailsNoBooking(t *testing.T) {
	s := open(t, newDatabase(t))
	tenant := newTenant(t, s)
	write, _ := s.Pools()
	write.SetMaxOpenConns(1)
	if err := s.Book(t.Context(), sample.BookingWrite(tenant)); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := write.ExecContext(t.Context(), "DEALLOCATE ALL"); err != nil {
			t.Fatal(err)
		}
		w := sample.BookingWrite(tenant)
		if err := s.Book(t.Context(), w); err != nil {
			t.Errorf("booking in a session without its statements: %v", err)
		}
		if again := s.Book(t.Context(), w); !errors.Is(again, ports.ErrKeyTaken) {
			t.Errorf("the same again: %v, want ErrKeyTaken", again)
		}
	}
}

func TestAPanicWithAConnectionDoesNotKeepIt(t *testing.T) {
	s := open(t, newDatabase(t))
	write, _ := s.Pools()
	write.SetMaxOpenConns(1)
	for range 2 {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		err := gormstore.OnConnection(ctx, write, func() { panic("injected") })
		cancel()
		if err == nil || !strings.Contains(err.Error(), "injected") {
			t.Errorf("the panic became %v", err)
		}
	}
}
