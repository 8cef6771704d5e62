package gormstore_test

import (
	"context"
	"database/sql"
	"errors"
	"testing"
	"time"

	"waybill/adapters/storage/gormstore"
	"waybill/domain"
	"waybill/ports"
	"waybill/test/backend"
	"waybill/test/sample"
)

var bothEngines = map[string]func(testing.TB) *gormstore.Store{"SQLite": openSQLite, "Postgres": openPostgres}

// bulkOf claims a bulk that nothing is done of yet.
func bulkOf(t testing.TB, s *gormstore.Store, tenant domain.Tenant) (domain.KeyRecord, ports.BulkHold) {
	t.Helper()
	record := sample.KeyRecord(func(r *domain.KeyRecord) { r.Answer = domain.Answer{} })
	var hold ports.BulkHold
	if err := s.InTx(t.Context(), func(ctx context.Context, tx ports.Stores) (err error) {
		hold, err = tx.Bulks.Claim(ctx, tenant, record, sample.ClaimID(), time.Minute, time.Hour)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return record, hold
}

func TestAKeyThatIsLockedForTooLongIsBusy(t *testing.T) {
	t.Parallel()
	s, err := gormstore.Open(t.Context(), backend.Database(t, gormstore.Migrate, gormstore.MigrationsHash()),
		gormstore.Options{LockTimeout: 50 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	tenant := newTenant(t, s)
	fresh := sample.KeyRecord()
	begun, hold := bulkOf(t, s, tenant)
	write := sample.BookingWrite(tenant)
	write.Key.Key = fresh.Key
	item := sample.BookingWrite(tenant)
	item.Bulk = &ports.BulkItemMark{Hold: hold, Item: domain.BulkItem{Created: true, Result: []byte("{}")}}
	inTx := func(fn func(ctx context.Context, tx ports.Stores) error) func() error {
		return func() error { return s.InTx(t.Context(), fn) }
	}
	attempts := map[string]struct {
		run  func() error
		busy bool
	}{
		"a claim": {inTx(func(ctx context.Context, tx ports.Stores) error {
			return tx.Idempotency.Claim(ctx, tenant, fresh, time.Hour)
		}), true},
		"a booking": {func() error { return s.Book(t.Context(), write) }, true},
		"the claim of a bulk": {inTx(func(ctx context.Context, tx ports.Stores) error {
			_, err := tx.Bulks.Claim(ctx, tenant, begun, sample.ClaimID(), time.Minute, time.Hour)
			return err
		}), true},
		// The holder of a bulk need not be told that its key is busy: it is itself.
		"a sign of life":         {inTx(func(ctx context.Context, tx ports.Stores) error { return tx.Bulks.Extend(ctx, tenant, hold) }), false},
		"the booking of an item": {func() error { return s.Book(t.Context(), item) }, false},
	}
	err = s.InTx(t.Context(), func(ctx context.Context, tx ports.Stores) error {
		if err := tx.Idempotency.Claim(ctx, tenant, fresh, time.Hour); err != nil {
			return err
		}
		if err := tx.Bulks.Extend(ctx, tenant, hold); err != nil {
			return err
		}
		for name, a := range attempts {
			if err := a.run(); err == nil || errors.Is(err, ports.ErrKeyBusy) != a.busy {
				t.Errorf("%s: error %v, want that the key is busy: %t", name, err, a.busy)
			}
		}
		return errLost // gives the key back
	})
	if !errors.Is(err, errLost) {
		t.Fatal(err)
	}
	if err := s.Book(t.Context(), write); err != nil {
		t.Errorf("with the key free again: %v", err)
	}
	if err := s.Book(t.Context(), item); err != nil {
		t.Errorf("with the record free again: %v", err)
	}
}

// Whatever a holder writes, a repeat of it finds out whether it was committed.
func TestALostAnswerOfABulkIsFoundOutByARepeat(t *testing.T) {
	happened := func(tx *sql.Tx) error { return errors.Join(tx.Commit(), errLost) }
	didNot := func(tx *sql.Tx) error { return errors.Join(tx.Rollback(), errLost) }
	for name, open := range bothEngines {
		for outcome, commit := range map[string]func(*sql.Tx) error{"it had happened": happened, "it had not": didNot} {
			t.Run(name+"/"+outcome, func(t *testing.T) {
				t.Parallel()
				s := open(t)
				tenant := newTenant(t, s)
				committed := outcome == "it had happened"
				// twice loses the first answer; done is what the repeat of something
				// that had happened is told.
				twice := func(what string, done error, run func() error) {
					t.Helper()
					s.CommitWith(commit)
					first := run()
					s.CommitWith((*sql.Tx).Commit)
					if !errors.Is(first, ports.ErrOutcomeUnknown) {
						t.Errorf("%s: %v, want ErrOutcomeUnknown", what, first)
					}
					if second := run(); committed && !errors.Is(second, done) || !committed && second != nil {
						t.Errorf("%s again: %v", what, second)
					}
				}
				record := sample.KeyRecord(func(r *domain.KeyRecord) { r.Answer = domain.Answer{} })
				token := sample.ClaimID()
				var hold ports.BulkHold
				twice("the claim", nil, func() error {
					return s.InTx(t.Context(), func(ctx context.Context, tx ports.Stores) (err error) {
						hold, err = tx.Bulks.Claim(ctx, tenant, record, token, time.Minute, time.Hour)
						return err
					})
				})
				if hold.ClaimID != record.ClaimID || hold.Token != token {
					t.Errorf("the claim %+v, want its own", hold)
				}
				w := sample.BookingWrite(tenant)
				w.Bulk = &ports.BulkItemMark{Hold: hold, Item: domain.BulkItem{Created: true, Result: []byte("{}")}}
				twice("an item", ports.ErrItemDone, func() error { return s.Book(t.Context(), w) })
				twice("the answer", ports.ErrLeaseLost, func() error {
					return s.InTx(t.Context(), func(ctx context.Context, tx ports.Stores) error {
						return tx.Bulks.Finish(ctx, tenant, hold, domain.Answer{Status: 201, Body: []byte("{}")}, time.Hour)
					})
				})
				found, err := s.Read().Idempotency.Find(t.Context(), tenant, record.Key)
				if err != nil || !found.Answered() || found.ClaimID != record.ClaimID {
					t.Errorf("the record %+v (%v), want it answered under the first claim", found, err)
				}
				list, err := s.Read().Deliveries.List(t.Context(), tenant, domain.DeliveryFilter{}, domain.PageRequest{Limit: 5})
				if err != nil || len(list) != 1 {
					t.Errorf("%d deliveries (%v), want 1", len(list), err)
				}
			})
		}
	}
}

// A key may expire while its bulk is worked on. What is done of it must stay
// known until that has ended, or a commit without an answer would be repeated.
func TestItemsOfABulkAreNotPurgedFromUnderItsHolder(t *testing.T) {
	for name, open := range bothEngines {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := open(t)
			tenant := newTenant(t, s)
			hold := abandonBulk(t, s, tenant, 3, time.Minute, -time.Second)
			if removed, _, err := s.PurgeExpired(t.Context(), 100); err != nil || removed != 0 {
				t.Errorf("purged %d (%v), want nothing", removed, err)
			}
			if err := s.InTx(t.Context(), func(ctx context.Context, tx ports.Stores) error {
				if err := tx.Bulks.Extend(ctx, tenant, hold); err != nil {
					return err
				}
				return tx.Bulks.AddItem(ctx, tenant, hold, domain.BulkItem{Index: 1, Result: []byte("{}")})
			}); !errors.Is(err, ports.ErrItemDone) {
				t.Errorf("an item that was done: %v, want ErrItemDone", err)
			}
		})
	}
}

// The lease is extended by the transaction that stores the bookings, and its row held until
// that ends: else another process could take the bulk over in between.
func TestALeaseIsExtendedTogetherWithTheBookingsOrNotAtAll(t *testing.T) {
	t.Parallel()
	s := openPostgres(t)
	tenant := newTenant(t, s)
	var hold ports.BulkHold
	err := s.InTx(t.Context(), func(ctx context.Context, tx ports.Stores) (err error) {
		hold, err = tx.Bulks.Claim(ctx, tenant, sample.KeyRecord(), sample.ClaimID(), time.Minute, time.Hour)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	write, _ := s.Pools()
	until := func() (at time.Time) {
		t.Helper()
		if err := write.QueryRowContext(t.Context(), "SELECT leased_until FROM idempotency_keys").Scan(&at); err != nil {
			t.Fatal(err)
		}
		return at
	}
	before := until()
	exec(t, s, "ALTER TABLE bulk_items RENAME TO elsewhere")
	time.Sleep(10 * time.Millisecond)
	w := sample.BookingWrite(tenant)
	w.Bulk = &ports.BulkItemMark{Hold: hold, Item: domain.BulkItem{Created: true, Result: []byte("{}")}}
	if n, err := s.BookRun(t.Context(), []ports.BookingWrite{w}); n != 0 || err == nil {
		t.Errorf("%d booked (%v) without a place for their items", n, err)
	}
	if after := until(); !after.Equal(before) {
		t.Errorf("the lease goes until %s, and nothing was stored: want %s, as before", after, before)
	}
}
