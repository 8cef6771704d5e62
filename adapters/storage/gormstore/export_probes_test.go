package gormstore

import (
	"context"
	"sync/atomic"
)

// HireAtOnce lets a second writer and a second prober come whenever the first one
// is at work.
func (s *Store) HireAtOnce() {
	s.folder.long = -1
	if s.probes != nil {
		s.probes.long = -1
	}
}

// Looking is how many rows wait to be looked for together.
func (s *Store) Looking() int {
	s.probes.mu.Lock()
	defer s.probes.mu.Unlock()
	return len(s.probes.waiting)
}

// CountLooks counts how often rows are asked for together, from now on.
func (s *Store) CountLooks() *atomic.Int32 {
	looks, conn := new(atomic.Int32), s.probes.conn
	s.probes.conn = func(ctx context.Context, do func(*pgConn) error) error {
		looks.Add(1)
		return conn(ctx, do)
	}
	return looks
}
