package gormstore

import (
	"context"
	"time"

	"gorm.io/gorm/clause"

	"waybill/domain"
)

// purgeMails deletes emails that were sent or given up long ago.
func (s *Store) purgeMails(ctx context.Context, limit int) (int, error) {
	return s.purgeOld(ctx, "mails", "settled_at", &mailRow{}, []string{"id"}, domain.MailKept, limit)
}

// purgeDevices deletes browsers long after their last sign-in.
func (s *Store) purgeDevices(ctx context.Context, limit int) (int, error) {
	return s.purgeOld(ctx, "person_devices", "last_seen_at", &deviceRow{}, []string{"person_id", "digest"}, domain.DeviceKept, limit)
}

// purgeOld deletes the oldest rows of a table, by a column of times, once they are older than keep.
// One call deletes one day's rows at most.
func (s *Store) purgeOld(ctx context.Context, name, column string, row any, key []string, keep time.Duration, limit int) (int, error) {
	var old retainedTime
	err := s.write.WithContext(ctx).Raw(s.retainedSQL(", (SELECT min("+column+") FROM "+name+") AS oldest"),
		s.dialect.laterBy(0), s.dialect.laterBy(-keep), name).Scan(&old).Error
	if err != nil || old.Oldest == nil || !old.Oldest.time.Before(old.Cutoff.time) {
		return 0, s.dialect.failed("look for old records of "+name, err)
	}
	until, err := s.deletedBefore(ctx, name, retained{Now: old.Now, Cutoff: old.Cutoff, Until: old.Until, Opened: old.Opened}, old.Oldest.time)
	if err != nil {
		return 0, err
	}
	gone := s.write.WithContext(ctx).Model(row).Select(key).Where(column+" < ?", instantOf(until)).Order(column).Limit(limit).
		Clauses(clause.Locking{Strength: "UPDATE", Options: "SKIP LOCKED"})
	columns := key[0]
	for _, c := range key[1:] {
		columns += ", " + c
	}
	result := s.write.WithContext(ctx).Where("("+columns+") IN (?)", gone).Delete(row)
	return int(result.RowsAffected), s.dialect.failed("delete old records of "+name, result.Error)
}

// retainedTime holds the fields of retained for a table whose age a column of times shows.
type retainedTime struct {
	Now, Cutoff   instant
	Until, Opened *instant
	Oldest        *instant
}

type deviceRow struct {
	PersonID   rowID
	Digest     []byte
	CreatedAt  instant
	LastSeenAt instant
}

func (deviceRow) TableName() string { return "person_devices" }
