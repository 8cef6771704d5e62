package gormstore

import (
	"context"
	"fmt"
)

// youngTables are tables of ours that have grown by half and that autovacuum has
// not looked at yet.
const youngTables = `SELECT format('%I.%I', t.schemaname, t.relname)
	FROM pg_stat_user_tables t JOIN pg_class c ON c.oid = t.relid
	WHERE t.schemaname = current_schema() AND t.last_autoanalyze IS NULL
		AND t.n_mod_since_analyze >= greatest(100, t.n_live_tup / 2) AND pg_has_role(c.relowner, 'USAGE')`

// AnalyzeYoung makes the database look at tables that have just begun to grow, and
// tells how many there were. Postgres plans statements on an empty table by any index,
// or none, and keeps to that until autovacuum comes, which is a minute later:
// meanwhile each create reads all the rows there are. What autovacuum has looked
// at is left to it.
func (s *Store) AnalyzeYoung(ctx context.Context) (analyzed int, err error) {
	if s.engine.youngTables == "" {
		return 0, nil
	}
	var young []string
	if err := s.write.WithContext(ctx).Raw(s.engine.youngTables).Scan(&young).Error; err != nil {
		return 0, fmt.Errorf("gormstore: look for tables that have grown: %w", err)
	}
	for _, table := range young {
		// Another process may be at it.
		if err := s.write.WithContext(ctx).Exec("ANALYZE (SKIP_LOCKED) " + table).Error; err != nil {
			return 0, fmt.Errorf("gormstore: analyze %s: %w", table, err)
		}
	}
	return len(young), nil
}
