package gormstore

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// recentTables selects small tables that have grown by half and that autovacuum has not
// looked at yet. Large ones do not count: Postgres forgets after a crash when it
// looked at them.
const recentTables = `SELECT format('%I.%I', t.schemaname, t.relname)
	FROM pg_stat_user_tables t JOIN pg_class c ON c.oid = t.relid
	WHERE pg_table_is_visible(t.relid) AND t.last_autoanalyze IS NULL AND pg_relation_size(t.relid) < 64 * 1024 * 1024
		AND t.n_mod_since_analyze >= greatest(100, t.n_live_tup / 2) AND pg_has_role(c.relowner, 'USAGE')`

// quietFor is how long ago the last transaction of this process began where it has nothing to look for: sessions tell
// how many rows they changed within seconds.
const quietFor = 15 * time.Second

// A process that has been busy for eagerFor looks once in restFor: what has begun to grow by then was found. All
// processes ask, and each time about every table.
const (
	eagerFor = time.Minute
	restFor  = 20 * time.Second
)

// rest tells whether a look would come too early; if not, one follows. Each busy time begins eagerly.
func (s *Store) rest() bool {
	if s.quiet() {
		s.busySince.Store(0)
		return true
	}
	now := sinceStart()
	s.busySince.CompareAndSwap(0, now)
	if now-s.busySince.Load() > int64(eagerFor) && now-s.looked.Load() < int64(restFor) {
		return true
	}
	return false
}

// quiet tells that nothing has been changed lately through this store and those that share
// its database: bookings have one of their environment.
func (s *Store) quiet() bool {
	for _, p := range s.allPools() {
		for _, g := range p.grows {
			if sinceStart()-g.hosts.begunAt.Load() < int64(quietFor) {
				return false
			}
		}
	}
	return true
}

// allPools are those of this store and of all that share its database.
func (s *Store) allPools() []*pools { return append([]*pools{s.pools}, s.shares...) }

// AnalyzeRecentTables has the database analyze tables that have just begun to grow, and
// tells how many there were. Postgres plans statements on an empty table by any index,
// or none, and keeps to that until autovacuum comes, which is a minute later: meanwhile
// each create reads all the rows there are. Tables that autovacuum has analyzed are
// left to it, and those that other processes make grow to them. Most calls do nothing where
// this process has been busy for a minute.
func (s *Store) AnalyzeRecentTables(ctx context.Context) (analyzed int, err error) {
	if s.dialect.recentTables == "" || s.rest() {
		return 0, nil
	}
	var recent []string
	if err := s.write.WithContext(ctx).Raw(s.dialect.recentTables).Scan(&recent).Error; err != nil {
		return 0, fmt.Errorf("look for tables that have grown: %w", err)
	}
	s.looked.Store(sinceStart())
	for _, table := range recent {
		// Another process may analyze it now.
		if failed := s.write.WithContext(ctx).Exec("ANALYZE (SKIP_LOCKED) " + table).Error; failed != nil {
			err = errors.Join(err, fmt.Errorf("analyze %s: %w", table, failed))
			continue
		}
		analyzed++
	}
	return analyzed, err
}
