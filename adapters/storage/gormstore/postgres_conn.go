package gormstore

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
)

// ErrPooler tells that a pooler answered where Postgres itself was expected.
var ErrPooler = errors.New("a pooler stands between this program and Postgres")

// pgConnector makes the connections of a pool.
type pgConnector struct {
	hosts *pgHosts

	// direct refuses a pooler, behind which a session may change hands after each
	// transaction.
	direct bool
	// begin begins a transaction.
	begin string
	// alone is sent before a statement outside of a transaction, in one round
	// trip and one transaction with it; empty: none is.
	alone string
	// whole is how long a SELECT may take, to the end of its rows, which are all
	// read before the first one is given out: so it can be sent elsewhere after each
	// failure. 0: they are given out as they come.
	whole time.Duration
	// lockTimeout is what each transaction sets and the coordinator of Citus carries to
	// the nodes; empty: none does.
	lockTimeout string
}

func (c pgConnector) Connect(ctx context.Context) (driver.Conn, error) {
	made, err := c.hosts.connect(ctx)
	if err != nil {
		if c.direct && isPg(err, pgProtocolViolation) {
			return nil, fmt.Errorf("%w: %w", ErrPooler, err) // PgBouncer refuses parameters of a session so
		}
		return nil, err
	}
	conn := &pgConn{Conn: made, hosts: c.hosts, begin: c.begin, alone: c.alone, whole: c.whole, made: sinceStart(), lockTimeout: c.lockTimeout}
	c.hosts.open.Add(1)
	if c.direct {
		ctx, cancel := context.WithTimeout(ctx, c.hosts.timeout)
		defer cancel()
		if err := conn.confirmDirect(ctx); err != nil {
			return nil, errors.Join(err, conn.Close())
		}
	}
	return conn, nil
}

// Driver is pgx's.
func (c pgConnector) Driver() driver.Driver { return c.hosts.hosts[0].Driver() }

// pgConn is a connection of pgx that reports its death to database/sql where a
// retry does no harm, and that sets in each transaction what a pooler's session
// does not keep.
type pgConn struct {
	*stdlib.Conn
	hosts        *pgHosts
	begin, alone string
	lockWait     time.Duration // of the next transaction, for a row; 0: as the session has it
	whole        time.Duration // as that of pgConnector
	made         int64         // since the process began
	lockTimeout  string        // as that of pgConnector
}

// Close is called once.
func (c *pgConn) Close() error {
	c.hosts.open.Add(-1)
	return c.Conn.Close()
}

// IsValid keeps dead connections out of the pool.
func (c *pgConn) IsValid() bool { return !c.pgx().IsClosed() }

// ResetSession is called before a connection is used again. An idle one has to
// answer a ping first. Where one does not, all that were idle for as long count
// as dead: a request that pinged them one by one would wait for each.
func (c *pgConn) ResetSession(ctx context.Context) error {
	heard := int64(0)
	if h := limitedConnOf(c.pgx().PgConn().Conn()); h != nil {
		heard = h.lastHeard.Load()
	}
	if !c.IsValid() || !c.idle() || heard < c.hosts.lostAt.Load() || c.made < c.hosts.turnedAt.Load() {
		return driver.ErrBadConn
	}
	if asked := sinceStart(); asked-heard > int64(pgQuiet) {
		within, cancel := context.WithTimeout(ctx, pgPingTimeout)
		defer cancel()
		if err := c.pgx().PgConn().Ping(within); err != nil {
			if ctx.Err() == nil && within.Err() != nil {
				c.hosts.lostAt.Store(asked - int64(pgQuiet))
			}
			return driver.ErrBadConn
		}
	}
	return nil
}

func (c *pgConn) pgx() *pgx.Conn { return c.Conn.Conn() }

// turned gives up a connection whose session may only read, with all that were
// made before.
func (c *pgConn) turned() error {
	c.hosts.turnedAt.Store(sinceStart())
	return driver.ErrBadConn
}

// onPgConn runs do on a connection past database/sql. A panic becomes an error:
// database/sql would never release the connection.
func onPgConn(conn *sql.Conn, do func(*pgConn) error) error {
	return conn.Raw(func(driven any) (err error) {
		defer func() {
			if why := recover(); why != nil {
				err = fmt.Errorf("panic: %v\n%s", why, debug.Stack())
			}
		}()
		return do(driven.(*pgConn))
	})
}

