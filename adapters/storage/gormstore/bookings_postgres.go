package gormstore

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"waybill/adapters/batch"
	"waybill/ports"
)

// storeBatchOnPostgres stores bookings by one statement per table and sends all statements at once.
// If one of the bookings fails, it rolls back and stores the others in another transaction. It
// finds a booking that waits for a row of another transaction by storing one half of the businesses
// and then the other. After a failure that names no booking, such as a refused value or a lost
// connection, each is stored alone.
func storeBatchOnPostgres(ctx context.Context, s *Store, entries []*entry) []error {
	outcomes := make([]error, len(entries))
	all := make([]int, len(entries))
	for i := range all {
		all[i] = i
	}
	s.storeSome(ctx, briefWait, entries, all, outcomes)
	return outcomes
}

// storeSome stores the entries that are left, and sets the outcome of each.
func (s *Store) storeSome(ctx context.Context, wait time.Duration, entries []*entry, left []int, outcomes []error) {
	for len(left) > 0 {
		b := &pgBatch{entries: make([]*entry, len(left))}
		for i, e := range left {
			b.entries[i] = entries[e]
		}
		err := s.storeOnce(ctx, wait, b)
		if err == nil {
			return
		}
		if s.dialect.lockTimedOut(err) {
			if half, other := halves(entries, left); len(other) > 0 {
				s.storeSome(ctx, heldWait, entries, half, outcomes)
				s.storeSome(ctx, heldWait, entries, other, outcomes)
				return
			}
			s.contention.noteHeld(bookingsRow(b.entries[0].Delivery.Tenant))
		}
		missing := b.missing
		if !errors.Is(err, errIncomplete) {
			missing = nil
		}
		if len(missing) == 0 { // the failure names no booking
			if aboutRows(err) || len(left) > 1 && b.begun && !errors.Is(err, ports.ErrOutcomeUnknown) {
				err = batch.ErrAlone
			} else {
				err = s.dialect.failed("store bookings", err)
			}
			for _, e := range left {
				outcomes[e] = err
			}
			return
		}
		var rest []int
		for i, e := range left {
			if missing[i] {
				outcomes[e] = batch.ErrAlone
			} else {
				rest = append(rest, e)
			}
		}
		left = rest
	}
}

// halves splits the entries by business into two halves. The second is empty if there is only one
// business.
func halves(entries []*entry, of []int) (half, other []int) {
	seen := map[rowID]int{}
	for _, e := range of {
		if business := entries[e].row.BusinessID; seen[business] == 0 {
			seen[business] = len(seen) + 1
		}
	}
	for _, e := range of {
		if 2*seen[entries[e].row.BusinessID] <= len(seen)+1 {
			half = append(half, e)
		} else {
			other = append(other, e)
		}
	}
	return half, other
}

// storeOnce stores all of a batch or nothing. It does not queue for a row that is held.
func (s *Store) storeOnce(ctx context.Context, wait time.Duration, b *pgBatch) error {
	n := &need{contention: s.contention, wait: wait, queued: true}
	return s.repeat(ctx, n, func(sn session) error { return b.store(ctx, sn) })
}

// storeRunOnPostgres stores bookings up to the first one that fails.
func storeRunOnPostgres(ctx context.Context, s *Store, entries []*entry) (int, error) {
	for len(entries) > 0 {
		b := &pgBatch{entries: entries}
		err := s.storeOnce(ctx, briefWait, b)
		if err == nil {
			return len(entries), nil
		}
		if !errors.Is(err, errIncomplete) {
			return 0, s.dialect.failed("store bookings", err)
		}
		entries = entries[:slices.Min(slices.Collect(maps.Keys(b.missing)))]
	}
	return 0, nil
}

// errIncomplete means that some bookings of a batch were not stored.
var errIncomplete = errors.New("a batch is incomplete")

// aboutRows reports whether a failure is about rows or their locks, not about the database.
func aboutRows(err error) bool {
	return isPg(err, pgForeignKeyViolation, pgUniqueViolation, pgCheckViolation, pgLockNotAvailable, pgDeadlockDetected,
		pgSerializationFailure)
}

// statementGone reports whether the session has lost its prepared statements, or the tables have
// changed.
func statementGone(err error) bool { return isPg(err, pgStatementUnknown, pgPlanOutdated) }
