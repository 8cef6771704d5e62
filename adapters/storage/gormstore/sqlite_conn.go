package gormstore

import (
	"context"
	"database/sql"
	"database/sql/driver"

	"github.com/hashicorp/golang-lru/v2/simplelru"
	"modernc.org/sqlite"
)

// Preparing a statement costs SQLite as much as running it, and the driver prepares it again each
// time. So a connection caches its prepared statements by their text.

// statementsKept limits the statements that a connection caches; each takes about 10 KB.
const statementsKept = 128

// sqlitePool opens connections to the address. Their transactions begin with the statement begin.
func sqlitePool(address, begin string, size int) (*sql.DB, error) {
	c, err := sqlite.NewConnector(address)
	if err != nil {
		return nil, err
	}
	db := sql.OpenDB(sqliteConnector{c, begin})
	db.SetMaxOpenConns(size)
	db.SetMaxIdleConns(size)
	return db, nil
}

type sqliteConnector struct {
	driver.Connector
	begin string
}

func (c sqliteConnector) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	kept, err := simplelru.NewLRU(statementsKept, func(_ string, k *keptStatement) { k.drop() })
	if err != nil {
		return nil, err
	}
	return &sqliteConn{sqliteDriverConn: conn.(sqliteDriverConn), begin: c.begin, kept: kept}, nil //nolint:forcetypeassert // the driver's
}

// sqliteDriverConn lists the methods of a connection of the driver.
type sqliteDriverConn interface {
	driver.Conn
	driver.ConnPrepareContext
	driver.SessionResetter
	driver.Validator
}

type sqliteConn struct {
	sqliteDriverConn
	begin string
	kept  *simplelru.LRU[string, *keptStatement]
}

// keptStatement is a cached statement with one user at a time.
type keptStatement struct {
	sqliteStatement
	busy, dropped bool
}

type sqliteStatement interface {
	driver.Stmt
	driver.StmtExecContext
	driver.StmtQueryContext
}

// drop closes the statement, once it is not in use.
func (k *keptStatement) drop() {
	if k.dropped = true; !k.busy {
		_ = k.Close() // returns the error of its last run once more
	}
}

func (k *keptStatement) release() {
	if k.busy = false; k.dropped {
		k.drop()
	}
}

// take returns a statement. The caller releases it after use.
func (c *sqliteConn) take(ctx context.Context, query string) (*keptStatement, error) {
	known, ok := c.kept.Get(query)
	if ok && !known.busy {
		known.busy = true
		return known, nil
	}
	s, err := c.PrepareContext(ctx, query)
	if err != nil {
		return nil, err
	}
	k := &keptStatement{sqliteStatement: s.(sqliteStatement), busy: true, dropped: ok} //nolint:forcetypeassert // the driver's
	if !ok {
		c.kept.Add(query, k)
	}
	return k, nil
}

// ExecContext implements driver.ExecerContext.
func (c *sqliteConn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	k, err := c.take(ctx, query)
	if err != nil {
		return nil, err
	}
	defer k.release()
	return k.ExecContext(ctx, args)
}

// QueryContext implements driver.QueryerContext.
func (c *sqliteConn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	k, err := c.take(ctx, query)
	if err != nil {
		return nil, err
	}
	rows, err := k.QueryContext(ctx, args)
	if err != nil {
		k.release()
		return nil, err
	}
	return &keptRows{rows, k}, nil
}

type keptRows struct {
	driver.Rows
	of *keptStatement
}

// Close releases the statement. It is called once.
func (r *keptRows) Close() error {
	defer r.of.release()
	return r.Rows.Close()
}

// Close implements driver.Conn.
func (c *sqliteConn) Close() error {
	c.kept.Purge()
	return c.sqliteDriverConn.Close()
}

// BeginTx implements driver.ConnBeginTx. It does not use the driver's own transactions. They roll
// back when COMMIT fails, but an open one is a sign that nothing was stored (refusedBySQLite).
func (c *sqliteConn) BeginTx(ctx context.Context, _ driver.TxOptions) (driver.Tx, error) {
	tx := sqliteTx{c}
	if _, err := c.ExecContext(ctx, c.begin, nil); err != nil {
		// Where ctx ends at the same moment, the transaction may have begun. It would stay open in
		// the connection, and no other one could begin there. Without one this fails, harmlessly.
		_ = tx.Rollback()
		return nil, err
	}
	return tx, nil
}

type sqliteTx struct{ conn *sqliteConn }

func (tx sqliteTx) Commit() error   { return tx.end("COMMIT") }
func (tx sqliteTx) Rollback() error { return tx.end("ROLLBACK") }

func (tx sqliteTx) end(statement string) error {
	_, err := tx.conn.ExecContext(context.Background(), statement, nil)
	return err
}
