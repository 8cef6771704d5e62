package toystore

import (
	"context"
	"time"

	"waybill/domain"
	"waybill/ports"
)

// PurgeExpired forgets keys, with what bulks under them left, links, sessions and
// challenges; all else lasts for as long as the process.
func (s *Store) PurgeExpired(ctx context.Context, limit int) (removed int, more bool, err error) {
	err = s.transact(ctx, func(on session) error {
		now := time.Now()
		keys := 0
		for name, r := range on.tx.keys.rows {
			if keys < limit && !r.expires.After(now) && !r.until.After(now) {
				on.tx.keys.remove(name)
				on.tx.bulkItems.remove(r.ClaimID)
				keys++
			}
		}
		for _, n := range []int{
			keys,
			purge(&on.tx.ceremonies, limit, func(c domain.Ceremony) bool { return !c.ExpiresAt.After(now) }),
			purge(&on.tx.links, limit, func(l domain.Link) bool { return !l.ExpiresAt.After(now.Add(-domain.LinkKept)) }),
			purge(&on.tx.sessions, limit, func(x domain.Session) bool { return !x.ExpiresAt.After(now.Add(-domain.SessionKept)) }),
			purge(&on.tx.mails, limit, func(m domain.Mail) bool { return m.SettledAt != nil && m.SettledAt.Before(now.Add(-domain.MailKept)) }),
			purge(&on.tx.moveRuns, limit, func(r moveRun) bool { return r.CreatedAt.Before(now.Add(-domain.MoveRunKept)) }),
			purge(&on.tx.devices, limit, func(seen time.Time) bool { return seen.Before(now.Add(-domain.DeviceKept)) }),
		} {
			removed, more = removed+n, more || n == limit
		}
		return nil
	})
	if err != nil {
		return 0, false, err
	}
	return removed, more, nil
}

// purge removes up to limit records that are over, and tells how many.
func purge[K comparable, V any](t *table[K, V], limit int, over func(V) bool) (removed int) {
	for k, v := range t.rows {
		if removed < limit && over(v) {
			t.remove(k)
			removed++
		}
	}
	return removed
}

// AnalyzeRecentTables does nothing: no plan is made.
func (s *Store) AnalyzeRecentTables(context.Context) (int, error) { return 0, nil }

// FindLate does nothing: every look looks at all.
func (s *Store) FindLate(context.Context) (int, error) { return 0, nil }

// FeedLag is always 0: transactions come one behind the other.
func (s *Store) FeedLag(context.Context) (time.Duration, error) { return 0, nil }

// Ping is nil.
func (s *Store) Ping(context.Context) error { return nil }

// Connections are none that could be refused.
func (s *Store) Connections(context.Context) error { return nil }

// Server is this package.
func (s *Store) Server(context.Context) (product, version string, clock time.Time, err error) {
	return "toystore", "1", time.Now(), nil
}

// SchemaVersions are none: there is no schema.
func (s *Store) SchemaVersions(context.Context) (applied, known int64, err error) { return 0, 0, nil }

// Installation was drawn when the store was made.
func (s *Store) Installation(context.Context) (string, error) { return s.name, nil }

// ReadClock is the machine's, with what was kept.
func (s *Store) ReadClock(context.Context) (ports.ClockReading, error) {
	read := s.committed.Load().clock
	read.Clock = time.Now()
	return read, nil
}

// KeepClock keeps what was read, unless another did since.
func (s *Store) KeepClock(ctx context.Context, read ports.ClockReading, ahead time.Duration) error {
	return s.transact(ctx, func(on session) error {
		if on.tx.clock.Seen.Equal(read.Seen) {
			on.tx.clock = ports.ClockReading{Seen: domain.Millis(read.Clock), Ahead: ahead.Truncate(time.Millisecond)}
		}
		return nil
	})
}

// Close has nothing to close.
func (s *Store) Close() error { return nil }
