package memory

import (
	"fmt"
	"math/big"
	"testing"
	"time"

	"pgregory.net/rapid"

	"waybill/domain"
	"waybill/ports"
)

func address(i int) ports.Bucket {
	return ports.Bucket{Scope: "address", Name: fmt.Sprint(i), Limit: domain.RateLimit{Limit: 2, Window: time.Minute}}
}

func TestAFloodOfNamesIsBoundedAndKeepsTheBucketsInUseAndOtherScopes(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	l := NewLimiter(func() time.Time { return now })
	l.most = 1000
	key, busy := address(-1), address(-2)
	key.Scope = "key"
	for range 2 {
		_, _ = l.Take(t.Context(), key)
		_, _ = l.Take(t.Context(), busy)
	}
	for i := range 50_000 {
		_, _ = l.Take(t.Context(), address(i))
		if i%500 == 0 { // refused, and yet in use
			if a, _ := l.Take(t.Context(), busy); a.Admitted {
				t.Fatalf("after %d others a bucket in use was forgotten", i)
			}
		}
		if s := l.scopes["address"]; len(s.buckets) > 1000 || s.recent.Len() != len(s.buckets) {
			t.Fatalf("%d buckets and %d in order, want at most 1000 of both", len(s.buckets), s.recent.Len())
		}
	}
	if a, _ := l.Peek(t.Context(), key); a.Admitted {
		t.Error("a flood of addresses pushed out a key")
	}
}

func TestABucketNamedTwiceIsCountedOnce(t *testing.T) {
	t.Parallel()
	l := NewLimiter(time.Now)
	for n := 1; n >= 0; n-- {
		if a, err := l.Take(t.Context(), address(1), address(1)); err != nil || !a.Admitted || a.Remaining != n {
			t.Errorf("got %+v, %v, want %d left", a, err, n)
		}
	}
	if s := l.scopes["address"]; len(s.buckets) != 1 || s.recent.Len() != 1 {
		t.Errorf("%d buckets and %d in order, want 1", len(s.buckets), s.recent.Len())
	}
}

func TestAnIdleBucketThatIsAskedAgainIsNotForgottenInTheSameCall(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	l := NewLimiter(func() time.Time { return now })
	_, _ = l.Take(t.Context(), address(1))
	now = now.Add(time.Hour)
	_, _ = l.Take(t.Context(), address(2), address(1))
	if a, _ := l.Peek(t.Context(), address(1)); a.Remaining != 1 {
		t.Errorf("got %+v, want 1 left", a)
	}
}

func TestIdleBucketsAreForgottenWhileOthersAreAsked(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	l := NewLimiter(func() time.Time { return now })
	for i := range 1000 {
		_, _ = l.Take(t.Context(), address(i))
	}
	now = now.Add(2*time.Minute - time.Microsecond)
	_, _ = l.Take(t.Context(), address(-1))
	if n := len(l.scopes["address"].buckets); n != 1001 {
		t.Errorf("%d buckets, want all 1001: some still count", n)
	}
	now = now.Add(time.Microsecond)
	for range 500 {
		_, _ = l.Take(t.Context(), address(-1))
		_ = l.GiveBack(t.Context(), address(-1))
	}
	if n := len(l.scopes["address"].buckets); n != 1 {
		t.Errorf("%d buckets, want 1", n)
	}
}

// The test compares the limiter with the same rule written with fractions, to the microsecond.
func TestEveryAnswerIsThatOfTheRuleInFractions(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.IntRange(1, 12).Draw(t, "limit")
		length := rapid.Int64Range(1000, 5000).Draw(t, "window in µs")
		b := ports.Bucket{Scope: "key", Name: "a", Limit: domain.RateLimit{Limit: limit, Window: micros(length)}}
		start := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
		now := int64(0)
		l := NewLimiter(func() time.Time { return start.Add(micros(now)) })
		var m model

		for range rapid.IntRange(1, 60).Draw(t, "requests") {
			now += rapid.OneOf(rapid.Just(int64(0)), rapid.Int64Range(0, length/4), rapid.Int64Range(0, 3*length)).Draw(t, "wait")
			m.roll(now, length)
			want := m.admits(now, length, limit)
			got, err := l.Take(t.Context(), b)
			if err != nil {
				t.Fatal(err)
			}
			if got.Admitted != want {
				t.Fatalf("at %d with %+v: admitted is %v, want %v", now, m, got.Admitted, want)
			}
			if want {
				m.count++
				continue
			}
			// The wait is exact: a microsecond less is refused.
			wait := got.RetryAfter.Microseconds()
			for _, try := range []struct {
				at   int64
				want bool
			}{{now + wait - 1, false}, {now + wait, true}} {
				later := m
				later.roll(try.at, length)
				if later.admits(try.at, length, limit) != try.want {
					t.Fatalf("at %d with %+v: told to wait %d µs; after %d µs admitted is %v", now, m, wait, try.at-now, !try.want)
				}
			}
		}
	})
}

type model struct{ start, count, previous int64 }

func (m *model) roll(now, length int64) {
	if now >= m.start+2*length {
		m.count, m.previous = 0, 0
	} else if now >= m.start+length {
		m.start, m.previous, m.count = m.start+length, m.count, 0
	}
	if m.count+m.previous == 0 {
		m.start = now
	}
}

func (m *model) admits(now, length int64, limit int) bool {
	used := big.NewRat(m.start+length-now, length)
	used.Mul(used, big.NewRat(m.previous, 1))
	used.Add(used, big.NewRat(m.count, 1))
	return used.Cmp(big.NewRat(int64(limit), 1)) < 0
}

func TestARequestGivenBackInTheNextWindowLeavesThePreviousOne(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	l := NewLimiter(func() time.Time { return now })
	b := address(1)
	_, _ = l.Take(t.Context(), b)
	_, _ = l.Take(t.Context(), b)
	now = now.Add(time.Minute)
	_ = l.GiveBack(t.Context(), b)
	if a, _ := l.Take(t.Context(), b); !a.Admitted {
		t.Errorf("got %+v, want room for one", a)
	}
	if a, _ := l.Take(t.Context(), b); a.Admitted {
		t.Errorf("got %+v, want a refusal: one of the last window still weighs", a)
	}
}
