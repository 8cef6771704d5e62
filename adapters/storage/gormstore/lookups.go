package gormstore

import (
	"context"
	"slices"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgtype"

	"waybill/adapters/batch"
	"waybill/adapters/storage/gormstore/pgfast"
	"waybill/domain"
)

// Finding one row by a unique key costs Postgres a fraction of the round trip. Rows that
// are needed at the same time are therefore read together, by one statement for each
// kind (a batched lookup). Where that fails, a row is looked up by itself.

// mostLookups is how many callers a batch asks for.
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
	*batch.Batcher[[]*pgfast.Question] // those of one caller
	conn                               func(ctx context.Context, do func(*pgConn) error) error
	broke                              atomic.Int64 // when a look-up ahead failed last; 0: none did
}

func newLookups(conn func(ctx context.Context, do func(*pgConn) error) error) *lookups {
	ls := &lookups{conn: conn}
	ls.Batcher = batch.New(lookupBatches, func(ctx context.Context, of [][]*pgfast.Question) []error {
		return batch.Same(len(of), ls.conn(ctx, func(c *pgConn) error { return pgfast.Ask(ctx, c.pgx(), c.alone, slices.Concat(of...)) }))
	})
	return ls
}

// quiet is ports.Readers.Quiet. Where a table hangs a key is looked up without the others for
// a while: a replay needs none of them.
func (ls *lookups) quiet() bool {
	if at := ls.broke.Load(); at != 0 && sinceStart()-at < int64(afterBreak) {
		return false
	}
	waiting, underWay := ls.Load()
	return waiting+underWay == 0
}

// lookupKind is a kind of lookup: a table and a key.
type lookupKind struct {
	table  table
	lookup *pgfast.Lookup
}

// newLookup is for rows of a table t that meet a condition on u.a, u.b and so
// on, which are of these types.
func newLookup(t table, columns, from string, key ...string) *lookupKind {
	return &lookupKind{table: t, lookup: pgfast.NewLookup(columns, from, key...)}
}

// applicationKey is the beginning of a key of what belongs to an application in an environment.
func applicationKey(t domain.Tenant) []any {
	return []any{uuidOf(rowIDOf(t.BusinessID)), uuidOf(rowIDOf(t.ApplicationID)), string(t.Environment)}
}

// uuidOf is an ID as pgx sends it fastest; a malformed one becomes NULL, which
// equals nothing.
func uuidOf(id rowID) (u pgtype.UUID) {
	u.Bytes, u.Valid = pgfast.UUIDBytes(id)
	return u
}

// lookUp finds the row of a key, or none; batch.ErrAlone tells that it has to be
// looked up by itself.
func lookUp[Row any](ctx context.Context, s session, kind *lookupKind, key ...any) (*Row, error) {
	if s.lookups == nil {
		return nil, batch.ErrAlone
	}
	if known, ok := takeAhead[Row](ctx, kind, key); ok {
		return known.row, nil
	}
	l := newLook[Row](ctx, kind, key)
	if err := s.lookups.Do(ctx, []*pgfast.Question{l.Question}); err != nil {
		return nil, batch.ErrAlone // its row is left to a batch that may still fill it
	}
	return l.row, nil
}

// look is a question and the row that answers it; nil: there is none.
type look[Row any] struct {
	*pgfast.Question
	row *Row
}

func newLook[Row any](ctx context.Context, kind *lookupKind, key []any) *look[Row] {
	l := &look[Row]{}
	l.Question = &pgfast.Question{Lookup: kind.lookup, Key: key, Into: func() []any {
		l.row = new(Row)
		return kind.table.scanned(ctx, l.row, nil)
	}}
	return l
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
