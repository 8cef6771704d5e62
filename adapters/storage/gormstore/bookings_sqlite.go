package gormstore

import (
	"context"
	"errors"
	"fmt"

	"waybill/adapters/batch"
	"waybill/domain"
	"waybill/ports"
)

// storeBatchOnSQLite stores one booking after the other, each behind a savepoint: the
// cost of a commit here is the wait for the disk, and that is shared.
func storeBatchOnSQLite(ctx context.Context, s *Store, entries []*entry) []error {
	var outcomes []error
	err := s.transact(ctx, func(sn session) error {
		outcomes = make([]error, len(entries))
		for i, e := range entries {
			var err error
			if outcomes[i], err = sn.bookBehindSavepoint(ctx, e); err != nil {
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

// storeRunOnSQLite ends with the first refusal.
func storeRunOnSQLite(ctx context.Context, s *Store, entries []*entry) (n int, err error) {
	err = s.transact(ctx, func(sn session) error {
		n = 0
		for _, e := range entries {
			switch refusal, err := sn.bookBehindSavepoint(ctx, e); {
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

// bookBehindSavepoint tells a refusal, which leaves nothing behind, from a
// failure, which may have ended the transaction.
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

// refused tells what Book may answer, from failures of the database.
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
