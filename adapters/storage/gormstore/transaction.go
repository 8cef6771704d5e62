package gormstore

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"gorm.io/gorm"

	"waybill/ports"
)

const (
	maxRetries = 3
	// retryPause limits the pause before the first retry. The limit doubles with each retry.
	retryPause = 10 * time.Millisecond
	// endTimeout limits COMMIT, which ignores the end of the caller's context but not its deadline.
	// After that the outcome is unknown. leastToEnd is what a COMMIT has that began in time.
	endTimeout = 5 * time.Second
	leastToEnd = 500 * time.Millisecond
	// rollbackTimeout is short: a connection that does not respond is dropped, and Postgres rolls
	// back by itself.
	rollbackTimeout = time.Second
)

// InTx runs fn in one transaction.
func (s *Store) InTx(ctx context.Context, fn func(ctx context.Context, tx ports.Stores) error) error {
	return s.transact(ctx, func(sn session) error { return fn(ctx, sn.stores()) })
}

// transact runs fn in a transaction, and retries it when the database asks for that. If a row is
// held, it queues for the row.
func (s *Store) transact(ctx context.Context, fn func(session) error) error {
	return s.transactOn(ctx, "", fn)
}

// transactOn does what transact does, for a transaction that needs a row that counts as held;
// empty: no such row is known.
func (s *Store) transactOn(ctx context.Context, row string, fn func(session) error) error {
	if s.contention == nil {
		return s.repeat(ctx, nil, fn)
	}
	err := s.dialect.failed("wait for "+row, errRowHeld)
	if row == "" {
		n := &need{contention: s.contention, wait: s.contention.brief}
		if err = s.repeat(ctx, n, fn); !s.dialect.waitedInVain(err) {
			return err
		}
		if row = n.row; !errors.Is(err, errRowHeld) {
			s.contention.noteHeld(row)
		}
	}
	return s.contention.queue(ctx, row, err, func(wait time.Duration) (bool, error) {
		err := s.repeat(ctx, &need{contention: s.contention, wait: wait, queued: true}, fn)
		return s.dialect.waitedInVain(err), err
	})
}

// repeat runs fn in a transaction, and retries it when the database asks for that.
func (s *Store) repeat(ctx context.Context, n *need, fn func(session) error) error {
	for retry := 0; ; retry++ {
		err := endedBy(ctx, s.attempt(ctx, n, fn))
		s.noteDiskSpace(err)
		if err == nil || !s.worthRetrying(err) {
			return err
		}
		if retry == maxRetries {
			return s.dialect.failed("all retries of a transaction", err)
		}
		select {
		case <-ctx.Done():
			return s.dialect.failed("no time for a retry of a transaction", err)
		case <-time.After(rand.N(retryPause << retry)): //nolint:gosec // spreads retries
		}
	}
}

// endedBy adds the cause to a failure that came with the end of a context. A transaction that ran
// into its deadline reports only `canceled`, or that it is over, as for a caller that has gone.
func endedBy(ctx context.Context, err error) error {
	if err == nil || ctx.Err() == nil || errors.Is(err, ctx.Err()) || ports.StorageUnavailable(err) {
		return err
	}
	for _, vague := range []error{context.Canceled, sql.ErrTxDone, sql.ErrConnDone, driver.ErrBadConn} {
		if errors.Is(err, vague) {
			return fmt.Errorf("%w (%v)", whyEnded(ctx), err) //nolint:errorlint // the vague one must not match
		}
	}
	return err
}

// whyEnded returns the reason why a context ended. A deadline counts as one, whatever its cause
// says.
func whyEnded(ctx context.Context) error {
	if cause := context.Cause(ctx); !errors.Is(cause, ctx.Err()) {
		return fmt.Errorf("%w: %w", ctx.Err(), cause)
	}
	return ctx.Err()
}

// errNotBegun marks a transaction that did not begin, so that nothing of it happened.
var errNotBegun = errors.New("the transaction did not begin")

func (s *Store) worthRetrying(err error) bool {
	return errors.Is(err, errNotBegun) || statementGone(err) || s.dialect.transient(err)
}

