package gormstore

import (
	"context"
	"time"

	"waybill/domain"
)

// Retention uses the database's clock, and trusts even that by no more than a day. More than a
// day's worth of a table may have become old since the last cleaning, because no cleaning ran or
// the clock jumped. Then one day's worth is deleted an hour, and the log says so, which leaves time
// to correct a clock. The window is stored in the database: any number of processes and restarts
// share it.
const (
	mostAtOnce  = 24 * time.Hour
	windowPause = time.Hour
)

// window is a day's worth of a table that may be deleted. The zero value is no window.
type window struct {
	until  time.Time // older records may be deleted
	opened time.Time
}

// allows returns up to which time records of a table may be deleted. opens is true if that opens
// another window.
func (w window) allows(oldest, cutoff, now time.Time) (until time.Time, opens bool) {
	from := later(oldest, w.until)
	switch since := now.Sub(w.opened); {
	case since >= 0 && since < windowPause:
		return earlier(w.until, cutoff), false
	case cutoff.Sub(from) <= mostAtOnce:
		return cutoff, false
	}
	return from.Add(mostAtOnce), true
}

// expired returns an ID below those of all records of the table that stay, by the time in them:
// records younger than keep, and those beyond a day's worth.
func (s *Store) expired(ctx context.Context, table string, keep time.Duration) (rowID, error) {
	var row retained
	err := s.write.WithContext(ctx).Raw(s.retainedSQL(", (SELECT id FROM "+table+" ORDER BY id LIMIT 1) AS oldest"),
		s.dialect.laterBy(0), s.dialect.laterBy(-keep), table).Scan(&row).Error
	if err != nil {
		return "", s.dialect.failed("look for old records of "+table, err)
	}
	if row.Oldest == nil {
		return firstIDAt(row.Cutoff.time), nil
	}
	until, err := s.deletedBefore(ctx, table, row, domain.ID(*row.Oldest).MadeAt())
	if err != nil {
		return "", err
	}
	return firstIDAt(until), nil
}

// retained holds the state that limits the deletion of old records of a table.
type retained struct {
	Now, Cutoff   instant
	Until, Opened *instant // of the last window; nil: there was none
	Oldest        *rowID   // where it is asked for; nil: there is none
}

// retainedSQL selects a retained and more. Its parameters are laterBy(0), laterBy(-keep) and the
// table.
func (s *Store) retainedSQL(more string) string {
	return "SELECT " + s.dialect.later + " AS now, " + s.dialect.later + " AS cutoff, w.until, w.opened_at AS opened" + more +
		" FROM (SELECT 1 AS one) AS one LEFT JOIN retention_windows w ON w.table_name = ?"
}

// deletedBefore returns the time before which records may be deleted; oldest is the time of the
// oldest record.
func (s *Store) deletedBefore(ctx context.Context, table string, row retained, oldest time.Time) (time.Time, error) {
	var w window
	if row.Opened != nil {
		w = window{until: row.Until.time, opened: row.Opened.time}
	}
	until, opens := w.allows(oldest, row.Cutoff.time, row.Now.time)
	if !opens {
		return until, nil
	}
	return s.openWindow(ctx, table, w, window{until: until, opened: row.Now.time}, oldest)
}

// openWindow replaces a window by another one, unless another process did.
func (s *Store) openWindow(ctx context.Context, table string, old, next window, oldest time.Time) (until time.Time, err error) {
	result := s.write.WithContext(ctx).Exec("INSERT INTO retention_windows (table_name, until, opened_at) VALUES (?, ?, ?)"+
		" ON CONFLICT (table_name) DO UPDATE SET until = excluded.until, opened_at = excluded.opened_at WHERE retention_windows.opened_at = ?",
		table, instantOf(next.until), instantOf(next.opened), instantOf(old.opened))
	if result.Error != nil {
		return time.Time{}, s.dialect.failed("open a window for old records of "+table, result.Error)
	}
	if result.RowsAffected == 0 {
		return old.until, nil // the next call finds the other's window
	}
	s.log.WarnContext(ctx,
		"more than a day's worth of records has become old since the last cleaning; it is deleted by a day's worth an hour. "+
			"If that is a surprise, look at the clock of the database", "table", table, "oldest", oldest, "deleted_before", next.until)
	return next.until, nil
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}
