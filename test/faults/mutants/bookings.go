//go:build mutants

package gormstore

import (
	"context"
	"os"
	"time"

	"waybill/ports"
)

// mutantPause is how long a window stays open into which a process may die.
const mutantPause = 25 * time.Millisecond

// mutantBook is Book with the rule broken that WAYBILL_MUTANT names. The tests
// in test/faults have to notice; no other program is built with this file.
func (s *Store) mutantBook(w ports.BookingWrite, row deliveryRow) func(context.Context) error {
	e := &entry{BookingWrite: w, row: row}
	key, delivery := s.mutantParts(e, once), s.mutantParts(e, func(p part) bool { return !once(p) })
	if w.Bulk != nil {
		return s.mutantBulkBook(e, key, delivery)
	}
	switch os.Getenv("WAYBILL_MUTANT") {
	case "key_own_commit": // after a crash in between a retry books again
		return inTwoCommits(delivery, key)
	case "key_own_commit_first": // after a crash in between a retry is told of a delivery that was never booked
		return inTwoCommits(key, delivery)
	case "key_last": // of two with one key the second meets the first's external_id
		return func(ctx context.Context) error {
			return s.booked(ctx, w, func(b booking) error {
				if err := b.storeParts(ctx, e, func(p part) bool { return !once(p) }); err != nil {
					return err
				}
				return b.storeParts(ctx, e, once)
			})
		}
	case "simulation_counted": // by itself each one counts what it finds
		return s.mutantParts(e, func(part) bool { return true })
	}
	return nil
}

func (s *Store) mutantBulkBook(e *entry, mark, delivery func(context.Context) error) func(context.Context) error {
	without := func(name string) func(context.Context) error {
		store := s.mutantParts(e, func(p part) bool { return p.name != name })
		return func(ctx context.Context) error {
			time.Sleep(mutantPause)
			return store(ctx)
		}
	}
	switch os.Getenv("WAYBILL_MUTANT") {
	case "item_own_commit": // after a crash in between a retry books again
		return inTwoCommits(delivery, mark)
	case "item_own_commit_first": // after a crash in between a retry is told of a delivery that was never booked
		return inTwoCommits(mark, delivery)
	case "item_unrecorded": // after a crash before the end a retry books all items again
		return without("item of a bulk")
	case "no_fence": // a stalled process goes on beside its successor
		return without("lease of a bulk")
	}
	return nil
}

// once tells the parts by which a booking happens once.
func once(p part) bool {
	return p.name == "lease of a bulk" || p.name == "item of a bulk" || p.name == "idempotency key"
}

// mutantParts stores some of the parts of a booking, in a transaction of their own.
func (s *Store) mutantParts(e *entry, wanted func(part) bool) func(context.Context) error {
	return func(ctx context.Context) error {
		return s.booked(ctx, e.BookingWrite, func(b booking) error { return b.storeParts(ctx, e, wanted) })
	}
}

func (b booking) storeParts(ctx context.Context, e *entry, wanted func(part) bool) error {
	for _, p := range parts {
		if !p.needed(e) || !wanted(p) {
			continue
		}
		if err := p.alone(b, ctx, e); err != nil {
			return err
		}
	}
	return nil
}

func mutantUnfenced() bool { return os.Getenv("WAYBILL_MUTANT") == "no_fence" }

func inTwoCommits(first, second func(context.Context) error) func(context.Context) error {
	return func(ctx context.Context) error {
		if err := first(ctx); err != nil {
			return err
		}
		time.Sleep(mutantPause)
		return second(ctx)
	}
}
