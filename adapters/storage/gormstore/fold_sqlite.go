package gormstore

import (
	"context"
	"errors"
	"fmt"

	"waybill/domain"
	"waybill/ports"
)

// foldOnSQLite stores one booking after the other, each behind a savepoint: what
// a commit costs here is to wait for the disk, and that is shared.
func foldOnSQLite(ctx context.Context, s *Store, entries []entry) []error {
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
		err = errAlone // it may be about one of them
	}
	return sameForAll(len(entries), err)
}

// bookBehindSavepoint tells a refusal, which leaves nothing behind, from a
// failure, which may have ended the transaction.
func (sn session) bookBehindSavepoint(ctx context.Context, e entry) (refusal, err error) {
	if err := sn.with(ctx).Exec("SAVEPOINT booking").Error; err != nil {
		return nil, fmt.Errorf("gormstore: begin a booking: %w", err)
	}
	heard := len(sn.fanned.endpoints)
	end := []string{"RELEASE booking"}
	if refusal = (booking{session: sn, tenant: e.Delivery.Tenant}).store(ctx, e); refusal != nil {
		if !refused(refusal) {
			return nil, refusal
		}
		sn.fanned.endpoints = sn.fanned.endpoints[:heard]
		end = []string{"ROLLBACK TO booking", "RELEASE booking"}
	}
	for _, statement := range end {
		if err := sn.with(ctx).Exec(statement).Error; err != nil {
			return nil, fmt.Errorf("gormstore: end a booking: %w", err)
		}
	}
	return refusal, nil
}

// refused tells what Book may answer, from failures of the database.
func refused(err error) bool {
	var e *domain.Error
	if errors.As(err, &e) {
		return e.Kind != domain.KindInternal
	}
	for _, refusal := range []error{ports.ErrKeyTaken, ports.ErrDirectoryChanged, ports.ErrExternalIDTaken, ports.ErrReferenceTaken, ports.ErrSimulationLimit} {
		if errors.Is(err, refusal) {
			return true
		}
	}
	return false
}
