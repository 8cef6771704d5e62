package gormstore

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgconn/ctxwatch"
	"github.com/jackc/pgx/v5/pgtype"
)

// Behind a pooler in transaction mode each transaction may run in another session of Postgres. So
// nothing is left in a session or expected there: no prepared statement, and no parameter. Each
// transaction sets the time-outs again, with the statement that begins it. A statement outside of a
// transaction is sent together with the one that sets them.
//
// Setting them for the role in Postgres was rejected. Older sessions of the pooler keep what they
// had, and a SET of any client of the pooler changes it for this program.

// poolersKeep lists the parameters that PgBouncer remembers for each client.
var poolersKeep = []string{"application_name", "client_encoding", "datestyle", "standard_conforming_strings", "timezone"}

// letFinish limits how long a statement behind a pooler may continue after its caller has gone.
// Those of this program end within that, and nothing is cancelled. A cancel request takes another
// connection and comes late, and PgBouncer 1.18 may end in a fatal error on it, with all its
// clients.
const letFinish = time.Second

// withoutCancels lets running statements finish when their context ends. Only a statement that
// continues for longer costs its connection.
func withoutCancels(config *pgx.ConnConfig) {
	config.BuildContextWatcherHandler = func(c *pgconn.PgConn) ctxwatch.Handler {
		return &pgconn.DeadlineContextWatcherHandler{Conn: c.Conn(), DeadlineDelay: letFinish}
	}
}

// perTransaction removes the parameters from a configuration that a pooled session would not keep.
// It returns the statement that sets them until the end of a transaction.
func perTransaction(config *pgx.ConnConfig) (string, error) {
	// Through PgBouncer 1.18 a booking took 2.0 ms of all processes' time in this mode, 2.1 in
	// QueryExecModeSimpleProtocol and 2.2 in CacheDescribe (1.2 without a pooler, with prepared
	// statements), a read 0.43, 0.40 and 0.46. The difference is small. This mode needs neither
	// values in the text of a statement nor a round trip before its first use.
	config.DefaultQueryExecMode = pgx.QueryExecModeExec

	var calls []string
	for _, name := range slices.Sorted(maps.Keys(config.RuntimeParams)) {
		switch value := config.RuntimeParams[name]; {
		case slices.Contains(poolersKeep, name):
			continue
		case name == "options":
			return "", errors.New("options in the database URL get lost in a pooler, but for -c name=value: leave the others out")
		case name == "default_transaction_isolation": // each transaction begins with its own
			delete(config.RuntimeParams, name)
		default:
			calls = append(calls, "set_config("+quoted(name)+", "+quoted(value)+", true)")
			delete(config.RuntimeParams, name)
		}
	}
	// Not SET LOCAL: that takes a statement for each, and warns outside of BEGIN.
	return "SELECT " + strings.Join(calls, ", "), nil
}

func quoted(text string) string { return "'" + strings.ReplaceAll(text, "'", "''") + "'" }

// beginAs begins a transaction in one round trip, whatever is set with it.
func (c *pgConn) beginAs(ctx context.Context, begin string, o driver.TxOptions) (driver.Tx, error) {
	if o != (driver.TxOptions{}) {
		return nil, errors.New("a transaction that sets parameters has no options")
	}
	tx, err := c.pgx().BeginTx(ctx, pgx.TxOptions{BeginQuery: begin})
	if err != nil {
		return nil, err
	}
	return pgTx{ctx: ctx, tx: tx}, nil
}

type pgTx struct {
	ctx context.Context // driver.Tx is not given one when it ends
	tx  pgx.Tx
}

func (t pgTx) Commit() error   { return t.tx.Commit(t.ctx) }
func (t pgTx) Rollback() error { return t.tx.Rollback(t.ctx) }

func (c *pgConn) queryAlone(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	results, err := c.sendAlone(ctx, query, args)
	if err != nil {
		return nil, err
	}
	found, _ := results.Query() // found.Err returns its error, too
	rows := &pgRows{found: found, results: results, types: c.pgx().TypeMap()}
	// Only now are the columns known, and whether the statement failed.
	rows.ahead, rows.more = true, found.Next()
	if err := found.Err(); err != nil {
		_ = results.Close() // returns the same error
		return nil, err
	}
	return rows, nil
}

func (c *pgConn) execAlone(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	if len(args) == 0 { // it may be several statements, as without a pooler
		tag, err := c.pgx().Exec(ctx, c.alone+"; "+query)
		return driver.RowsAffected(tag.RowsAffected()), err
	}
	results, err := c.sendAlone(ctx, query, args)
	if err != nil {
		return nil, err
	}
	tag, err := results.Exec()
	if ended := results.Close(); err == nil {
		err = ended
	}
	return driver.RowsAffected(tag.RowsAffected()), err
}

// sendAlone sends two statements before one Sync, which makes them one transaction, and reads the
// response of the first. A transaction around each read would be three round trips instead of one,
// and took 1.6 times as long.
func (c *pgConn) sendAlone(ctx context.Context, query string, args []driver.NamedValue) (pgx.BatchResults, error) {
	values := make([]any, len(args))
	for i, a := range args {
		values[i] = a.Value
	}
	batch := &pgx.Batch{}
	batch.Queue(c.alone)
	batch.Queue(query, values...)
	results := c.pgx().SendBatch(ctx, batch)
	if _, err := results.Exec(); err != nil {
		_ = results.Close() // returns the same error
		return nil, err
	}
	return results, nil
}

// pgRows adapts the rows of a batch to database/sql, for which pgx has nothing.
type pgRows struct {
	found   pgx.Rows
	results pgx.BatchResults
	types   *pgtype.Map

	ahead, more bool // a row was fetched already; there was one
}

func (r *pgRows) Columns() []string {
	fields := r.found.FieldDescriptions()
	names := make([]string, len(fields))
	for i, f := range fields {
		names[i] = f.Name
	}
	return names
}

func (r *pgRows) Close() error {
	r.found.Close()
	return r.results.Close()
}

func (r *pgRows) Next(row []driver.Value) error {
	if !r.ahead {
		r.more = r.found.Next()
	}
	r.ahead = false
	if !r.more {
		if err := r.found.Err(); err != nil {
			return err
		}
		return io.EOF
	}
	fields := r.found.FieldDescriptions()
	for i, raw := range r.found.RawValues() {
		value, err := r.value(fields[i], raw)
		if err != nil {
			return fmt.Errorf("column %s: %w", fields[i].Name, err)
		}
		row[i] = value
	}
	return nil
}

// value decodes a column as pgx's own rows do.
func (r *pgRows) value(f pgconn.FieldDescription, raw []byte) (driver.Value, error) {
	if raw == nil {
		return nil, nil
	}
	switch f.DataTypeOID {
	case pgtype.BoolOID:
		return scanned[bool](r.types, f, raw)
	case pgtype.Int2OID, pgtype.Int4OID, pgtype.Int8OID:
		return scanned[int64](r.types, f, raw)
	case pgtype.Float4OID, pgtype.Float8OID:
		return scanned[float64](r.types, f, raw)
	case pgtype.ByteaOID, pgtype.JSONOID, pgtype.JSONBOID:
		return scanned[[]byte](r.types, f, raw)
	case pgtype.DateOID, pgtype.TimestampOID, pgtype.TimestamptzOID:
		return scanned[time.Time](r.types, f, raw)
	}
	return scanned[string](r.types, f, raw)
}

func scanned[T any](types *pgtype.Map, f pgconn.FieldDescription, raw []byte) (driver.Value, error) {
	var value T
	err := types.Scan(f.DataTypeOID, f.Format, raw, &value)
	return value, err
}
