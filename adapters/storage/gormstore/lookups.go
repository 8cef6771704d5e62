package gormstore

import (
	"context"
	"encoding/hex"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"waybill/adapters/batch"
	"waybill/domain"
)

// To find a row by a unique key costs Postgres a fraction of the round trip. So rows that are
// needed at the same time are read together, by one statement for each kind (a batched lookup). If
// that fails, each row is looked up alone.

// mostLookups limits the callers of a batch.
const mostLookups = 128

// lookupBatches sets the options of batches of lookups.
var lookupBatches = batch.Options{
	Size:     mostLookups,
	Parallel: 2,
	Many:     mostLookups / 2,
	Slow:     20 * time.Millisecond,
	Budget:   3 * time.Second,
	Stall:    500 * time.Millisecond,
}

// lookups finds rows of one store.
type lookups struct {
	*batch.Batcher[*question]
	conn func(ctx context.Context, do func(*pgConn) error) error
}

func newLookups(conn func(ctx context.Context, do func(*pgConn) error) error) *lookups {
	ls := &lookups{conn: conn}
	ls.Batcher = batch.New(lookupBatches, func(ctx context.Context, of []*question) []error {
		return batch.Same(len(of), ls.conn(ctx, func(c *pgConn) error { return ask(ctx, c.pgx(), c.alone, of) }))
	})
	return ls
}

// lookupKind is a statement that finds rows of a table by keys.
type lookupKind struct {
	table     table
	statement string
	gather    []func([]*question) any // the parameters
}

// newLookup prepares a lookup of rows of table t that meet a condition on u.a, u.b and so on. Their
// types are uuid, text or bytea.
func newLookup(t table, columns, from string, key ...string) *lookupKind {
	k := &lookupKind{table: t, gather: []func([]*question) any{numbered}}
	parameters, names := []string{"$1::integer[] AS n"}, []string{"n"}
	for i, sqlType := range key {
		name := string(rune('a' + i))
		parameters = append(parameters, "$"+strconv.Itoa(i+2)+"::"+sqlType+"[] AS "+name)
		names = append(names, name)
		k.gather = append(k.gather, keyGatherers[sqlType](i))
	}
	// LATERAL with a LIMIT searches an index for each key, whatever Postgres expects of the size of
	// the table. Behind OFFSET 0 it does not see how long the arrays are. So no plan for those of
	// one call looks cheaper, and it keeps one plan for all. Planning each look-up anew took a
	// quarter of its time for a create.
	k.statement = "SELECT u.n, f.* FROM (SELECT " + strings.Join(parameters, ", ") + " OFFSET 0) k" +
		" CROSS JOIN unnest(k." + strings.Join(names, ", k.") + ") AS u (" + strings.Join(names, ", ") + ")" +
		" CROSS JOIN LATERAL (SELECT " + columns + " FROM " + from + " LIMIT 1) f"
	return k
}

var keyGatherers = map[string]func(i int) func([]*question) any{
	"uuid": keyed[pgtype.UUID], "text": keyed[string], "bytea": keyed[[]byte],
}

func keyed[T any](i int) func([]*question) any {
	return func(of []*question) any {
		all := make([]T, len(of))
		for n, q := range of {
			all[n] = q.key[i].(T)
		}
		return all
	}
}

func numbered(of []*question) any {
	all := make([]int32, len(of))
	for n := range all {
		all[n] = int32(n) //nolint:gosec // as many as one batch has
	}
	return all
}

// question is one row to look up.
type question struct {
	kind *lookupKind
	key  []any        // pgtype.UUID, string or []byte
	into func() []any // called for a row that is found: nil, and then targets for its columns
}

// ask answers all questions in one round trip, by one statement for each kind. It sends first
// before them, unless it is empty.
func ask(ctx context.Context, conn *pgx.Conn, first string, of []*question) error {
	byKind := make(map[*lookupKind][]*question, 4)
	for _, q := range of {
		byKind[q.kind] = append(byKind[q.kind], q)
	}
	all := &pgx.Batch{}
	if first != "" {
		all.Queue(first)
	}
	asked := make([][]*question, 0, len(byKind))
	for kind, some := range byKind {
		values := make([]any, len(kind.gather))
		for i, gather := range kind.gather {
			values[i] = gather(some)
		}
		all.Queue(kind.statement, values...)
		asked = append(asked, some)
	}
	results := conn.SendBatch(ctx, all)
	defer func() { _ = results.Close() }() // its error is returned below
	if first != "" {
		if _, err := results.Exec(); err != nil {
			return err
		}
	}
	for _, some := range asked {
		if err := fill(results, some, conn.TypeMap()); err != nil {
			return err
		}
	}
	return results.Close()
}

// fill scans the rows into their questions' targets.
func fill(results pgx.BatchResults, of []*question, types *pgtype.Map) error {
	rows, _ := results.Query() // rows.Err returns its error, too
	defer rows.Close()
	var n int32
	for rows.Next() {
		number := rows.FieldDescriptions()[0]
		if err := types.Scan(number.DataTypeOID, number.Format, rows.RawValues()[0], &n); err != nil {
			return err
		}
		if err := rows.Scan(of[n].into()...); err != nil {
			return err
		}
	}
	return rows.Err()
}

// applicationKey returns the beginning of a key of records of an application in an environment.
func applicationKey(t domain.Tenant) []any {
	return []any{uuidOf(rowIDOf(t.BusinessID)), uuidOf(rowIDOf(t.ApplicationID)), string(t.Environment)}
}

// uuidOf returns an ID in the form that pgx sends fastest. A malformed one becomes NULL, which
// equals nothing.
func uuidOf(id rowID) (u pgtype.UUID) {
	if len(id) == 2*len(u.Bytes) {
		_, err := hex.Decode(u.Bytes[:], []byte(id))
		u.Valid = err == nil
	}
	return u
}

// lookUp returns the row of a key, or nil. It returns batch.ErrAlone where the row must be looked
// up alone.
func lookUp[Row any](ctx context.Context, s session, kind *lookupKind, key ...any) (*Row, error) {
	if s.lookups == nil {
		return nil, batch.ErrAlone
	}
	var row *Row
	q := &question{kind: kind, key: key, into: func() []any {
		row = new(Row)
		return kind.table.scanned(ctx, row, nil)
	}}
	if err := s.lookups.Do(ctx, q); err != nil {
		return nil, batch.ErrAlone // its row is left to a batch that may still fill it
	}
	return row, nil
}

// foundOr turns a row into its record, or no row into domain.ErrNotFound.
func foundOr[Row, Record any](row *Row, err error, record func(*Row) Record) (none Record, _ error) {
	switch {
	case err != nil:
		return none, err
	case row == nil:
		return none, domain.ErrNotFound
	}
	return record(row), nil
}
