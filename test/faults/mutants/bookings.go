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
	key := func(ctx context.Context) error {
		return s.booked(ctx, w, func(b booking) error { return b.claim(ctx, w) })
	}
	delivery := func(ctx context.Context) error {
		return s.booked(ctx, w, func(b booking) error { return b.storeDelivery(ctx, w, row) })
	}
	if w.Bulk != nil {
		return s.mutantBulkBook(w, row, key, delivery)
	}
	switch os.Getenv("WAYBILL_MUTANT") {
	case "key_own_commit": // who dies in between is booked again
		return inTwoCommits(delivery, key)
	case "key_own_commit_first": // who dies in between is told of what was never booked
		return inTwoCommits(key, delivery)
	case "key_last": // of two with one key the second meets the first's external_id
		return func(ctx context.Context) error {
			return s.booked(ctx, w, func(b booking) error {
				if err := b.storeDelivery(ctx, w, row); err != nil {
					return err
				}
				return b.claim(ctx, w)
			})
		}
	case "simulation_counted": // by itself each one counts what it finds
		return func(ctx context.Context) error {
			return s.booked(ctx, w, func(b booking) error { return b.store(ctx, &entry{BookingWrite: w, row: row}) })
		}
	}
	return nil
}

func (s *Store) mutantBulkBook(w ports.BookingWrite, row deliveryRow, mark,
	delivery func(context.Context) error) func(context.Context) error {
	switch os.Getenv("WAYBILL_MUTANT") {
	case "item_own_commit": // who dies in between is booked again
		return inTwoCommits(delivery, mark)
	case "item_own_commit_first": // who dies in between is told of what was never booked
		return inTwoCommits(mark, delivery)
	case "item_unrecorded": // who dies before the end books all items again
		return func(ctx context.Context) error {
			time.Sleep(mutantPause)
			return s.booked(ctx, w, func(b booking) error {
				if err := (bulks{b.session}).Extend(ctx, b.tenant, w.Bulk.Hold); err != nil {
					return err
				}
				return b.storeDelivery(ctx, w, row)
			})
		}
	case "no_fence": // who stalled goes on beside who took over
		return func(ctx context.Context) error {
			time.Sleep(mutantPause)
			return s.booked(ctx, w, func(b booking) error {
				if err := (bulks{b.session}).AddItem(ctx, b.tenant, w.Bulk.Hold, w.Bulk.Item); err != nil {
					return err
				}
				return b.storeDelivery(ctx, w, row)
			})
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
