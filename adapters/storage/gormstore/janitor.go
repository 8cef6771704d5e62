package gormstore

import (
	"context"
	"fmt"

	"gorm.io/gorm/clause"
)

// PurgeExpiredKeys deletes up to limit expired idempotency records, oldest
// first, and returns how many there were: fewer than limit means that none is
// left. Several processes may run it at once.
func (s *Store) PurgeExpiredKeys(ctx context.Context, limit int) (int, error) {
	// Locked rows are somebody's who takes the key over, or purges too.
	expired := s.write.WithContext(ctx).Model(&keyRow{}).
		Select("application_id", "environment", "key").
		Where("expires_at <= " + s.engine.now).Order("expires_at").Limit(limit).
		Clauses(clause.Locking{Strength: "UPDATE", Options: "SKIP LOCKED"})
	result := s.write.WithContext(ctx).
		Where("(application_id, environment, key) IN (?)", expired).
		Where("expires_at <= " + s.engine.now).
		Delete(&keyRow{})
	if result.Error != nil {
		return 0, fmt.Errorf("gormstore: delete expired idempotency keys: %w", result.Error)
	}
	return int(result.RowsAffected), nil
}
