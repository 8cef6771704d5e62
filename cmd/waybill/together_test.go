package main

import (
	"log/slog"
	"sync"
	"testing"
	"time"

	"waybill/adapters/locks/layered"
	"waybill/adapters/locks/redislocks"
	"waybill/adapters/ratelimit/redislimiter"
	"waybill/adapters/redis/autopipeline"
	"waybill/adapters/redis/connect"
	"waybill/configs"
	"waybill/ports"
	"waybill/test/conformance/locks"
	"waybill/test/conformance/ratelimit"
	"waybill/test/redis"
)

// What processes share through Redis takes its exams as it is joined here.
func TestLimitsAndLocksHoldInPipelines(t *testing.T) {
	t.Parallel()
	open := func() *autopipeline.Client {
		client, err := connect.Open(redis.URL(t), connect.RedisTimeout)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { client.Close() })
		return autopipeline.New(client)
	}
	c := open()
	t.Run("limits", func(t *testing.T) {
		ratelimit.Examine(t, func(*testing.T) (ports.RateLimiter, func(time.Duration)) {
			var mu sync.Mutex
			now := time.Date(2026, 1, 2, 3, 4, 5, 678_901_234, time.UTC)
			clock := func() time.Time { mu.Lock(); defer mu.Unlock(); return now }
			return redislimiter.New(c, redislimiter.Options{Now: clock}), func(d time.Duration) { mu.Lock(); defer mu.Unlock(); now = now.Add(d) }
		})
	})
	t.Run("locks", func(t *testing.T) {
		locks.Examine(t, func(*testing.T) (one, other ports.Locks) {
			silent, unhurried := slog.New(slog.DiscardHandler), redislocks.Options{Timeout: 10 * time.Second}
			return redislocks.New(c, unhurried, silent), redislocks.New(open(), unhurried, silent)
		})
	})
}

func TestLocksAreSharedWhereAnotherServicePrices(t *testing.T) {
	t.Parallel()
	pipelines := autopipeline.New(nil)
	for _, c := range []struct {
		name   string
		config configs.Config
		shared bool
	}{
		{"built-in prices", configs.Config{}, false},
		{"a pricing service", configs.Config{PricingURL: "http://pricing"}, true},
		{"distances of a service", configs.Config{RoutingURL: "http://valhalla"}, true},
	} {
		_, shared := newLocks(&c.config, pipelines, slog.New(slog.DiscardHandler)).(*layered.Locks)
		if shared != c.shared {
			t.Errorf("%s: locks are shared: %t, want %t", c.name, shared, c.shared)
		}
	}
}
