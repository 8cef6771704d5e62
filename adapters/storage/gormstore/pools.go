package gormstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"gorm.io/gorm"

	"waybill/adapters/turns"
	"waybill/domain"
	"waybill/ports"
)

// pools holds the connections of a Store. Work that uses all of one pool leaves the others free:
// the read of a record does not wait for slow pages of lists.
type pools struct {
	write, read *sql.DB // the same one on Postgres
	lists       *sql.DB // of lists, searches and feeds; read, where they have none of their own
	dialector   func(*sql.DB) gorm.Dialector

	// named holds the pools that belong to this Store, which closes them.
	named map[string]*sql.DB
	grows []growth // those of them that ask a server for connections

	replicas *replicaReads // nil: there are none
}

func (p *pools) close() error {
	p.replicas.close()
	var failed []error
	for _, name := range slices.Sorted(maps.Keys(p.named)) {
		failed = append(failed, p.named[name].Close())
	}
	return errors.Join(failed...)
}

// PoolStats returns a function for each pool, by its name, that reports how busy it is.
func (s *Store) PoolStats() map[string]func() sql.DBStats {
	stats := make(map[string]func() sql.DBStats, len(s.pools.named))
	for name, db := range s.pools.named {
		stats[name] = db.Stats
	}
	return stats
}

// listWait limits how long a page of a list waits for a connection, on top of the time that the
// database may take for it.
const listWait = 2 * time.Second

// errListTime ends a page that has taken too long, including the wait for a connection.
var errListTime = errors.New("the time of a list is over")

// forList moves a session to the connections of lists, or of a replica where one may be read, and
// limits the time of a page there. Businesses take turns, and so do the applications of one; the
// empty tenant is the delivery company. If the time ends before the turn comes, the returned
// context has ended, so reads with it fail. In a transaction it changes nothing.
func (s *session) forList(ctx context.Context, of domain.Tenant) (context.Context, context.CancelFunc) {
	ctx, cancel := s.forPrimaryList(ctx, of)
	if s.replicas == nil || s.lists == nil {
		return ctx, cancel
	}
	end := s.onReplica(ctx)
	return ctx, func() { end(); cancel() }
}

// forPrimaryList does what forList does, for a page that is read from the primary only.
func (s *session) forPrimaryList(ctx context.Context, of domain.Tenant) (context.Context, context.CancelFunc) {
	if s.lists == nil {
		return ctx, func() {}
	}
	s.db = s.lists
	ctx, cancel := context.WithTimeoutCause(ctx, s.listTime, errListTime)
	business := string(of.BusinessID)
	if s.listTurns.Take(ctx, business, string(of.ApplicationID)) != nil {
		return ctx, cancel
	}
	return ctx, func() { s.listTurns.Give(business); cancel() }
}

// newListTurns distributes the connections of lists. A business has at most half of those of one
// server, so that its slow pages leave some to the others.
func newListTurns(connections, servers int) *turns.Turns {
	return turns.New(connections*servers, (connections+1)/2)
}

// listFailed returns the error of a page that was read with the context of forList.
func (s session) listFailed(ctx context.Context, what string, err error) error {
	if err != nil && errors.Is(context.Cause(ctx), errListTime) {
		return fmt.Errorf("%s: %w: %w", what, ports.ErrTookTooLong, err)
	}
	return s.dialect.failed(what, err)
}
