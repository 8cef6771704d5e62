package gormstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// growth is a pool that opens connections to a server as it needs them.
type growth struct {
	name   string
	db     *sql.DB
	hosts  *pgHosts
	needed bool // the program cannot work without this pool
}

// Connections tells of pools that do not get the connections they ask for, as where
// the server has no more of them. The error is ports.ErrStorageGone where a pool
// that the program cannot work without has none left. A pool that was refused one
// tries again here, so that the answer is current even without requests.
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

// refusal is why the server gives the pool no more connections; nil: it does, or has
// not been asked.
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
