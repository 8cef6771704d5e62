package gormstore

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"
	"github.com/jackc/pgx/v5/pgtype"
)

// What is stored together goes to Postgres as arrays of hundreds of values. pgx
// encodes those through an interface for each value, which was half of all that a
// server allocated while it created deliveries; here they are written as they go
// over the connection, in binary.

// param is a parameter of a statement.
type param struct {
	oid  uint32
	data []byte // nil: NULL
}

// binaryFormat is that of all parameters of a statement, and of all columns.
var binaryFormat = []int16{pgx.BinaryFormatCode}

// send sends statements all at once. What comes back has to be closed.
func (c *pgConn) send(ctx context.Context, steps []step) (*pgconn.Pipeline, error) {
	prepared := make([]*pgconn.StatementDescription, len(steps))
	if c.alone == "" { // behind a pooler nothing is prepared
		for i, s := range steps {
			var err error
			if prepared[i], err = c.pgx().Prepare(ctx, s.statement, s.statement); err != nil {
				return nil, err
			}
		}
	}
	if err := ctx.Err(); err != nil {
		return nil, err // a pipeline that does not begin would leave the room behind
	}
	pg := c.pgx().PgConn()
	sent := pg.StartPipeline(ctx)
	r := roomFor(steps)
	pg.Frontend().Send(r)
	for i, s := range steps {
		data, types := make([][]byte, len(s.values)), make([]uint32, len(s.values))
		for n, v := range s.values {
			data[n], types[n] = v.data, v.oid
		}
		if p := prepared[i]; p != nil {
			sent.SendQueryStatement(p, data, binaryFormat, binaryFormat)
		} else {
			sent.SendQueryParams(s.statement, data, types, binaryFormat, binaryFormat)
		}
	}
	if err := sent.Sync(); err != nil {
		return nil, errors.Join(err, sent.Close())
	}
	r.leave(pg.Frontend())
	return sent, nil
}

// room is no message but the place for those that follow: without it the buffer
// of the connection grows by doubling each time, as pgx keeps no large one.
type room struct {
	pgproto3.Sync
	size  int    // with all that is around the values
	data  int    // the values alone
	taken []byte // nil: not one of rooms
}

// rooms are used again. What is in one has been sent when it comes back.
var rooms = sync.Pool{New: func() any { return new([]byte) }}

// The smallest that is used again is above what pgx keeps for itself, the largest
// below what is rare.
const (
	smallRoom = 16 << 10
	largeRoom = 512 << 10
)

func roomFor(steps []step) *room {
	const head = 64 // of a message and of those beside it, more or less
	r := &room{}
	for _, s := range steps {
		r.size += 2*head + len(s.statement)
		for _, v := range s.values {
			r.size, r.data = r.size+8+len(v.data), r.data+len(v.data)
		}
	}
	return r
}

// Encode adds nothing.
func (r *room) Encode(to []byte) ([]byte, error) {
	if len(to) > 0 || r.data < smallRoom || r.size > largeRoom {
		return slices.Grow(to, r.size), nil
	}
	kept := *rooms.Get().(*[]byte)
	r.taken = slices.Grow(kept[:0], r.size)
	return r.taken, nil
}

// leave gives the room back, after everything in it was sent; not where the
// connection goes on with it, as it does with small ones.
func (r *room) leave(of *pgproto3.Frontend) {
	if r.taken == nil {
		return
	}
	now := &buffer{}
	of.Send(now)
	if !sameArray(now.bytes, r.taken) {
		rooms.Put(&r.taken)
	}
}

// buffer is no message either: it looks at where messages are put.
type buffer struct {
	pgproto3.Sync
	bytes []byte
}

func (b *buffer) Encode(to []byte) ([]byte, error) {
	b.bytes = to
	return to, nil
}

func sameArray(a, b []byte) bool {
	return cap(a) > 0 && cap(b) > 0 && &a[:1][0] == &b[:1][0]
}

// wireType is how values of a Go type go to Postgres.
type wireType[T any] struct {
	name           string // in a cast
	oid, oidOfMany uint32
	size           func(T) int // in bytes; below 0: NULL
	put            func([]byte, T) []byte
}

// arrayHeader is before the values: dimensions, whether there are NULLs, the type
// of the values, how many, and the index of the first.
const arrayHeader = 5 * 4

// one is a single value.
func (w wireType[T]) one(v T) param {
	p := param{oid: w.oid}
	if size := w.size(v); size >= 0 {
		p.data = w.put(make([]byte, 0, size), v)
	}
	return p
}

