package faults

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	goredis "github.com/redis/go-redis/v9"

	"waybill/adapters/memory"
	waybillredis "waybill/adapters/redis"
	"waybill/domain"
	"waybill/ports"
	"waybill/test/backend"
)

// cable is the way of a process to Redis, which can be cut, and made slow.
type cable struct {
	mu    sync.Mutex
	cut   bool
	delay time.Duration
	conns []net.Conn
}

var errCut = errors.New("the wire is cut")

func (w *cable) set(cut bool, delay time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.cut, w.delay = cut, delay
	if cut {
		for _, c := range w.conns {
			_ = c.Close()
		}
		w.conns = nil
	}
}

func (w *cable) dial(dial func(ctx context.Context, network, address string) (net.Conn, error)) func(context.Context, string,
	string) (net.Conn, error) {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.cut {
			return nil, errCut
		}
		conn, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		w.conns = append(w.conns, conn)
		return &slowConn{conn, w}, nil
	}
}

// slowConn is slow to bring an answer: what was asked was counted by then.
type slowConn struct {
	net.Conn
	cable *cable
}

func (c *slowConn) Read(p []byte) (int, error) {
	c.cable.mu.Lock()
	delay := c.cable.delay
	c.cable.mu.Unlock()
	time.Sleep(delay) // behind which the deadline of the call is over
	return c.Conn.Read(p)
}

// counting is the limiter of one process.
type counting struct {
	*waybillredis.GuardedLimiter
	*cable
	registry *prometheus.Registry
}

func newCounting(t *testing.T, url string) *counting {
	t.Helper()
	w, r := &cable{}, prometheus.NewRegistry()
	client := backend.ConnectRedis(t, url, func(o *goredis.Options) {
		o.ReadTimeout = 500 * time.Millisecond
		o.Dialer = w.dial(goredis.NewDialer(o))
	})
	shared := waybillredis.NewLimiter(client, waybillredis.LimiterOptions{})
	return &counting{waybillredis.NewGuardedLimiter(shared, memory.NewLimiter(time.Now), r, slog.New(slog.DiscardHandler)), w, r}
}

// take asks that often, from several at once, and tells how many were admitted.
func (c *counting) take(t *testing.T, times int, b ports.Bucket) (admitted int) {
	t.Helper()
	var yes atomic.Int64
	var all sync.WaitGroup
	for range times {
		all.Go(func() {
			a, err := c.Take(t.Context(), b)
			if err != nil {
				t.Error(err)
			}
			if a.Admitted {
				yes.Add(1)
			}
		})
	}
	all.Wait()
	return int(yes.Load())
}

func (c *counting) fallbacks(t *testing.T) float64 {
	t.Helper()
	families, err := c.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	return families[0].GetMetric()[0].GetCounter().GetValue()
}

// recover mends the wire and waits until Redis counts again.
func (c *counting) recover(t *testing.T) {
	t.Helper()
	c.set(false, 0)
	until(t, "Redis counts again", 20*time.Second, func() bool {
		before := c.fallbacks(t)
		_, err := c.Peek(t.Context(), ports.Bucket{Scope: "start", Name: "x", Limit: domain.RateLimit{Limit: 1, Window: time.Second}})
		return err == nil && c.fallbacks(t) == before
	})
}

func aLimit(t *testing.T, limit int) ports.Bucket {
	return ports.Bucket{Scope: "key", Name: fmt.Sprintf("%s-%x", t.Name(), rand.Uint64()),
		Limit: domain.RateLimit{Limit: limit, Window: time.Hour}}
}

// A process goes on from the count that it heard last: an outage admits what was left at most, and
// so does the shared count after it, which knows nothing of the outage.
func TestAnOutageOfRedisAdmitsWhatWasLeftAndNoMore(t *testing.T) {
	t.Parallel()
	url := backend.RedisURL(t)
	const limit, before = 20, 12
	for name, suffer := range map[string]func(*cable){
		"gone": func(w *cable) { w.set(true, 0) },
		"slow": func(w *cable) { w.set(false, 100*time.Millisecond) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, b := newCounting(t, url), aLimit(t, limit)
			for range before {
				c.take(t, 1, b)
			}
			suffer(c.cable)
			meanwhile := c.take(t, 50, b)
			c.recover(t)
			after := c.take(t, 50, b)
			if meanwhile != limit-before || after > limit-before {
				t.Errorf("%d were admitted without Redis and %d after it, and %d were left", meanwhile, after, limit-before)
			}
		})
	}
}

// A process cannot know what others admit during the outage; but it begins from
// the shared count.
func TestTwoProcessesWithoutRedisAdmitWhatWasLeftAndNoMore(t *testing.T) {
	t.Parallel()
	url := backend.RedisURL(t)
	const limit, left = 20, 4
	one, other, b := newCounting(t, url), newCounting(t, url), aLimit(t, limit)
	for range (limit - left) / 2 {
		one.take(t, 1, b)
		other.take(t, 1, b)
	}
	one.set(true, 0)
	other.set(true, 0)
	// The last answer that one heard was before the last of the other.
	if alone := one.take(t, 50, b) + other.take(t, 50, b); alone > 2*left+1 {
		t.Errorf("without Redis %d were admitted, and %d were left for each", alone, left)
	}
}
