package gormstore_test

import (
	"context"
	"math/rand/v2"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"waybill/adapters/storage/gormstore"
	"waybill/domain"
	"waybill/test/backend"
	"waybill/test/sample"
)

// A node that is killed under load takes its businesses with it until it is back, and no
// others. What was acknowledged is there.
func TestLongCitusLosesNothingWhereANodeIsKilled(t *testing.T) {
	onCitus(t)
	const businesses, writers = 16, 8
	cluster, err := backend.StartCitus(t.Context(), 2)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cluster.Stop(); err != nil {
			t.Error(err)
		}
	})
	var databases []string
	for _, server := range cluster.Servers() {
		do(t, connect(t, server.URL), "CREATE DATABASE storm")
		u, err := url.Parse(server.URL)
		if err != nil {
			t.Fatal(err)
		}
		u.Path = "/storm"
		databases = append(databases, u.String())
	}
	form(t, databases)
	if err := gormstore.Migrate(t.Context(), databases[0]); err != nil {
		t.Fatal(err)
	}
	s := open(t, databases[0])
	var tenants []domain.Tenant
	for range businesses {
		tenants = append(tenants, newTenant(t, s))
	}

	type booked struct {
		tenant domain.Tenant
		id     domain.ID
	}
	var mu sync.Mutex
	var acknowledged []booked
	var refused, aside atomic.Int64 // aside: acknowledged while the node was down
	var down atomic.Bool
	ctx, end := context.WithCancel(t.Context())
	defer end()
	var all sync.WaitGroup
	for range writers {
		all.Go(func() {
			for ctx.Err() == nil {
				w := sample.BookingWrite(tenants[rand.IntN(businesses)]) //nolint:gosec // spreads
				if err := s.Book(t.Context(), w); err != nil {
					refused.Add(1)
					continue
				}
				mu.Lock()
				acknowledged = append(acknowledged, booked{w.Delivery.Tenant, w.Delivery.ID})
				mu.Unlock()
				if down.Load() {
					aside.Add(1)
				}
			}
		})
	}
	wait := func(what string, until func() bool) time.Duration {
		t.Helper()
		begun := time.Now()
		for !until() {
			if time.Since(begun) > time.Minute {
				t.Fatalf("waited a minute for %s", what)
			}
			time.Sleep(10 * time.Millisecond)
		}
		return time.Since(begun)
	}
	acknowledgedNow := func() int { mu.Lock(); defer mu.Unlock(); return len(acknowledged) }
	wait("creates", func() bool { return acknowledgedNow() > 50 })
	if err := cluster.Workers[0].Crash(); err != nil {
		t.Fatal(err)
	}
	down.Store(true)
	wait("creates that fail", func() bool { return refused.Load() > 20 })
	wait("creates on the other node", func() bool { return aside.Load() > 5 })
	if err := cluster.Workers[0].Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	down.Store(false)
	back := wait("creates of every business", func() bool {
		for _, tenant := range tenants {
			if err := s.Book(t.Context(), sample.BookingWrite(tenant)); err != nil {
				return false
			}
		}
		return true
	})
	end()
	all.Wait()
	lost := 0
	for _, b := range acknowledged {
		if _, err := s.Read().Deliveries.Get(t.Context(), b.tenant, b.id); err != nil {
			lost++
		}
	}
	if lost > 0 {
		t.Errorf("%d of %d acknowledged creates are lost", lost, len(acknowledged))
	}
	t.Logf("%d creates acknowledged, %d refused, %d on the other node meanwhile; all businesses served again %s after the restart; %d lost",
		len(acknowledged), refused.Load(), aside.Load(), back.Round(time.Millisecond), lost)
}