// many is an array of n values.
func (w wireType[T]) many(n int, at func(i int) T) param {
	whole, nulls := arrayHeader, uint32(0)
	for i := range n {
		if size := w.size(at(i)); size < 0 {
			whole, nulls = whole+4, 1
		} else {
			whole += 4 + size
		}
	}
	b := make([]byte, 0, whole)
	for _, head := range [...]uint32{1, nulls, w.oid, uint32(n), 1} { //nolint:gosec // as many as one batch has rows
		b = binary.BigEndian.AppendUint32(b, head)
	}
	for i := range n {
		v := at(i)
		size := w.size(v)
		b = binary.BigEndian.AppendUint32(b, uint32(int32(size))) //nolint:gosec // -1 stands for null
		if size >= 0 {
			b = w.put(b, v)
		}
	}
	return param{oid: w.oidOfMany, data: b}
}

// wireNull is the size of NULL.
const wireNull = -1

var (
	wireUUID    = wireType[rowID]{"uuid", pgtype.UUIDOID, pgtype.UUIDArrayOID, sizeOfUUID, putUUID}
	wireText    = wireType[string]{"text", pgtype.TextOID, pgtype.TextArrayOID, func(s string) int { return len(s) }, func(b []byte, s string) []byte { return append(b, s...) }}
	wireBytes   = wireType[[]byte]{"bytea", pgtype.ByteaOID, pgtype.ByteaArrayOID, sizeOfBytes, func(b, v []byte) []byte { return append(b, v...) }}
	wireInteger = wireType[int]{"integer", pgtype.Int4OID, pgtype.Int4ArrayOID, sized[int](4), func(b []byte, n int) []byte { return binary.BigEndian.AppendUint32(b, uint32(int32(n))) }}
	wireBigint  = wireType[int64]{"bigint", pgtype.Int8OID, pgtype.Int8ArrayOID, sized[int64](8), func(b []byte, n int64) []byte { return binary.BigEndian.AppendUint64(b, uint64(n)) }}
	wireDouble  = wireType[float64]{"double precision", pgtype.Float8OID, pgtype.Float8ArrayOID, sized[float64](8), putDouble}
	wireBoolean = wireType[bool]{"boolean", pgtype.BoolOID, pgtype.BoolArrayOID, sized[bool](1), putBoolean}
	wireTime    = wireType[time.Time]{"timestamptz", pgtype.TimestamptzOID, pgtype.TimestamptzArrayOID, sized[time.Time](8), putTime}
	wireInstant = wireType[instant]{"timestamptz", pgtype.TimestamptzOID, pgtype.TimestamptzArrayOID, sized[instant](8), func(b []byte, i instant) []byte { return putTime(b, i.time) }}
)

func sized[T any](n int) func(T) int { return func(T) int { return n } }

// optional sends nil as NULL.
func optional[T any](w wireType[T]) wireType[*T] {
	return wireType[*T]{
		w.name, w.oid, w.oidOfMany,
		func(v *T) int {
			if v == nil {
				return wireNull
			}
			return w.size(*v)
		},
		func(b []byte, v *T) []byte { return w.put(b, *v) },
	}
}

// sizeOfUUID makes NULL of an ID that is malformed, which no column takes.
func sizeOfUUID(id rowID) int {
	if _, ok := uuidBytes(id); !ok {
		return wireNull
	}
	return 16
}

func putUUID(b []byte, id rowID) []byte {
	u, _ := uuidBytes(id)
	return append(b, u[:]...)
}

func uuidBytes(id rowID) (u [16]byte, ok bool) {
	if len(id) != 2*len(u) {
		return u, false
	}
	var text [32]byte
	copy(text[:], id)
	_, err := hex.Decode(u[:], text[:])
	return u, err == nil
}

func sizeOfBytes(v []byte) int {
	if v == nil {
		return wireNull
	}
	return len(v)
}

func putDouble(b []byte, f float64) []byte {
	return binary.BigEndian.AppendUint64(b, math.Float64bits(f))
}

func putBoolean(b []byte, v bool) []byte {
	if v {
		return append(b, 1)
	}
	return append(b, 0)
}

// pgEpoch is from where Postgres counts, in microseconds.
var pgEpoch = time.Date(2000, time.January, 1, 0, 0, 0, 0, time.UTC).UnixMicro()

func putTime(b []byte, t time.Time) []byte {
	return binary.BigEndian.AppendUint64(b, uint64(t.UnixMicro()-pgEpoch)) //nolint:gosec // the wire has it in two's complement
}
