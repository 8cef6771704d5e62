package gormstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// growth is a pool that opens connections to a server when it needs them.
type growth struct {
	name   string
	db     *sql.DB
	hosts  *pgHosts
	needed bool // the program cannot work without this pool
}

// Connections reports pools that do not get the connections they ask for, for example because the
// server has no more. It returns ports.ErrStorageGone if a pool that the program cannot work
// without has none left. It retries for a pool that was refused, so that the result is current even
// without requests.
func (s *Store) Connections(ctx context.Context) error {
	var failed []error
	for _, g := range s.pools.grows {
		why := g.refusal(ctx)
		switch left := g.hosts.open.Load(); {
		case why == nil:
		case left == 0 && g.needed:
			failed = append(failed, s.dialect.failed("the pool "+g.name+" has no connection to the database and gets none", why))
		default:
			failed = append(failed, fmt.Errorf("the pool %s has %d connections to the database and gets no more: %w", g.name, left, why))
		}
	}
	return errors.Join(failed...)
}

// refusal returns why the server gives the pool no more connections. It returns nil if the server
// does, or was not asked.
func (g growth) refusal(ctx context.Context) error {
	why := g.hosts.refused.Load()
	if why == nil {
		return nil
	}
	if g.db.Stats().Idle > 0 { // dead ones, perhaps, which the pool throws away
		if conn, err := g.db.Conn(ctx); err == nil {
			_ = conn.Close() // back into the pool
		}
	}
	made, err := g.hosts.connect(ctx)
	if err == nil {
		return made.Close()
	}
	if ctx.Err() != nil {
		return *why
	}
	return err
}
