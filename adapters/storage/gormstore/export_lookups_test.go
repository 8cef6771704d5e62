package gormstore

import (
	"context"
	"sync/atomic"
)

// BatchAtOnce starts a second batch of bookings and of lookups whenever the first one
// is under way.
func (s *Store) BatchAtOnce() {
	s.bookings.Slow = 0
	if s.lookups != nil {
		s.lookups.Slow = 0
	}
}

// Looking is how many rows wait to be looked for together.
func (s *Store) Looking() int {
	waiting, _ := s.lookups.Load()
	return waiting
}

// CountLooks counts how often rows are asked for together, from now on.
func (s *Store) CountLooks() *atomic.Int32 {
	looks, conn := new(atomic.Int32), s.lookups.conn
	s.lookups.conn = func(ctx context.Context, do func(*pgConn) error) error {
		looks.Add(1)
		return conn(ctx, do)
	}
	return looks
}
