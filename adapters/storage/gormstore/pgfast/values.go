package pgfast

import (
	"encoding/binary"
	"encoding/hex"
	"math"
	"time"

	"github.com/jackc/pgx/v5/pgtype"
)

// Value is a parameter of a statement, as it goes over the connection in binary.
type Value struct {
	OID  uint32
	Data []byte // nil: NULL
}

// Type is how values of a Go type go to Postgres.
type Type[T any] struct {
	name           string // in a cast
	oid, oidOfMany uint32
	size           func(T) int // in bytes; below 0: NULL
	put            func([]byte, T) []byte
}

// null is the size of NULL.
const null = -1

// Types of Go for types of Postgres.
var (
	Text = Type[string]{"text", pgtype.TextOID, pgtype.TextArrayOID, func(s string) int { return len(s) }, func(b []byte, s string) []byte {
		return append(b, s...)
	}}
	Bytes   = Type[[]byte]{"bytea", pgtype.ByteaOID, pgtype.ByteaArrayOID, sizeOfBytes, func(b, v []byte) []byte { return append(b, v...) }}
	Integer = Type[int]{"integer", pgtype.Int4OID, pgtype.Int4ArrayOID, sized[int](4), putInteger}
	Bigint  = Type[int64]{"bigint", pgtype.Int8OID, pgtype.Int8ArrayOID, sized[int64](8), putBigint}
	Double  = Type[float64]{"double precision", pgtype.Float8OID, pgtype.Float8ArrayOID, sized[float64](8), putDouble}
	Boolean = Type[bool]{"boolean", pgtype.BoolOID, pgtype.BoolArrayOID, sized[bool](1), putBoolean}
	Time    = Type[time.Time]{"timestamptz", pgtype.TimestamptzOID, pgtype.TimestamptzArrayOID, sized[time.Time](8), putTime}
)

// UUID is for IDs of 32 hex characters. One that is malformed becomes NULL, which no
// column takes and nothing equals.
func UUID[ID ~string]() Type[ID] {
	return Type[ID]{"uuid", pgtype.UUIDOID, pgtype.UUIDArrayOID, sizeOfUUID[ID], putUUID[ID]}
}

// As is the type of values that are sent as those of another type.
func As[T, U any](t Type[U], of func(T) U) Type[T] {
	return Type[T]{
		t.name, t.oid, t.oidOfMany,
		func(v T) int { return t.size(of(v)) },
		func(b []byte, v T) []byte { return t.put(b, of(v)) },
	}
}

// Optional sends nil as NULL.
func Optional[T any](t Type[T]) Type[*T] {
	return Type[*T]{
		t.name, t.oid, t.oidOfMany,
		func(v *T) int {
			if v == nil {
				return null
			}
			return t.size(*v)
		},
		func(b []byte, v *T) []byte { return t.put(b, *v) },
	}
}

// One is a single value.
func (t Type[T]) One(v T) Value {
	p := Value{OID: t.oid}
	if size := t.size(v); size >= 0 {
		p.Data = t.put(make([]byte, 0, size), v)
	}
	return p
}

// arrayHeader is the size of what precedes the values: dimensions, whether there
// are NULLs, their type, their number, and the index of the first.
const arrayHeader = 5 * 4

// Many is an array of n values.
func (t Type[T]) Many(n int, at func(i int) T) Value {
	whole, nulls := arrayHeader, uint32(0)
	for i := range n {
		if size := t.size(at(i)); size < 0 {
			whole, nulls = whole+4, 1
		} else {
			whole += 4 + size
		}
	}
	b := make([]byte, 0, whole)
	for _, head := range [...]uint32{1, nulls, t.oid, uint32(n), 1} { //nolint:gosec // as many as one batch has rows
		b = binary.BigEndian.AppendUint32(b, head)
	}
	for i := range n {
		v := at(i)
		size := t.size(v)
		b = binary.BigEndian.AppendUint32(b, uint32(int32(size))) //nolint:gosec // -1 stands for null
		if size >= 0 {
			b = t.put(b, v)
		}
	}
	return Value{OID: t.oidOfMany, Data: b}
}

func sized[T any](n int) func(T) int { return func(T) int { return n } }

func sizeOfUUID[ID ~string](id ID) int {
	if _, ok := UUIDBytes(id); !ok {
		return null
	}
	return 16
}

func putUUID[ID ~string](b []byte, id ID) []byte {
	u, _ := UUIDBytes(id)
	return append(b, u[:]...)
}

// UUIDBytes reads an ID of 32 hex characters.
func UUIDBytes[ID ~string](id ID) (u [16]byte, ok bool) {
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
		return null
	}
	return len(v)
}

func putInteger(b []byte, n int) []byte {
	return binary.BigEndian.AppendUint32(b, uint32(int32(n))) //nolint:gosec // columns are checked to hold it
}

func putBigint(b []byte, n int64) []byte {
	return binary.BigEndian.AppendUint64(b, uint64(n)) //nolint:gosec // the wire has it in two's complement
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

// epoch is the zero of Postgres' times, in microseconds of Unix time.
var epoch = time.Date(2000, time.January, 1, 0, 0, 0, 0, time.UTC).UnixMicro()

func putTime(b []byte, t time.Time) []byte {
	return binary.BigEndian.AppendUint64(b, uint64(t.UnixMicro()-epoch)) //nolint:gosec // the wire has it in two's complement
}
