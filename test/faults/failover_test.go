package faults

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"waybill/test/backend"
)

// TestAFailoverToAStandbyCostsNoOrder kills the primary of Postgres and the master of
// Redis under load, at the same time, and promotes the standby of the one; the address
// names both. A Sentinel promotes the replica of the other.
func TestAFailoverToAStandbyCostsNoOrder(t *testing.T) {
	alongside(t)
	primary := ownPostgres(t)
	standby, err := primary.Standby(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := standby.Stop(); err != nil {
			t.Error(err)
		}
	})
	master, sentinel := watchedRedis(t)
	// The standby first: a client that takes any session would find that it only
	// reads.
	both := fmt.Sprintf("postgres://postgres@127.0.0.1:%d,127.0.0.1:%d/postgres?sslmode=disable", standby.Port, primary.Port)
	shop := serve(t, both, 2, "WAYBILL_REDIS_URL="+sentinel)
	shop.may = append(shop.may, away, "409 IDEMPOTENCY_IN_PROGRESS")
	shop.admit(t.Context())
	const some = 30
	until(t, "orders are booked", time.Minute, func() bool { return shop.booked() >= some })
	shop.countsInRedis(t)
	if err := primary.Crash(); err != nil {
		t.Fatal(err)
	}
	master.Kill()
	until(t, "the server says that it is not ready", backWithin, func() bool {
		return shop.operators(t, "/readyz") == http.StatusServiceUnavailable
	})
	promoted := time.Now()
	if err := standby.Promote(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, took := range shop.bookAgain(t, promoted) {
		t.Logf("a server books again %.2f s after the promotion began", took.Seconds())
		if took > healedWithin() {
			t.Errorf("that is more than %s", healedWithin())
		}
	}
	until(t, "the server is ready", goneWithin, func() bool { return shop.operators(t, "/readyz") == http.StatusOK })
	booked := shop.booked()
	until(t, "orders are booked again", goneWithin, func() bool { return shop.booked() >= booked+some })
	shop.countsInRedis(t)
	t.Logf("the servers count in the new master %.2f s after the promotion, with the tries for that", time.Since(promoted).Seconds())
	shop.settle(t, "a standby that was promoted", openDatabase(t, standby.URL), Postgres)
}

// watchedRedis is a Redis with a replica, and the address of the Sentinel that makes a
// master of that.
func watchedRedis(t *testing.T) (master *backend.Redis, address string) {
	t.Helper()
	master = backend.OwnRedis(t)
	replica, err := backend.StartRedis(t.Context(), "--replicaof", "127.0.0.1 "+fmt.Sprint(master.Port))
	if err != nil {
		t.Fatal(err)
	}
	sentinel, err := backend.StartSentinel(t.Context(), "waybill", master)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, s := range []*backend.Redis{sentinel, replica} {
			if err := s.Stop(); err != nil {
				t.Error(err)
			}
		}
	})
	asks := redis.NewSentinelClient(&redis.Options{Addr: fmt.Sprintf("127.0.0.1:%d", sentinel.Port)})
	t.Cleanup(func() { _ = asks.Close() })
	until(t, "the Sentinel knows the replica", time.Minute, func() bool {
		known, err := asks.Replicas(t.Context(), "waybill").Result()
		return err == nil && len(known) == 1 && known[0]["master-link-status"] == "ok"
	})
	return master, sentinel.URL + "?master_name=waybill"
}
