package main

import (
	"sync"
	"testing"
	"time"

	"waybill/adapters/ratelimit/redislimiter"
	"waybill/adapters/redis/autopipeline"
	"waybill/adapters/redis/connect"
	"waybill/ports"
	"waybill/test/conformance/ratelimit"
	"waybill/test/redis"
)

// What processes share through Redis takes its exams as it is joined here.
func TestLimitsHoldInPipelines(t *testing.T) {
	t.Parallel()
	open := func() *autopipeline.Client {
		client, err := connect.Open(redis.URL(t), time.Minute)
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
}