func (s *Store) attempt(ctx context.Context, n *need, fn func(session) error) error {
	// The transaction has a context of its own, which ends with the caller's until fn has returned.
	// A COMMIT must not be cancelled half-way. Once sent it counts, even without a caller.
	txCtx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	release := context.AfterFunc(ctx, cancel)
	defer release()

	conn, tx, err := s.begin(ctx, txCtx, n)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }() // back into the pool; its error is that of a dead connection, known by now
	committing := false
	defer func() { // after a failure, and after a panic or Goexit in fn
		if !committing {
			timer := time.AfterFunc(rollbackTimeout, cancel)
			defer timer.Stop()
			_ = tx.Rollback() // a transaction whose rollback fails is dead already
		}
	}()

	sn := session{db: s.in(ctx, tx), dialect: s.dialect, fanned: &fanned{}, conn: conn, need: n, watch: s.watch}
	if err := fn(sn); err != nil {
		if statementGone(err) { // another connection prepares it again
			_ = onPgConn(conn, func(c *pgConn) error { return c.pgx().Close(txCtx) })
		}
		return err
	}
	if !release() {
		return fmt.Errorf("not committed: %w", whyEnded(ctx))
	}
	committing = true
	timer := time.AfterFunc(timeToEnd(ctx), cancel)
	defer timer.Stop()
	if err = s.commit(txCtx, conn, tx); err == nil || errors.Is(err, ports.ErrOutcomeUnknown) {
		s.announce(sn.fanned)
	}
	return err
}

// timeToEnd returns how long the caller of a transaction waits for its COMMIT.
func timeToEnd(ctx context.Context) time.Duration {
	if end, ok := ctx.Deadline(); ok {
		return min(endTimeout, max(leastToEnd, time.Until(end)))
	}
	return endTimeout
}

// begin takes a connection and begins a transaction on it. It skips dead ones: after a restart of
// the server, all in the pool may be dead.
func (s *Store) begin(ctx, txCtx context.Context, n *need) (*sql.Conn, *sql.Tx, error) {
	for dead := 0; ; dead++ {
		conn, err := s.pools.write.Conn(ctx)
		if err != nil {
			return nil, nil, s.dialect.failed("no connection to the database", err)
		}
		if n != nil {
			err = onPgConn(conn, func(c *pgConn) error { c.lockWait = n.wait; return nil })
		}
		var tx *sql.Tx
		if err == nil {
			tx, err = s.beginOn(ctx, txCtx, conn)
		} else {
			_ = conn.Close() // as beginOn does
		}
		if err == nil {
			return conn, tx, nil
		}
		if ctx.Err() != nil {
			return nil, nil, fmt.Errorf("begin a transaction: %w", err)
		}
		if !errors.Is(err, driver.ErrBadConn) || dead == s.pools.write.Stats().MaxOpenConnections {
			return nil, nil, fmt.Errorf("%w: %w", errNotBegun, s.dialect.failed("begin", err))
		}
	}
}

// beginOn begins a transaction on a connection, which it returns to the pool after a failure.
// SQLite waits for another process that writes, and does not notice the end of a context. Its wait
// then continues without the caller.
func (s *Store) beginOn(ctx, txCtx context.Context, conn *sql.Conn) (*sql.Tx, error) {
	begin := func() (*sql.Tx, error) {
		tx, err := conn.BeginTx(txCtx, nil)
		if err != nil {
			_ = conn.Close() // the error of BEGIN says the same
		}
		return tx, err
	}
	if s.dialect.limitsStatements {
		return begin()
	}
	type outcome struct {
		tx  *sql.Tx
		err error
	}
	begun := make(chan outcome, 1)
	go func() {
		tx, err := begin()
		begun <- outcome{tx, err}
	}()
	select {
	case o := <-begun:
		return o.tx, o.err
	case <-ctx.Done():
		go func() {
			if o := <-begun; o.err == nil {
				_ = o.tx.Rollback()
				_ = conn.Close()
			}
		}()
		return nil, whyEnded(ctx)
	}
}

// in returns gorm on the transaction.
func (s *Store) in(ctx context.Context, tx *sql.Tx) *gorm.DB {
	db := s.write.Session(&gorm.Session{NewDB: true, Context: ctx})
	db.Statement.ConnPool = tx
	return db
}

// commit distinguishes three outcomes: committed, not committed, and ports.ErrOutcomeUnknown.
func (s *Store) commit(ctx context.Context, conn *sql.Conn, tx *sql.Tx) error {
	err := s.commitTx(tx)
	if err == nil {
		return nil
	}
	refused := s.dialect.refused(ctx, conn, err)
	// database/sql takes the transaction for finished, whatever the state of the session. It must
	// not be used again.
	_ = conn.Raw(func(any) error { return driver.ErrBadConn })
	if refused {
		return s.dialect.failed("commit", err)
	}
	return fmt.Errorf("%w: %w", ports.ErrOutcomeUnknown, err)
}
