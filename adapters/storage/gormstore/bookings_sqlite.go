package gormstore

import (
	"context"
	"errors"
	"fmt"

	"waybill/adapters/batch"
	"waybill/domain"
	"waybill/ports"
)

// storeBatchOnSQLite stores one booking after the other. A commit on SQLite costs the wait for the
// disk, which the whole batch shares.
func storeBatchOnSQLite(ctx context.Context, s *Store, entries []*entry) []error {
	var outcomes []error
	err := s.bookOnSQLite(ctx, func(sn session, book bookOne) error {
		outcomes = make([]error, len(entries))
		for i, e := range entries {
			var err error
			if outcomes[i], err = book(sn, e); err != nil {
				return err
			}
		}
		return nil
	})
	switch {
	case err == nil:
		return outcomes
	case len(entries) > 1 && !errors.Is(err, ports.ErrOutcomeUnknown):
		err = batch.ErrAlone // it may be about one of them
	}
	return batch.Same(len(entries), err)
}

// storeRunOnSQLite stores bookings up to the first refusal.
func storeRunOnSQLite(ctx context.Context, s *Store, entries []*entry) (n int, err error) {
	err = s.bookOnSQLite(ctx, func(sn session, book bookOne) error {
		n = 0
		for _, e := range entries {
			switch refusal, err := book(sn, e); {
			case err != nil:
				return err
			case errors.Is(refusal, ports.ErrLeaseLost):
				return refusal
			case refusal != nil:
				return nil
			}
			n++
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	return n, nil
}

// bookOne stores a booking. It separates a refusal, which leaves nothing behind, from a failure.
type bookOne func(sn session, e *entry) (refusal, err error)

// errRefused means that a booking was refused after it may have left something behind.
var errRefused = errors.New("a booking was refused")

// bookOnSQLite runs the work in one transaction, without savepoints, since few bookings are
// refused. A savepoint before each booking would make SQLite copy every page that it changes and
// write its pending full-text index. If one is refused, the work runs again with savepoints. No
// booking is cancelled, which would cost a goroutine for each statement. The batch is cancelled
// between two bookings.
func (s *Store) bookOnSQLite(ctx context.Context, work func(session, bookOne) error) error {
	steady := context.WithoutCancel(ctx)
	err := s.transact(ctx, func(sn session) error {
		return work(sn, func(sn session, e *entry) (refusal, err error) {
			if ctx.Err() != nil {
				return nil, whyEnded(ctx)
			}
			err = (booking{session: sn, tenant: e.Delivery.Tenant}).store(steady, e)
			if refused(err) {
				err = errRefused
			}
			return nil, err
		})
	})
	if !errors.Is(err, errRefused) {
		return err
	}
	return s.transact(ctx, func(sn session) error {
		return work(sn, func(sn session, e *entry) (refusal, err error) { return sn.bookBehindSavepoint(ctx, e) })
	})
}

// bookBehindSavepoint stores a booking after a savepoint. It separates a refusal, which leaves
// nothing behind, from a failure, which may have ended the transaction.
func (s session) bookBehindSavepoint(ctx context.Context, e *entry) (refusal, err error) {
	if err := s.with(ctx).Exec("SAVEPOINT booking").Error; err != nil {
		return nil, fmt.Errorf("begin a booking: %w", err)
	}
	heard := len(s.fanned.endpoints)
	end := []string{"RELEASE booking"}
	if refusal = (booking{session: s, tenant: e.Delivery.Tenant}).store(ctx, e); refusal != nil {
		if !refused(refusal) {
			return nil, refusal
		}
		s.fanned.endpoints = s.fanned.endpoints[:heard]
		end = []string{"ROLLBACK TO booking", "RELEASE booking"}
	}
	for _, statement := range end {
		if err := s.with(ctx).Exec(statement).Error; err != nil {
			return nil, fmt.Errorf("end a booking: %w", err)
		}
	}
	return refusal, nil
}

// refused reports whether Book may return the error as a refusal, not as a failure of the database.
func refused(err error) bool {
	var e *domain.Error
	if errors.As(err, &e) {
		return e.Refusal()
	}
	for _, refusal := range []error{ports.ErrKeyTaken, ports.ErrDirectoryChanged, ports.ErrExternalIDTaken, ports.ErrReferenceTaken,
		ports.ErrSimulationLimit, ports.ErrLeaseLost, ports.ErrItemDone} {
		if errors.Is(err, refusal) {
			return true
		}
	}
	return false
}