// confirmDirect compares the process ID of the session's start with the one that
// answers now. A pooler makes the first one up: its clients cancel statements
// with it, whatever session those run in.
func (c *pgConn) confirmDirect(ctx context.Context) error {
	var pid int64
	// In the simple protocol, which leaves no prepared statement behind.
	err := c.pgx().QueryRow(ctx, "SELECT pg_backend_pid()", pgx.QueryExecModeSimpleProtocol).Scan(&pid)
	if err == nil && uint32(pid) != c.pgx().PgConn().PID() { //nolint:gosec // a pid of Postgres has 31 bits
		return ErrPooler
	}
	return err
}

func (c *pgConn) BeginTx(ctx context.Context, o driver.TxOptions) (tx driver.Tx, err error) {
	c.hosts.begunAt.Store(sinceStart())
	if c.lockTimeout != "" {
		tx, err = c.beginCarrying(ctx)
		return tx, c.unlessDead(ctx, err)
	}
	begin := c.begin
	if wait := c.lockWait; wait > 0 {
		begin += "; SET LOCAL lock_timeout = " + milliseconds(wait)
	}
	tx, err = c.beginAs(ctx, begin, o)
	return tx, c.unlessDead(ctx, err)
}

func (c *pgConn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	if c.whole == 0 {
		return c.query(ctx, query, args)
	}
	ctx, cancel := context.WithTimeout(ctx, c.whole)
	defer cancel()
	rows, err := c.query(ctx, query, args)
	if err != nil {
		return nil, err
	}
	return readWhole(rows)
}

func (c *pgConn) query(ctx context.Context, query string, args []driver.NamedValue) (rows driver.Rows, err error) {
	again := c.idle() && readsOnly(query)
	if c.alone != "" && c.idle() {
		rows, err = c.queryAlone(ctx, query, args)
	} else {
		rows, err = c.Conn.QueryContext(ctx, query, args)
	}
	if again {
		err = c.unlessDead(ctx, err)
	}
	return rows, err
}

func (c *pgConn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (result driver.Result, err error) {
	again := c.idle() && readsOnly(query)
	if c.alone != "" && c.idle() {
		result, err = c.execAlone(ctx, query, args)
	} else {
		result, err = c.Conn.ExecContext(ctx, query, args)
	}
	if again {
		err = c.unlessDead(ctx, err)
	}
	return result, err
}

// idle tells that no transaction is open.
func (c *pgConn) idle() bool { return c.pgx().PgConn().TxStatus() == 'I' }

// readsOnly tells that a statement may run twice. It knows the statements of
// this package, in which a SELECT changes nothing.
func readsOnly(query string) bool { return strings.HasPrefix(query, "SELECT ") }

// unlessDead turns an error into driver.ErrBadConn where it came with the end of
// the connection, so that database/sql tries another one: those that wait in a
// pool die unnoticed when the server restarts or ends their sessions. A context
// that has ended kills its connection too; then there is no caller left to try
// again for.
func (c *pgConn) unlessDead(ctx context.Context, err error) error {
	if err == nil || errors.Is(err, driver.ErrBadConn) || !c.pgx().IsClosed() || ctx.Err() != nil {
		return err
	}
	return fmt.Errorf("%w: %w", driver.ErrBadConn, err)
}

// wholeRows are rows that were all read.
type wholeRows struct {
	columns []string
	rows    [][]driver.Value
}

func readWhole(from driver.Rows) (*wholeRows, error) {
	all := &wholeRows{columns: from.Columns()}
	for {
		row := make([]driver.Value, len(all.columns))
		switch err := from.Next(row); {
		case err == io.EOF: //nolint:errorlint // wrapped, it is the end of the connection
			return all, from.Close()
		case err != nil:
			return nil, errors.Join(err, from.Close())
		}
		all.rows = append(all.rows, row)
	}
}

func (w *wholeRows) Columns() []string { return w.columns }
func (w *wholeRows) Close() error      { return nil }

func (w *wholeRows) Next(into []driver.Value) error {
	if len(w.rows) == 0 {
		return io.EOF
	}
	copy(into, w.rows[0])
	w.rows = w.rows[1:]
	return nil
}
