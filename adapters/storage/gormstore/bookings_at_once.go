package gormstore

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"waybill/adapters/storage/gormstore/pgfast"
	"waybill/ports"
)

// Postgres makes one transaction of all statements that come before a Sync, commits it
// there, and rolls it back after an error. So a batch needs neither BEGIN nor COMMIT, and one
// round trip, where each of its statements either stores all it should or fails: without ON
// CONFLICT an INSERT does. Conflicts are rare, since what would conflict was looked up before.
//
// After an error of Postgres nothing was stored, and the batch is stored by statements that
// tell which booking is to blame. A connection that breaks leaves the outcome unknown, as at a
// COMMIT, unless Postgres itself ended the session before it answered anything. For a while
// each batch begins with BEGIN then, which passes over dead connections.

// afterBreak is for how long that is. Connections that were not used for pgQuiet are
// pinged before they are used again.
const afterBreak = 2 * pgQuiet

// errNotAtOnce tells that nothing of a batch was stored, and that it is worth another way.
var errNotAtOnce = errors.New("the batch cannot be stored at once")

// mayCommitAtOnce tells whether a batch has no part whose result must be read before COMMIT.
func (s *Store) mayCommitAtOnce(b *pgBatch) bool {
	broke := s.broke.Load()
	return b.first && s.atOnce && (broke == 0 || sinceStart()-broke > int64(afterBreak)) &&
		!slices.ContainsFunc(parts, func(p part) bool { return p.result == judged && slices.ContainsFunc(b.entries, p.needed) })
}

// storeAtOnce stores all of a batch or nothing in one round trip.
func (s *Store) storeAtOnce(ctx context.Context, wait time.Duration, b *pgBatch) error {
	t := &pgTry{ctx: ctx, session: session{db: s.write, dialect: s.dialect, fanned: &fanned{}, watch: s.watch}, atOnce: true}
	if err := b.statements(t); err != nil {
		return err
	}
	conn, err := s.pools.write.Conn(ctx)
	if err != nil {
		return s.dialect.failed("no connection to the database", err)
	}
	defer func() { _ = conn.Close() }() // back into the pool; its error is that of a dead connection, known by now
	if ctx.Err() != nil {
		return fmt.Errorf("not committed: %w", whyEnded(ctx))
	}
	// What was sent counts, even when its time is over.
	sent, cancel := context.WithTimeout(context.WithoutCancel(ctx), timeToEnd(ctx))
	defer cancel()
	ended := false
	err = onPgConn(conn, func(c *pgConn) error {
		c.hosts.begunAt.Store(sinceStart())
		steps, answered := append(c.parameters(wait), t.steps...), false
		steps[0].Read = func(rows *pgconn.ResultReader) ([]int, error) {
			answered = true
			return pgfast.Discard(rows)
		}
		_, err := c.run(sent, steps, s.write.Logger)
		if err == nil || refusedByPostgres(ctx, nil, err) && !statementGone(err) {
			return err
		}
		ended = !answered && c.alone == "" && isPg(err, pgAdminShutdown) // not a pooler's word
		return errors.Join(driver.ErrBadConn, err)                       // the pool gives it up, whatever state it is in
	})
	s.noteDiskSpace(err)
	switch {
	case err == nil:
		s.announce(t.fanned)
		return nil
	case s.dialect.lockTimedOut(err):
		return err
	case refusedByPostgres(ctx, nil, err):
		return fmt.Errorf("%w: %w", errNotAtOnce, err)
	}
	s.broke.Store(sinceStart())
	if ended {
		return fmt.Errorf("%w: %w", errNotAtOnce, err)
	}
	s.announce(t.fanned)
	return fmt.Errorf("%w: %w", ports.ErrOutcomeUnknown, endedBy(ctx, err))
}
