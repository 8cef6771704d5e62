package faults

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	goredis "github.com/redis/go-redis/v9"

	"waybill/adapters/ratelimit/guarded"
	"waybill/adapters/ratelimit/memlimiter"
	"waybill/adapters/ratelimit/redislimiter"
	"waybill/adapters/redis/autopipeline"
	"waybill/domain"
	"waybill/ports"
	"waybill/test/redis"
	"waybill/test/servers/redisserver"
)

// limitedWithin is what a limiter may cost a request whatever its Redis does,
// and something for a machine that has other things to do.
const limitedWithin = 30*time.Millisecond + time.Second

// ordeal is one thing that may happen to a Redis: how it begins, how long it
// lasts, and how it ends.
type ordeal struct {
	name  string
	begin func(t *testing.T)
	lasts time.Duration
	end   func(t *testing.T)
}

// ordeals are all of them, one after the other.
func ordeals(server *redisserver.Server, client *goredis.Client) []ordeal {
	done := func(t *testing.T, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	flush := func(t *testing.T) {
		for range 20 {
			done(t, client.FlushAll(t.Context()).Err())
			time.Sleep(10 * time.Millisecond)
		}
	}
	restart := func(t *testing.T) { done(t, server.Restart(t.Context())) }
	return []ordeal{
		{"flushed", flush, 0, func(*testing.T) {}},
		{"paused", func(t *testing.T) { done(t, server.Pause()) }, 1500 * time.Millisecond, func(t *testing.T) { done(t, server.Resume()) }},
		{"stopped", func(*testing.T) { server.Kill() }, 1500 * time.Millisecond, restart},
		{"restarted", restart, 0, func(*testing.T) {}},
	}
}

func openRedis(t *testing.T, url string) *goredis.Client {
	t.Helper()
	return redis.Connect(t, url, func(o *goredis.Options) { o.ReadTimeout = 500 * time.Millisecond })
}

func TestARedisThatSuffersFailsNoCallOfTheLimiterAndHoldsUpFew(t *testing.T) {
	server := redis.Own(t)
	registry := prometheus.NewRegistry()
	limiter := guarded.New(redislimiter.New(autopipeline.New(openRedis(t, server.URL)), redislimiter.Options{}), memlimiter.New(time.Now),
		registry, slog.New(slog.DiscardHandler))
	const callers = 8
	var (
		mu      sync.Mutex
		calls   int
		slow    int // of the ordeal: 20 ms or more
		long    int // more than the limiter waits for Redis, by far
		slowest time.Duration
	)
	ctx, stop := context.WithCancel(t.Context())
	var calling sync.WaitGroup
	for range callers {
		calling.Go(func() {
			b := ports.Bucket{Scope: "key", Name: "a", Limit: domain.RateLimit{Limit: 1_000_000, Window: time.Second}}
			for ctx.Err() == nil {
				begun := time.Now()
				a, err := limiter.Take(t.Context(), b)
				took := time.Since(begun)
				if err != nil || !a.Admitted {
					t.Errorf("got %+v, %v", a, err)
				}
				mu.Lock()
				calls++
				slowest = max(slowest, took)
				if took >= 20*time.Millisecond {
					slow++
				}
				if took >= 150*time.Millisecond {
					long++
				}
				mu.Unlock()
				time.Sleep(time.Millisecond)
			}
		})
	}
	defer calling.Wait()
	defer stop()

	fallbacks := func() float64 {
		families, err := registry.Gather()
		if err != nil {
			t.Fatal(err)
		}
		return families[0].GetMetric()[0].GetCounter().GetValue()
	}
	for _, o := range ordeals(server, openRedis(t, server.URL)) {
		mu.Lock()
		calls, slow, long, slowest = 0, 0, 0, 0
		mu.Unlock()
		before := fallbacks()
		o.begin(t)
		time.Sleep(o.lasts)
		o.end(t)
		until(t, "Redis counts again", 10*time.Second, func() bool {
			n := fallbacks()
			time.Sleep(100 * time.Millisecond)
			return fallbacks() == n
		})
		mu.Lock()
		t.Logf("Redis %s: %d calls, %.0f counted in the process, %d of 20 ms or more, the slowest %v", o.name, calls, fallbacks()-before, slow,
			slowest)
		if slowest > limitedWithin {
			t.Errorf("Redis %s: a call took %v, want at most %v", o.name, slowest, limitedWithin)
		}
		// Those under way would be, and those that open the breaker.
		if most := 3 + calls/1000; long > most {
			t.Errorf("Redis %s: %d of %d calls took 150 ms and longer, want at most %d", o.name, long, calls, most)
		}
		// Those under way, those that opened the breaker, and one a second; and what
		// a machine with other things to do holds up whatever Redis does.
		if most := callers + 5 + int(o.lasts/time.Second) + 3 + calls/10; slow > most {
			t.Errorf("Redis %s: %d calls were held up, want at most %d", o.name, slow, most)
		}
		mu.Unlock()
	}
}
