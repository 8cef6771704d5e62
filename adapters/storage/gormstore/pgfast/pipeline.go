package pgfast

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// Step is one statement of a pipeline.
type Step struct {
	What      string // for errors
	Statement string
	Values    []Value
	// Wanted maps IDs to items. The statement must return each of these IDs in its
	// first column; the items of the others are missing.
	Wanted map[[16]byte][]int
	// Read reads the rows instead, and returns items that are missing.
	Read func(*pgconn.ResultReader) (missing []int, err error)
}

// Trace is called after each statement with its result.
type Trace func(s Step, begun time.Time, rows int64, err error)

// binaryFormat is the format of all parameters and columns.
var binaryFormat = []int16{pgx.BinaryFormatCode}

// Run sends all steps at once, in the open transaction, and reads their results up to
// the first failure. It returns the items that are missing in some step; where there
// are any, a later failure may be their consequence and is no error. With prepare the
// session keeps the statements as prepared ones.
func Run(ctx context.Context, conn *pgx.Conn, prepare bool, steps []Step, trace Trace) (missing map[int]bool, err error) {
	sent, err := send(ctx, conn, prepare, steps)
	if err != nil {
		return nil, err
	}
	missing, err = results(sent, steps, trace)
	if closed := sent.Close(); err == nil && len(missing) == 0 {
		err = closed
	}
	return missing, err
}

func send(ctx context.Context, conn *pgx.Conn, prepare bool, steps []Step) (*pgconn.Pipeline, error) {
	prepared := make([]*pgconn.StatementDescription, len(steps))
	if prepare {
		for i, s := range steps {
			var err error
			if prepared[i], err = conn.Prepare(ctx, s.Statement, s.Statement); err != nil {
				return nil, err
			}
		}
	}
	if err := ctx.Err(); err != nil {
		return nil, err // else the pipeline would not begin, and leave the buffer behind
	}
	pg := conn.PgConn()
	sent := pg.StartPipeline(ctx)
	b := bufferFor(steps)
	pg.Frontend().Send(b)
	for i, s := range steps {
		data, types := make([][]byte, len(s.Values)), make([]uint32, len(s.Values))
		for n, v := range s.Values {
			data[n], types[n] = v.Data, v.OID
		}
		if p := prepared[i]; p != nil {
			sent.SendQueryStatement(p, data, binaryFormat, binaryFormat)
		} else {
			sent.SendQueryParams(s.Statement, data, types, binaryFormat, binaryFormat)
		}
	}
	if err := sent.Sync(); err != nil {
		return nil, errors.Join(err, sent.Close())
	}
	b.giveBack(pg.Frontend())
	return sent, nil
}

func results(sent *pgconn.Pipeline, steps []Step, trace Trace) (map[int]bool, error) {
	missing := map[int]bool{}
	for _, s := range steps {
		begun := time.Now()
		some, rows, err := s.result(sent)
		trace(s, begun, rows, err)
		for _, item := range some {
			missing[item] = true
		}
		if err != nil {
			if len(missing) > 0 {
				return missing, nil
			}
			return nil, fmt.Errorf("%s: %w", s.What, err)
		}
	}
	return missing, nil
}

// result reads the rows of a statement, and returns the missing items.
func (s Step) result(sent *pgconn.Pipeline) (missing []int, affected int64, err error) {
	got, err := sent.GetResults()
	if err != nil {
		return nil, 0, err
	}
	rows, ok := got.(*pgconn.ResultReader)
	if !ok {
		return nil, 0, fmt.Errorf("no rows came back but a %T", got)
	}
	read := s.Read
	if read == nil {
		read = s.returned
	}
	missing, failed := read(rows)
	tag, err := rows.Close()
	return missing, tag.RowsAffected(), errors.Join(err, failed)
}

// returned reads IDs from the first column, and returns the items of those that
// did not come.
func (s Step) returned(rows *pgconn.ResultReader) (missing []int, err error) {
	for rows.NextRow() {
		id := rows.Values()[0]
		if len(id) != 16 {
			return nil, fmt.Errorf("an ID of %d bytes came back", len(id))
		}
		delete(s.Wanted, [16]byte(id))
	}
	if _, err := rows.Close(); err != nil {
		return nil, err
	}
	for _, items := range s.Wanted {
		missing = append(missing, items...)
	}
	return missing, nil
}

// Discard reads rows that are not needed.
func Discard(rows *pgconn.ResultReader) ([]int, error) {
	for rows.NextRow() {
	}
	return nil, nil
}
