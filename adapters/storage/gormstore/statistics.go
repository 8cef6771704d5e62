package gormstore

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// recentTables selects small tables that have grown by half and that autovacuum has not analyzed
// yet. It leaves out large ones: Postgres forgets after a crash when it analyzed them.
const recentTables = `SELECT format('%I.%I', t.schemaname, t.relname)
	FROM pg_stat_user_tables t JOIN pg_class c ON c.oid = t.relid
	WHERE pg_table_is_visible(t.relid) AND t.last_autoanalyze IS NULL AND pg_relation_size(t.relid) < 64 * 1024 * 1024
		AND t.n_mod_since_analyze >= greatest(100, t.n_live_tup / 2) AND pg_has_role(c.relowner, 'USAGE')`

// quietFor is the time after which a process without transactions has nothing to look for: sessions
// report within seconds how many rows they changed.
const quietFor = 15 * time.Second

// A process that has been busy for eagerFor looks once in restFor: tables that began to grow by
// then were found. All processes look, and each time at every table.
const (
	eagerFor = time.Minute
	restFor  = 20 * time.Second
)

// rest reports whether a look would come too early; if not, one follows. Each busy time begins with
// frequent looks.
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

// quiet reports that nothing was changed lately through this store and those that share its
// database. Bookings have a store for their environment.
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

// allPools returns the pools of this store and of all that share its database.
func (s *Store) allPools() []*pools { return append([]*pools{s.pools}, s.shares...) }

// AnalyzeRecentTables makes the database analyze tables that have just begun to grow, and returns
// how many. Postgres plans statements on an empty table by any index, or none, and keeps such a
// plan until autovacuum comes a minute later. Meanwhile each create reads all rows. Tables that
// autovacuum has analyzed are left to it, and tables that other processes make grow are left to
// them. After a minute of a busy process most calls do nothing.
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
