package gormstore

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// Retention goes by the database's clock, and trusts even that no further than a
// day: where more than a day's worth of a table has become old since the last
// cleaning, because nobody cleaned or because the clock jumped, one day's worth goes
// an hour. That leaves time to set a clock right, and the log tells.
const (
	mostAtOnce = 24 * time.Hour
	windowRest = time.Hour
)

// retention remembers, of each table, up to where it may be cleaned. The zero
// value is ready for use.
type retention struct {
	mu      sync.Mutex
	windows map[string]window // by table
}

// window is a day's worth of a table that may be deleted.
type window struct {
	until  time.Time // what is older may go
	opened time.Time // by the machine's monotonic clock
}

// expired is below the IDs of all records of the table that are to be kept, by the
// time in them: those that are younger than keep, and those beyond a day's worth.
func (s *Store) expired(ctx context.Context, table string, keep time.Duration) (rowID, error) {
	var row struct {
		Cutoff instant
		Oldest *rowID
	}
	err := s.write.WithContext(ctx).Raw("SELECT "+s.engine.later+" AS cutoff, (SELECT id FROM "+table+" ORDER BY id LIMIT 1) AS oldest",
		s.engine.laterBy(-keep)).Scan(&row).Error
	if err != nil {
		return "", s.engine.failed("look for old records of "+table, err)
	}
	if row.Oldest == nil {
		return firstIDAt(row.Cutoff.time), nil
	}
	until, opened := s.retention.until(table, row.Oldest.madeAt(), row.Cutoff.time)
	if opened {
		s.log.WarnContext(ctx, "more than a day's worth of records has become old since the last cleaning; it is deleted by a day's worth an hour. "+
			"If that is a surprise, look at the clock of the database", "table", table, "oldest", row.Oldest.madeAt(), "deleted_before", until)
	}
	return firstIDAt(until), nil
}

// until is up to which time records of the table may be deleted, and whether that
// is a window which was opened just now.
func (r *retention) until(table string, oldest, cutoff time.Time) (_ time.Time, opened bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	w, known := r.windows[table]
	if from := later(oldest, w.until); cutoff.Sub(from) > mostAtOnce && (!known || time.Since(w.opened) >= windowRest) {
		if r.windows == nil {
			r.windows = map[string]window{}
		}
		w, opened = window{until: from.Add(mostAtOnce), opened: time.Now()}, true
		r.windows[table] = w
	} else if cutoff.Sub(from) <= mostAtOnce {
		return cutoff, false
	}
	return w.until, opened
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// madeAt is the time in an ID, to the millisecond.
func (id rowID) madeAt() time.Time {
	var ms int64
	_, _ = fmt.Sscanf(string(id)[:12], "%x", &ms)
	return time.UnixMilli(ms).UTC()
}
