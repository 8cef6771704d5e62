package gormstore

import (
	"context"
	"fmt"
	"time"

	"gorm.io/gorm/clause"

	"waybill/domain"
)

// PurgeExpired deletes expired records, as ports.Maintenance promises. Several processes may run it
// at once.
func (s *Store) PurgeExpired(ctx context.Context, limit int) (removed int, more bool, err error) {
	for _, purge := range []func(context.Context, int) (int, error){
		s.purgeKeys, s.purgeBulkItems, s.purgeEndpoints, s.purgeWebhooks, s.purgeFeed,
		s.purgeExpired("passkey_ceremonies", 0), s.purgeExpired("person_links", domain.LinkKept), s.purgeExpired("sessions", domain.SessionKept),
		s.purgeMails, s.purgeDevices, s.purgeReports, s.purgeMoveRuns,
	} {
		n, err := purge(ctx, limit)
		if removed, more = removed+n, more || n == limit; err != nil {
			return removed, more, err
		}
	}
	return removed, more, nil
}

// purgeKeys deletes expired idempotency records, oldest first.
func (s *Store) purgeKeys(ctx context.Context, limit int) (int, error) {
	gone := "expires_at <= " + s.dialect.now + " AND (leased_until IS NULL OR leased_until <= " + s.dialect.now + ")"
	// Another transaction holds a locked row: it takes the key over, or purges too.
	expired := s.write.WithContext(ctx).Model(&keyRow{}).
		Select("application_id", "environment", "key").
		Where(gone).Order("expires_at").Limit(limit).Clauses(s.dialect.skipLocked()...)
	result := s.write.WithContext(ctx).
		Where("(application_id, environment, key) IN (?)", expired).Where(gone).
		Delete(&keyRow{})
	if result.Error != nil {
		return 0, fmt.Errorf("delete expired idempotency keys: %w", result.Error)
	}
	return int(result.RowsAffected), nil
}

// itemGrace limits for how long a process may work on a bulk whose key has expired. The items are
// kept until then: they record what is done.
const itemGrace = time.Hour

// purgeBulkItems deletes the items of bulks that were left unfinished until their key expired.
func (s *Store) purgeBulkItems(ctx context.Context, limit int) (int, error) {
	expired := s.write.WithContext(ctx).Model(&bulkItemRow{}).
		Select("claim_id", "item_index").
		Where("expires_at <= "+s.dialect.later, s.dialect.laterBy(-itemGrace)).Limit(limit).Clauses(s.dialect.skipLocked()...)
	result := s.write.WithContext(ctx).Where("(claim_id, item_index) IN (?)", expired).Delete(&bulkItemRow{})
	if result.Error != nil {
		return 0, fmt.Errorf("delete items of abandoned bulks: %w", result.Error)
	}
	return int(result.RowsAffected), nil
}

// purgeExpired deletes rows of a table that expired so long ago, oldest first. It deletes used and
// ended rows then too: no row of these tables lives for long.
func (s *Store) purgeExpired(table string, kept time.Duration) func(context.Context, int) (int, error) {
	return func(ctx context.Context, limit int) (int, error) {
		expired := s.write.WithContext(ctx).Table(table).Select("id").
			Where("expires_at <= "+s.dialect.later, s.dialect.laterBy(-kept)).Order("expires_at").Limit(limit).
			Clauses(clause.Locking{Strength: "UPDATE", Options: "SKIP LOCKED"})
		result := s.write.WithContext(ctx).Exec("DELETE FROM "+table+" WHERE id IN (?)", expired)
		if result.Error != nil {
			return 0, fmt.Errorf("delete what has expired of %s: %w", table, result.Error)
		}
		return int(result.RowsAffected), nil
	}
}
