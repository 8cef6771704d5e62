package gormstore

import (
	"context"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"waybill/domain"
)

// What Postgres does for one row by a unique key is a fraction of what it costs
// to ask. So those that are asked for at the same time are asked for together, one
// statement for each kind of them. As with bookings, nobody waits for company,
// and who cannot be served so asks alone.

const (
	probers    = 2   // that ask at a time
	mostProbes = 128 // rows at a time

	// probePatience is how long somebody waits while nobody is answered: a
	// connection that is dead without a word must not hold up those of others.
	probePatience = 500 * time.Millisecond
	probeBudget   = 3 * time.Second
	// longProbe is how long asking may take before another prober comes anyway.
	longProbe = 20 * time.Millisecond
)

// probes are rows that are looked for in one store.
type probes struct {
	conn func(ctx context.Context, do func(*pgConn) error) error
	long time.Duration // how long asking takes at which another prober comes anyway

	mu      sync.Mutex
	busy    int
	waiting []*probe
	moved   time.Time // when the last ones were answered
	began   time.Time // when the last ones were taken
}

// probe is one of them.
type probe struct {
	kind  *probeKind
	key   []any
	into  func() []any // where the number and the columns of what is found are put
	found bool
	done  chan error
	left  bool // nobody waits for it any more
}

// probeKind is how rows of a table are looked for.
type probeKind struct {
	table     table
	statement string
	gather    []func([]*probe) any // the parameters
}

// newProbe is for rows of a table t that meet a condition on u.a, u.b and so
// on, which are of these types.
func newProbe(t table, columns, from string, key ...string) *probeKind {
	k := &probeKind{table: t, gather: []func([]*probe) any{numbered}}
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

var keyGatherers = map[string]func(i int) func([]*probe) any{
	"uuid": keyed[pgtype.UUID], "text": keyed[string], "bytea": keyed[[]byte],
}

func keyed[T any](i int) func([]*probe) any {
	return func(of []*probe) any {
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

func numbered(of []*probe) any {
	all := make([]int32, len(of))
	for n := range all {
		all[n] = int32(n)
	}
	return all
}

// probeFor finds the row of a key, or none; errAlone tells that it has to be
// looked for by itself.
func probeFor[Row any](ctx context.Context, s session, kind *probeKind, key ...any) (*Row, error) {
	if s.probes == nil {
		return nil, errAlone
	}
	var row *Row
	came, look := time.Now(), max(s.probes.long, longProbe)
	again := time.NewTimer(look)
	defer again.Stop()
	l := &probe{kind: kind, key: key, done: make(chan error, 1), into: func() []any {
		row = new(Row)
		return kind.table.scanned(ctx, row, nil)
	}}
	s.probes.add(l)
	for {
		select {
		case err := <-l.done:
			if err != nil || !l.found {
				return nil, err
			}
			return row, nil
		case <-ctx.Done():
			s.probes.leave(l, 0)
			return nil, errAlone // row is left to whoever may still fill it
		case <-again.C:
			if time.Since(came) >= probePatience && s.probes.leave(l, probePatience) {
				return nil, errAlone
			}
			s.probes.mu.Lock()
			s.probes.hire() // what takes long may have begun after all had come
			s.probes.mu.Unlock()
			again.Reset(look)
		}
	}
}

// leave gives a probe up, unless others have been answered within such a time.
func (ls *probes) leave(l *probe, idle time.Duration) bool {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	if time.Since(ls.moved) < idle {
		return false
	}
	l.left = true
	return true
}

func (ls *probes) add(l *probe) {
	ls.mu.Lock()
	ls.waiting = append(ls.waiting, l)
	ls.hire()
	ls.mu.Unlock()
}

// hire lets somebody ask where rows wait and nobody is at it or, up to their
// number, where many wait or the last ones were taken long ago. The probes are
// locked.
func (ls *probes) hire() {
	if len(ls.waiting) == 0 || ls.busy == probers {
		return
	}
	if ls.busy == 0 || len(ls.waiting) >= mostProbes/2 || time.Since(ls.began) > ls.long {
		ls.busy, ls.began = ls.busy+1, time.Now()
		go ls.work()
	}
}

// work asks until nobody waits.
func (ls *probes) work() {
	for {
		taken := ls.next()
		if len(taken) == 0 {
			return
		}
		err := ls.ask(taken)
		ls.mu.Lock()
		ls.moved = time.Now()
		ls.mu.Unlock()
		for _, l := range taken {
			l.done <- err
		}
	}
}

// next takes those that wait, in their order, and passes over those that were
// given up: after a pause they would be in everybody's way. Where nobody waits
// the prober is let go.
func (ls *probes) next() []*probe {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	taken := make([]*probe, 0, min(len(ls.waiting), mostProbes))
	for len(ls.waiting) > 0 && len(taken) < mostProbes {
		if l := ls.waiting[0]; !l.left {
			taken = append(taken, l)
		}
		ls.waiting[0], ls.waiting = nil, ls.waiting[1:]
	}
	if len(taken) == 0 {
		ls.busy--
	} else {
		ls.began = time.Now()
	}
	return taken
}

// ask looks for all of them. The error, if any, is errAlone.
func (ls *probes) ask(of []*probe) (err error) {
	defer func() {
		if recover() != nil {
			err = errAlone // what is wrong shows there
		}
	}()
	ctx, cancel := context.WithTimeout(context.Background(), probeBudget)
	defer cancel()
	byKind := make(map[*probeKind][]*probe, 4)
	for _, l := range of {
		byKind[l.kind] = append(byKind[l.kind], l)
	}
	err = ls.conn(ctx, func(conn *pgConn) error {
		batch := &pgx.Batch{}
		if conn.alone != "" {
			batch.Queue(conn.alone)
		}
		asked := make([][]*probe, 0, len(byKind))
		for kind, some := range byKind {
			values := make([]any, len(kind.gather))
			for i, gather := range kind.gather {
				values[i] = gather(some)
			}
			batch.Queue(kind.statement, values...)
			asked = append(asked, some)
		}
		results := conn.pgx().SendBatch(ctx, batch)
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
	if err != nil {
		return errAlone
	}
	return nil
}

// fill puts rows where they belong.
func fill(results pgx.BatchResults, of []*probe, types *pgtype.Map) error {
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
