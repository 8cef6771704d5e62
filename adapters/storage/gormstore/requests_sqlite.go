package gormstore

import (
	"context"
	"time"

	"waybill/domain"
)

const (
	requestBatch = 200 // rows of one statement, which may have 32,766 parameters
	// A rotation deletes at most rotateBatches batches of rotateBatch rows. The next one deletes
	// the rest.
	rotateBatch   = 500
	rotateBatches = 100
)

func insertRequestsOnSQLite(ctx context.Context, sn session, table string, rows []requestRow) error {
	return sn.with(ctx).Table(table).CreateInBatches(rows, requestBatch).Error
}

// rotateRequestsOnSQLite deletes old records. It has no limit of bytes: a file does not become
// smaller.
func rotateRequestsOnSQLite(ctx context.Context, s *Store, keep domain.RequestLogKeeping) error {
	for table, kept := range keptFor(keep) {
		var condition string
		var bound any
		if column := map[string]string{usageMinutes: "minute", usageHours: "hour"}[table]; column != "" {
			var oldest *instant
			if err := s.read.WithContext(ctx).Raw("SELECT min(" + column + ") FROM " + table).Row().Scan(&oldest); err != nil {
				return s.dialect.failed("look for old usage", err)
			}
			if oldest == nil {
				continue
			}
			before, err := s.requestsOlder(ctx, table, kept, oldest.time)
			if err != nil {
				return err
			}
			condition, bound = column+" < ?", instantOf(before.Truncate(time.Hour))
		} else {
			before, err := s.expired(ctx, table, kept)
			if err != nil {
				return err
			}
			condition, bound = "id < ?", before
		}
		for range rotateBatches {
			result := s.write.WithContext(ctx).Exec("DELETE FROM "+table+" WHERE rowid IN (SELECT rowid FROM "+table+" WHERE "+condition+" LIMIT ?)",
				bound, rotateBatch)
			if result.Error != nil {
				return s.dialect.failed("delete old records of "+table, result.Error)
			}
			if result.RowsAffected < rotateBatch {
				break
			}
		}
	}
	return nil
}
