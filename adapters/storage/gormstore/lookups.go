package gormstore

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"waybill/adapters/batch"
	"waybill/domain"
)

// What Postgres does for one row by a unique key is a fraction of what it costs
// to ask. Rows that are looked for at the same time are therefore asked for together, by
// one statement for each kind of them (a batched lookup). A row that cannot be had
// so is looked for by itself.

// mostLookups is how many rows a batch asks for.
const mostLookups = 128

// lookupBatches are the rules of batches of lookups.
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
	*batch.Batcher[*lookedUp]
	conn func(ctx context.Context, do func(*pgConn) error) error
}

func newLookups(conn func(ctx context.Context, do func(*pgConn) error) error) *lookups {
	ls := &lookups{conn: conn}
	ls.Batcher = batch.New(lookupBatches, func(ctx context.Context, of []*lookedUp) []error { return batch.Same(len(of), ls.ask(ctx, of)) })
	return ls
}

// lookedUp is a row that is looked for.
type lookedUp struct {
	kind  *lookupKind
	key   []any
	into  func() []any // where the number and the columns of what is found are put
	found bool
}

// lookupKind is how rows of a table are looked for.
type lookupKind struct {
	table     table
	statement string
	gather    []func([]*lookedUp) any // the parameters
}

// newLookup is for rows of a table t that meet a condition on u.a, u.b and so
// on, which are of these types.
func newLookup(t table, columns, from string, key ...string) *lookupKind {
	k := &lookupKind{table: t, gather: []func([]*lookedUp) any{numbered}}
	parameters, names := []string{"$1::integer[]"}, []string{"n"}
	for i, sqlType := range key {
		parameters = append(parameters, "$"+strconv.Itoa(i+2)+"::"+sqlType+"[]")
		names = append(names, string(rune('a'+i)))
		k.gather = append(k.gather, keyGatherers[sqlType](i))
	}
	// LATERAL with a LIMIT is a look into an index for each, whatever Postgres
	// believes about the size of the table.
	k.statement = "SELECT u.n, f.* FROM unnest(" + strings.Join(parameters, ", ") + ") AS u (" + strings.Join(names, ", ") + ")" +
		" CROSS JOIN LATERAL (SELECT " + columns + " FROM " + from + " LIMIT 1) f"
	return k
}

var keyGatherers = map[string]func(i int) func([]*lookedUp) any{
	"uuid": keyed[pgtype.UUID], "text": keyed[string], "bytea": keyed[[]byte],
}

func keyed[T any](i int) func([]*lookedUp) any {
	return func(of []*lookedUp) any {
		all := make([]T, len(of))
		for n, l := range of {
			all[n] = l.key[i].(T)
		}
		return all
	}
}

// uuidOf is an ID as pgx sends it fastest; one that is malformed becomes NULL,
// which nothing equals.
func uuidOf(id rowID) (u pgtype.UUID) {
	u.Bytes, u.Valid = uuidBytes(id)
	return u
}

func numbered(of []*lookedUp) any {
	all := make([]int32, len(of))
	for n := range all {
		all[n] = int32(n)
	}
	return all
}

// lookUp finds the row of a key, or none; batch.ErrAlone tells that it has to be
// looked for by itself.
func lookUp[Row any](ctx context.Context, s session, kind *lookupKind, key ...any) (*Row, error) {
	if s.lookups == nil {
		return nil, batch.ErrAlone
	}
	var row *Row
	l := &lookedUp{kind: kind, key: key, into: func() []any {
		row = new(Row)
		return kind.table.scanned(ctx, row, nil)
	}}
	if s.lookups.Do(ctx, l) != nil {
		return nil, batch.ErrAlone // row is left to a batch that may still fill it
	}
	if !l.found {
		return nil, nil
	}
	return row, nil
}

// ask looks for all of them.
func (ls *lookups) ask(ctx context.Context, of []*lookedUp) error {
	byKind := make(map[*lookupKind][]*lookedUp, 4)
	for _, l := range of {
		byKind[l.kind] = append(byKind[l.kind], l)
	}
	return ls.conn(ctx, func(conn *pgConn) error {
		questions := &pgx.Batch{}
		if conn.alone != "" {
			questions.Queue(conn.alone)
		}
		asked := make([][]*lookedUp, 0, len(byKind))
		for kind, some := range byKind {
			values := make([]any, len(kind.gather))
			for i, gather := range kind.gather {
				values[i] = gather(some)
			}
			questions.Queue(kind.statement, values...)
			asked = append(asked, some)
		}
		results := conn.pgx().SendBatch(ctx, questions)
		defer func() { _ = results.Close() }() // its error is told below
		if conn.alone != "" {
			if _, err := results.Exec(); err != nil {
				return err
			}
		}
		for _, some := range asked {
			if err := fill(results, some, conn.pgx().TypeMap()); err != nil {
				return err
			}
		}
		return results.Close()
	})
}

// fill puts rows where they belong.
func fill(results pgx.BatchResults, of []*lookedUp, types *pgtype.Map) error {
	rows, _ := results.Query() // its error is that of rows, too
	defer rows.Close()
	var n int32
	for rows.Next() {
		number := rows.FieldDescriptions()[0]
		if err := types.Scan(number.DataTypeOID, number.Format, rows.RawValues()[0], &n); err != nil {
			return err
		}
		l := of[n]
		if err := rows.Scan(l.into()...); err != nil {
			return err
		}
		l.found = true
	}
	return rows.Err()
}

// foundOr is what a row stands for, or domain.ErrNotFound.
func foundOr[Row, Record any](row *Row, err error, record func(*Row) Record) (none Record, _ error) {
	switch {
	case err != nil:
		return none, err
	case row == nil:
		return none, domain.ErrNotFound
	}
	return record(row), nil
}
