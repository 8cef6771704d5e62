package redis

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"
	"pgregory.net/rapid"

	"waybill/domain"
	"waybill/ports"
	"waybill/test/backend"
)

func openClient(t *testing.T) *goredis.Client {
	t.Helper()
	return backend.ConnectRedis(t, backend.RedisURL(t))
}

// model is the rule with exact fractions.
type model struct{ start, count, previous int64 }

func (m *model) roll(now, length int64) {
	switch {
	case now >= m.start+2*length:
		m.count, m.previous = 0, 0
	case now >= m.start+length:
		m.start, m.previous, m.count = m.start+length, m.count, 0
	}
	if m.count+m.previous == 0 {
		m.start = now
	}
}

// used returns the weight, in requests, when the millisecond of now has passed.
func (m *model) used(now, length int64) *big.Rat {
	used := big.NewRat(m.start+length-now-1, length)
	used.Mul(used, big.NewRat(m.previous, 1))
	return used.Add(used, big.NewRat(m.count, 1))
}

func (m *model) admits(now, length, limit int64) bool {
	return m.used(now, length).Cmp(big.NewRat(limit, 1)) < 0
}

func (m *model) remaining(now, length, limit int64) int {
	left := new(big.Rat).Sub(big.NewRat(limit, 1), m.used(now, length))
	if left.Sign() <= 0 {
		return 0
	}
	whole := new(big.Int).Add(left.Num(), new(big.Int).Sub(left.Denom(), big.NewInt(1)))
	return int(whole.Quo(whole, left.Denom()).Int64())
}

// hold compares an answer of the limiter with the rule. It checks the wait a millisecond before
// its end and at its end.
func (m model) hold(t interface{ Fatalf(string, ...any) }, got ports.Allowance, now, length, limit int64) {
	m.roll(now, length)
	if got.Admitted != m.admits(now, length, limit) {
		t.Fatalf("at %d with %+v, %d in %d ms: admitted is %v", now, m, limit, length, got.Admitted)
	}
	if want := m.remaining(now, length, limit); got.Remaining != want {
		t.Fatalf("at %d with %+v, %d in %d ms: %d left, want %d", now, m, limit, length, got.Remaining, want)
	}
	if want := m.start + length - now; got.Reset.Milliseconds() != want {
		t.Fatalf("at %d with %+v, %d in %d ms: the window ends in %v, want %d ms", now, m, limit, length, got.Reset, want)
	}
	if got.Admitted {
		return
	}
	wait := got.RetryAfter.Milliseconds()
	for at, want := range map[int64]bool{now + wait - 1: false, now + wait: true} {
		later := m
		later.roll(at, length)
		if later.admits(at, length, limit) != want {
			t.Fatalf("at %d with %+v, %d in %d ms: told to wait %d ms; after %d admitted is %v", now, m, limit, length, wait, at-now, !want)
		}
	}
}

func named(limit, length int64) ports.Bucket {
	return ports.Bucket{Scope: "key", Name: fmt.Sprintf("test-%x", rand.Uint64()), Limit: domain.RateLimit{Limit: int(limit),
		Window: millis(length)}}
}

func TestEveryAnswerIsThatOfTheRuleInFractions(t *testing.T) {
	t.Parallel()
	client := openClient(t)
	rapid.Check(t, func(t *rapid.T) {
		limit, length := rapid.Int64Range(1, 12).Draw(t, "limit"), rapid.Int64Range(1000, 5000).Draw(t, "window in ms")
		b := named(limit, length)
		began := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC).UnixMilli()
		now := began
		l := NewLimiter(client, LimiterOptions{Now: func() time.Time { return time.UnixMilli(now) }})
		var m model
		for range rapid.IntRange(1, 40).Draw(t, "requests") {
			now += rapid.OneOf(rapid.Just(int64(0)), rapid.Int64Range(0, length/4), rapid.Int64Range(0, 3*length)).Draw(t, "wait")
			looked, err := l.Peek(t.Context(), b)
			if err != nil {
				t.Fatal(err)
			}
			m.hold(t, looked, now, length, limit)
			got, err := l.Take(t.Context(), b)
			if err != nil {
				t.Fatal(err)
			}
			if got.Admitted != looked.Admitted {
				t.Fatalf("a peek says %+v, a take %+v", looked, got)
			}
			if m.roll(now, length); got.Admitted {
				m.count++
			}
		}
	})
}

// Lua numbers must not lose a digit at the largest values. The test puts states into Redis in
// which the room is one request, plus or minus the smallest fraction, which only exact numbers
// distinguish.
func TestTheLargestNumbersAreExact(t *testing.T) {
	t.Parallel()
	client := openClient(t)
	const began = int64(4_102_444_800_000) // the year 2100
	for round := range 1500 {
		length, previous := maxWindow.Milliseconds()-rand.Int64N(1000), maxLimit-rand.Int64N(1000)
		// previous x rest is one more, or one less, than a multiple of length.
		inverse := new(big.Int).ModInverse(big.NewInt(previous), big.NewInt(length))
		if inverse == nil {
			continue
		}
		beyond := int64(1 - round%3) // 1, 0, -1
		rest := beyond * inverse.Int64()
		if rest < 0 {
			rest += length
		}
		full := new(big.Int).Mul(big.NewInt(previous), big.NewInt(rest))
		full.Sub(full, big.NewInt(beyond)).Quo(full, big.NewInt(length))
		limit := int64(maxLimit)
		m := model{start: began, previous: previous, count: limit - full.Int64()}
		now := began + length - 1 - rest
		if rest == length {
			continue
		}

		b := named(limit, length)
		l := NewLimiter(client, LimiterOptions{Now: func() time.Time { return time.UnixMilli(now) }})
		packed := make([]byte, 0, 24)
		for _, n := range []int64{m.start, m.count, m.previous} {
			packed = binary.LittleEndian.AppendUint64(packed, math.Float64bits(float64(n)))
		}
		if err := client.Set(t.Context(), fmt.Sprintf("%skey:%d:%s", prefix, length, b.Name), packed, 10*time.Second).Err(); err != nil {
			t.Fatal(err)
		}
		got, err := l.Take(t.Context(), b)
		if err != nil {
			t.Fatal(err)
		}
		if want := beyond < 0; got.Admitted != want {
			t.Fatalf("with %+v, %d in %d ms, %d ms before the end: admitted is %v", m, limit, length, rest, got.Admitted)
		}
		if got.Admitted {
			m.count++
		}
		if got, err = l.Peek(t.Context(), b); err != nil {
			t.Fatal(err)
		}
		m.hold(t, got, now, length, limit)
	}
}
