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

// ErrPooler means that a pooler responded where Postgres itself was expected.
var ErrPooler = errors.New("a pooler stands between this program and Postgres")

// pgConnector makes the connections of a pool.
type pgConnector struct {
	hosts *pgHosts

	// direct refuses a pooler, behind which a session may serve another client after each
	// transaction.
	direct bool
	// begin is the statement that begins a transaction.
	begin string
	// alone is sent before a statement outside of a transaction, in one round trip and one
	// transaction with it. It is empty where nothing is sent.
	alone string
	// whole limits the time of a SELECT, to the end of its rows. All are read before the first one
	// is returned, so that the SELECT can be sent elsewhere after each failure. 0: rows are
	// returned as they come.
	whole time.Duration
	// lockTimeout is set in each transaction, and the coordinator of Citus carries it to the nodes.
	// It is empty elsewhere.
	lockTimeout string
}

func (c pgConnector) Connect(ctx context.Context) (driver.Conn, error) {
	made, err := c.hosts.connect(ctx)
	if err != nil {
		if c.direct && isPg(err, pgProtocolViolation) {
			return nil, fmt.Errorf("%w: %w", ErrPooler, err) // so PgBouncer refuses parameters of a session
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

// Driver returns that of pgx.
func (c pgConnector) Driver() driver.Driver { return c.hosts.hosts[0].Driver() }

// pgConn is a connection of pgx that reports its death to database/sql where a retry does no harm.
// It sets in each transaction what a pooler's session does not keep.
type pgConn struct {
	*stdlib.Conn
	hosts        *pgHosts
	begin, alone string
	lockWait     time.Duration // of the next transaction, for a row; 0: as the session has it
	whole        time.Duration // as that of pgConnector
	made         int64         // since the process began
	lockTimeout  string        // as that of pgConnector
}

// Close closes the connection. It is called once.
func (c *pgConn) Close() error {
	c.hosts.open.Add(-1)
	return c.Conn.Close()
}

// IsValid keeps dead connections out of the pool.
func (c *pgConn) IsValid() bool { return !c.pgx().IsClosed() }

// ResetSession runs before a connection is used again. An idle one must respond to a ping first. If
// one does not, all that were idle for as long count as dead: a request that pinged them one by one
// would wait for each.
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

// turned drops a connection whose session is read-only, with all that were made before.
func (c *pgConn) turned() error {
	c.hosts.turnedAt.Store(sinceStart())
	return driver.ErrBadConn
}

// onPgConn runs do on a connection past database/sql. It turns a panic into an error: database/sql
// would never release the connection.
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

// confirmDirect compares the process ID from the start of the session with the one that responds
// now. A pooler invents the first one: its clients cancel statements with it, whatever session
// those run in.
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

// idle reports that no transaction is open.
func (c *pgConn) idle() bool { return c.pgx().PgConn().TxStatus() == 'I' }

// readsOnly reports that a statement may run twice. It knows the statements of this package, in
// which a SELECT changes nothing.
func readsOnly(query string) bool { return strings.HasPrefix(query, "SELECT ") }

// unlessDead turns an error that came with the end of the connection into driver.ErrBadConn, so
// that database/sql tries another one. Connections in a pool die unnoticed when the server restarts
// or ends their sessions. A context that has ended kills its connection too. Then there is no
// caller left to retry for.
func (c *pgConn) unlessDead(ctx context.Context, err error) error {
	if err == nil || errors.Is(err, driver.ErrBadConn) || !c.pgx().IsClosed() || ctx.Err() != nil {
		return err
	}
	return fmt.Errorf("%w: %w", driver.ErrBadConn, err)
}

// wholeRows holds rows that were all read.
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
