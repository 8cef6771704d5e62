package memory_test

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"waybill/adapters/memory"
	"waybill/domain"
	"waybill/ports"
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

func TestConformance(t *testing.T) {
	t.Parallel()
	conformance.ExamineRateLimiter(t, func(*testing.T) (ports.RateLimiter, func(time.Duration)) {
		c := &clock{now: time.Date(2026, 1, 2, 3, 4, 5, 678_901_234, time.UTC)}
		return memory.NewLimiter(c.Now), c.Advance
	})
}

func TestAClockThatStepsBackNeitherOpensNorBlocks(t *testing.T) {
	t.Parallel()
	c := &clock{now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	l := memory.NewLimiter(c.Now)
	b := ports.Bucket{Scope: "key", Name: "a", Limit: domain.RateLimit{Limit: 2, Window: time.Minute}}
	take := func() ports.Allowance {
		a, err := l.Take(t.Context(), b)
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	take()
	c.Advance(-time.Hour)
	if a := take(); !a.Admitted || a.Reset > time.Minute {
		t.Errorf("got %+v", a)
	}
	if a := take(); a.Admitted || a.RetryAfter > 2*time.Minute {
		t.Errorf("got %+v", a)
	}
}

func TestLimitsThatCannotBeMeantAreErrorsAndCountNothing(t *testing.T) {
	t.Parallel()
	l := memory.NewLimiter(time.Now)
	good := ports.Bucket{Scope: "key", Name: "a", Limit: domain.RateLimit{Limit: 1, Window: time.Minute}}
	for _, limit := range []domain.RateLimit{
		{}, {Limit: 0, Window: time.Minute}, {Limit: -1, Window: time.Minute}, {Limit: 10_000_001, Window: time.Minute},
		{Limit: 1, Window: 0}, {Limit: 1, Window: -time.Minute}, {Limit: 1, Window: time.Microsecond}, {Limit: 1, Window: 25 * time.Hour},
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
	if a, err := l.Take(t.Context(), good); err != nil || !a.Admitted {
		t.Errorf("got %+v, %v", a, err)
	}
}

func TestTheLargestLimitDoesNotOverflow(t *testing.T) {
	t.Parallel()
	c := &clock{now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	l := memory.NewLimiter(c.Now)
	b := ports.Bucket{Scope: "key", Name: "a", Limit: domain.RateLimit{Limit: 10_000_000, Window: 24 * time.Hour}}
	for i := range 3 {
		a, err := l.Take(t.Context(), b)
		if err != nil || !a.Admitted || a.Remaining != 10_000_000-i-1 {
			t.Fatalf("got %+v, %v", a, err)
		}
	}
}

func BenchmarkTakeKeyAndBusiness(b *testing.B) {
	l := memory.NewLimiter(time.Now)
	var n atomic.Int64
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		key := ports.Bucket{Scope: "key", Name: fmt.Sprintf("key_%032x", n.Add(1)), Limit: domain.RateLimit{Limit: 10_000_000,
			Window: time.Minute}}
		business := ports.Bucket{Scope: "business", Name: "biz_00000000000000000000000000000000", Limit: domain.RateLimit{Limit: 10_000_000,
			Window: time.Minute}}
		for pb.Next() {
			if a, _ := l.Take(b.Context(), key, business); a.Scope == "" {
				b.Error("no answer")
			}
		}
	})
}

func BenchmarkTakeOfAlwaysNewAddresses(b *testing.B) {
	l := memory.NewLimiter(time.Now)
	limit := domain.RateLimit{Limit: 60, Window: time.Minute}
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		n++
		_, _ = l.Take(b.Context(), ports.Bucket{Scope: "address", Name: fmt.Sprint(n), Limit: limit})
	}
}
