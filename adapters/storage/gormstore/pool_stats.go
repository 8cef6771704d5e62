package gormstore

import "database/sql"

// PoolStats tells how busy the connections are, by what they are for. SQLite has
// one connection that writes and others that read; Postgres has one pool.
func (s *Store) PoolStats() map[string]func() sql.DBStats {
	if s.pools.read == s.pools.write {
		return map[string]func() sql.DBStats{"all": s.pools.write.Stats}
	}
	return map[string]func() sql.DBStats{"read": s.pools.read.Stats, "write": s.pools.write.Stats}
}
