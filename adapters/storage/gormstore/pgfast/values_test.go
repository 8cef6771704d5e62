package pgfast

import (
	"bytes"
	"math"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgtype"
)

// asPgx holds what is sent of some values against what pgx makes of the same.
func asPgx[T, P any](t *testing.T, w Type[T], same func(T) P, values ...T) {
	t.Helper()
	types := pgtype.NewMap()
	all := make([]P, len(values))
	for i, v := range values {
		all[i] = same(v)
		want, err := types.Encode(w.oid, pgtype.BinaryFormatCode, all[i], []byte{})
		if err != nil {
			t.Fatalf("%s %v: %v", w.name, v, err)
		}
		if got := w.One(v); !bytes.Equal(got.Data, want) || (got.Data == nil) != (want == nil) || got.OID != w.oid {
			t.Errorf("%s %v is sent as %x, not %x", w.name, v, got.Data, want)
		}
	}
	for n := 1; n <= len(values); n++ {
		want, err := types.Encode(w.oidOfMany, pgtype.BinaryFormatCode, all[:n], []byte{})
		if err != nil {
			t.Fatalf("%s: %v", w.name, err)
		}
		if got := w.Many(n, func(i int) T { return values[i] }); !bytes.Equal(got.Data, want) || got.OID != w.oidOfMany {
			t.Errorf("%d of %s are sent as\n%x, not\n%x", n, w.name, got.Data, want)
		}
	}
	kind, ok := types.TypeForOID(w.oidOfMany)
	if one, known := types.TypeForOID(w.oid); !ok || !known || kind.Name != "_"+one.Name {
		t.Errorf("%s: its array is %v", w.name, kind)
	}
}

func itself[T any](v T) T { return v }

// uuidOf is an ID as pgx takes it.
func uuidOf(id string) (u pgtype.UUID) {
	u.Bytes, u.Valid = UUIDBytes(id)
	return u
}

// stamp stands for a time.
type stamp struct{ at time.Time }

func TestValuesGoToPostgresAsPgxSendsThem(t *testing.T) {
	t.Parallel()
	uuid, instant := UUID[string](), As(Time, func(s stamp) time.Time { return s.at })
	when := time.Date(2026, 2, 3, 4, 5, 6, 789e6, time.FixedZone("", 3600))
	asPgx(t, uuid, uuidOf, "0198c6b0a1b27c3d8e4f5a6b7c8d9e0f", "", "ffffffffffffffffffffffffffffffff", "g198c6b0a1b27c3d8e4f5a6b7c8d9e0f",
		"0198")
	asPgx(t, Optional(uuid), func(id *string) pgtype.UUID {
		if id == nil {
			return pgtype.UUID{}
		}
		return uuidOf(*id)
	}, new("0198c6b0a1b27c3d8e4f5a6b7c8d9e0f"), nil)
	asPgx(t, Text, itself, "", "Ama", `{"a", NULL}`, "Ɛyɛ ☕")
	asPgx(t, Optional(Text), itself, nil, new(""), new("NULL"))
	asPgx(t, Bytes, itself, []byte{0, 1, 255}, nil, []byte{})
	asPgx(t, Integer, func(n int) int32 { return int32(n) }, 0, -1, math.MaxInt32, math.MinInt32)
	asPgx(t, Optional(Integer), func(n *int) *int32 {
		if n == nil {
			return nil
		}
		return new(int32(*n))
	}, new(5), nil)
	asPgx(t, Bigint, itself, 0, -1, math.MaxInt64, math.MinInt64)
	asPgx(t, Optional(Bigint), itself, nil, new(int64(7)))
	asPgx(t, Double, itself, 0, -0.1818, math.MaxFloat64, math.SmallestNonzeroFloat64)
	asPgx(t, Boolean, itself, true, false)
	asPgx(t, Time, itself, when, time.Date(1999, 12, 31, 23, 59, 59, 1e6, time.UTC), time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC))
	asPgx(t, instant, func(s stamp) time.Time { return s.at }, stamp{when})
	asPgx(t, Optional(instant), func(s *stamp) *time.Time {
		if s == nil {
			return nil
		}
		return &s.at
	}, new(stamp{when}), nil)
}
