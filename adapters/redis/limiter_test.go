package redis_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	waybillredis "waybill/adapters/redis"
	"waybill/domain"
	"waybill/ports"
	"waybill/test/backend"
	"waybill/test/conformance"
)

// clock stands still until the test moves it.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

func start() *clock { return &clock{now: time.Date(2026, 1, 2, 3, 4, 5, 678_901_234, time.UTC)} }

// bucket returns a bucket whose name no other test uses.
func bucket(limit int, window time.Duration) ports.Bucket {
	return ports.Bucket{Scope: "key", Name: fmt.Sprintf("test-%x", rand.Uint64()), Limit: domain.RateLimit{Limit: limit, Window: window}}
}

func take(t *testing.T, l *waybillredis.Limiter, b ...ports.Bucket) ports.Allowance {
	t.Helper()
	a, err := l.Take(t.Context(), b...)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func TestConformance(t *testing.T) {
	t.Parallel()
	client := shared(t)
	conformance.ExamineRateLimiter(t, func(*testing.T) (ports.RateLimiter, func(time.Duration)) {
		c := start()
		return waybillredis.NewLimiter(client, waybillredis.LimiterOptions{Now: c.Now}), c.Advance
	})
}

func TestABucketNamedTwiceIsCountedOnce(t *testing.T) {
	t.Parallel()
	l := waybillredis.NewLimiter(shared(t), waybillredis.LimiterOptions{})
	b := bucket(2, time.Minute)
	for n := 1; n >= 0; n-- {
		if a := take(t, l, b, b); !a.Admitted || a.Remaining != n {
			t.Errorf("got %+v, want %d left", a, n)
		}
	}
}

func TestLimitsThatCannotBeMeantAreErrorsAndCountNothing(t *testing.T) {
	t.Parallel()
	l := waybillredis.NewLimiter(shared(t), waybillredis.LimiterOptions{})
	good := bucket(1, time.Minute)
	for _, limit := range []domain.RateLimit{
		{}, {Limit: 0, Window: time.Minute}, {Limit: -1, Window: time.Minute}, {Limit: 10_000_001, Window: time.Minute},
		{Limit: 1, Window: 0}, {Limit: 1, Window: -time.Minute}, {Limit: 1, Window: time.Microsecond}, {Limit: 1, Window: 25 * time.Hour},
		{Limit: 1, Window: time.Second + time.Microsecond},
	} {
		bad := ports.Bucket{Scope: "business", Name: "b", Limit: limit}
		if a, err := l.Take(t.Context(), good, bad); err == nil || a.Admitted || !strings.Contains(err.Error(), "business") {
			t.Errorf("%+v: Take answers %+v, %v", limit, a, err)
		}
		if a, err := l.Peek(t.Context(), good, bad); err == nil || a.Admitted {
			t.Errorf("%+v: Peek answers %+v, %v", limit, a, err)
		}
		if err := l.GiveBack(t.Context(), good, bad); err == nil {
			t.Errorf("%+v: GiveBack answers nil", limit)
		}
	}
	if a := take(t, l, good); !a.Admitted {
		t.Errorf("got %+v", a)
	}
}

func TestARequestOfNoBucketIsAdmitted(t *testing.T) {
	t.Parallel()
	l := waybillredis.NewLimiter(shared(t), waybillredis.LimiterOptions{})
	if a := take(t, l); !a.Admitted {
		t.Errorf("got %+v", a)
	}
	if err := l.GiveBack(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestAClockThatStepsBackBlocksForAWindowAtMost(t *testing.T) {
	t.Parallel()
	c := start()
	l := waybillredis.NewLimiter(shared(t), waybillredis.LimiterOptions{Now: c.Now})
	b := bucket(2, time.Minute)
	take(t, l, b)
	c.Advance(-time.Hour)
	if a := take(t, l, b); !a.Admitted || a.Remaining != 0 || a.Reset != time.Minute {
		t.Errorf("got %+v, want the second of two in a window that begins now", a)
	}
	a := take(t, l, b)
	if a.Admitted || a.RetryAfter > time.Minute {
		t.Errorf("got %+v", a)
	}
	c.Advance(a.RetryAfter)
	if a := take(t, l, b); !a.Admitted {
		t.Errorf("got %+v after the wait", a)
	}
}

// A caller that is refused at the end of a millisecond waits as long as one that
// is refused at its beginning, and both are admitted.
func TestAWaitIsLongEnoughWhereverInItsMillisecondItBegins(t *testing.T) {
	t.Parallel()
	client := shared(t)
	for _, limit := range []int{1, 3, 7} {
		for _, into := range []time.Duration{0, time.Microsecond, 500 * time.Microsecond, 999_999 * time.Nanosecond} {
			c := start()
			c.now = c.now.Truncate(time.Millisecond).Add(into)
			l := waybillredis.NewLimiter(client, waybillredis.LimiterOptions{Now: c.Now})
			b := bucket(limit, time.Second)
			for range 200 {
				c.Advance(time.Duration(rand.Int64N(int64(300 * time.Millisecond))))
				a := take(t, l, b)
				if a.Admitted {
					continue
				}
				c.Advance(a.RetryAfter - time.Millisecond)
				if early, err := l.Peek(t.Context(), b); err != nil || early.Admitted {
					t.Fatalf("told to wait %v, and a millisecond less was enough (%v)", a.RetryAfter, err)
				}
				c.Advance(time.Millisecond)
				if again := take(t, l, b); !again.Admitted {
					t.Fatalf("refused again after %v: %+v", a.RetryAfter, again)
				}
			}
		}
	}
}

func TestBucketsEndByThemselvesTwoWindowsAfterTheyBegan(t *testing.T) {
	t.Parallel()
	client := backend.ConnectRedis(t, backend.OwnRedis(t).URL)
	l := waybillredis.NewLimiter(client, waybillredis.LimiterOptions{})
	for range 20 {
		take(t, l, bucket(5, time.Minute), bucket(5, 90*time.Second))
	}
	refused := bucket(1, time.Minute)
	for range 5 {
		take(t, l, refused)
	}
	_ = l.GiveBack(t.Context(), bucket(1, time.Hour))
	emptied := bucket(1, time.Hour)
	take(t, l, emptied)
	_ = l.GiveBack(t.Context(), emptied)
	_, _ = l.Peek(t.Context(), bucket(1, time.Hour)) // writes nothing
	keys, err := client.Keys(t.Context(), "*").Result()
	if err != nil || len(keys) != 41 {
		t.Fatalf("%d keys, %v, want 41", len(keys), err)
	}
	for _, key := range keys {
		if !strings.HasPrefix(key, "waybill:{limit}:key:") {
			t.Errorf("a key is called %q", key)
		}
		if left := client.PTTL(t.Context(), key).Val(); left <= 0 || left > 3*time.Minute {
			t.Errorf("%s ends in %v", key, left)
		}
	}
}

func TestARedisThatForgotTheScriptIsTaughtItAgain(t *testing.T) {
	t.Parallel()
	client := backend.ConnectRedis(t, backend.OwnRedis(t).URL)
	l := waybillredis.NewLimiter(client, waybillredis.LimiterOptions{})
	b := bucket(10, time.Minute)
	for n := range 3 {
		if a := take(t, l, b); a.Remaining != 9-n {
			t.Errorf("got %+v", a)
		}
		if err := client.ScriptFlush(t.Context()).Err(); err != nil {
			t.Fatal(err)
		}
	}
}

func BenchmarkTakeKeyAndBusiness(b *testing.B) {
	client := shared(b)
	l := waybillredis.NewLimiter(client, waybillredis.LimiterOptions{})
	business := bucket(10_000_000, time.Minute)
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		key := bucket(10_000_000, time.Minute)
		for pb.Next() {
			if a, err := l.Take(b.Context(), key, business); err != nil || !a.Admitted {
				b.Error(a, err)
			}
		}
	})
}
