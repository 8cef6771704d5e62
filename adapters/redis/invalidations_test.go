package redis

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"waybill/domain"
	"waybill/ports"
	"waybill/test/backend"
	"waybill/test/conformance"
	"waybill/test/stage"
)

func dialRedis(t *testing.T, url string, with ...func(*goredis.Options)) *goredis.Client {
	t.Helper()
	hasty := func(o *goredis.Options) { o.ReadTimeout = 500 * time.Millisecond }
	return backend.ConnectRedis(t, url, append([]func(*goredis.Options){hasty}, with...)...)
}

var redispubsubSilent = slog.New(slog.DiscardHandler)

func TestInvalidationsConformance(t *testing.T) {
	t.Parallel()
	url := backend.RedisURL(t)
	conformance.ExamineInvalidations(t, func(t *testing.T) (one, other ports.Invalidations) {
		patient := func() *Invalidations { // a busy machine is no reason to say nothing
			p := NewInvalidations(dialRedis(t, url), redispubsubSilent)
			p.announceTimeout = 10 * time.Second
			return p
		}
		return patient(), patient()
	})
}

// listening is one call of Listen and what it received.
type listening struct {
	*testing.T
	*Invalidations
	mu      sync.Mutex
	heard   map[domain.ID]int
	refused atomic.Int64 // connections that could not be made
	logged  stage.Log
	stop    func()
}

func listen(t *testing.T, url string, pingAfter time.Duration) *listening {
	t.Helper()
	l := &listening{T: t, heard: map[domain.ID]int{}}
	l.Invalidations = NewInvalidations(dialRedis(t, url, l.countRefusals), slog.New(slog.NewTextHandler(&l.logged, nil)))
	l.pingAfter = pingAfter
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		l.Listen(ctx, func(id domain.ID) {
			l.mu.Lock()
			defer l.mu.Unlock()
			l.heard[id]++
		})
	}()
	l.stop = func() {
		cancel()
		<-done
	}
	t.Cleanup(l.stop)
	return l
}

func (l *listening) countRefusals(o *goredis.Options) {
	dial := goredis.NewDialer(o)
	o.Dialer = func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		if err != nil {
			l.refused.Add(1)
		}
		return conn, err
	}
}

// losses counts the log lines about a lost Redis.
func (l *listening) losses() int { return strings.Count(l.logged.String(), "are not heard until") }

func (l *listening) times(id domain.ID) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.heard[id]
}

// until polls: Redis is another process and cannot signal the test.
func (l *listening) until(what string, done func() bool) {
	l.Helper()
	for deadline := time.Now().Add(time.Minute); !done(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			l.Fatalf("not so: %s", what)
		}
	}
}

// works announces until the message arrives, which proves that everything works again.
func (l *listening) works() {
	l.Helper()
	id := domain.ID(fmt.Sprintf("app_%x", rand.Uint64()))
	l.until("an announcement is heard", func() bool {
		if l.times(id) > 0 {
			return true
		}
		l.Announce(l.Context(), id)
		return false
	})
}

// pings returns how many pings a server has answered since it started.
func pings(t *testing.T, server *goredis.Client) int {
	t.Helper()
	info, err := server.Info(t.Context(), "commandstats").Result()
	if err != nil {
		t.Fatal(err)
	}
	_, of, found := strings.Cut(info, "cmdstat_ping:calls=")
	if !found {
		return 0
	}
	digits, _, _ := strings.Cut(of, ",")
	n, err := strconv.Atoi(digits)
	if err != nil {
		t.Fatalf("the statistics of the server are %q: %v", info, err)
	}
	return n
}

func TestAfterEachConnectionEverythingIsForgotten(t *testing.T) {
	t.Parallel()
	server := backend.OwnRedis(t)
	l := listen(t, server.URL, time.Minute)
	l.until("everything is forgotten at the beginning", func() bool { return l.times("") == 1 })
	l.works()
	for round := range 3 {
		server.Kill()
		if err := server.Restart(t.Context()); err != nil {
			t.Fatal(err)
		}
		l.until("everything is forgotten after a restart", func() bool { return l.times("") == round+2 })
		l.works()
	}
	if n := l.times(""); n != 4 {
		t.Errorf("everything was forgotten %d times, want once for each of 4 connections", n)
	}
	l.stop()
	if went, back := l.losses(), strings.Count(l.logged.String(), "again\"\n"); went != 3 || back != 3 {
		t.Errorf("logged %d losses and %d returns, want 3 of each:\n%s", went, back, l.logged.String())
	}
}

func TestAListenerThatStartsBeforeRedisHearsOnceItIsThere(t *testing.T) {
	t.Parallel()
	server := backend.OwnRedis(t)
	server.Kill()
	l := listen(t, server.URL, time.Minute)
	l.until("it has tried three times", func() bool { return l.refused.Load() >= 3 })
	if err := server.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	l.until("everything is forgotten", func() bool { return l.times("") == 1 })
	l.works()
	l.stop()
	if n := l.losses(); n != 1 {
		t.Errorf("logged %d losses, want 1:\n%s", n, l.logged.String())
	}
}

func TestLongAConnectionThatFallsSilentIsGivenUp(t *testing.T) {
	t.Parallel()
	server := backend.OwnRedis(t)
	l := listen(t, server.URL, time.Second)
	l.until("it listens", func() bool { return l.times("") == 1 })
	client := dialRedis(t, server.URL)
	before := pings(t, client)
	l.until("three pings are answered", func() bool { return pings(t, client) >= before+3 })
	if n := l.times(""); n != 1 {
		t.Errorf("connected %d times to a Redis that answers", n)
	}
	if err := server.Pause(); err != nil {
		t.Fatal(err)
	}
	l.until("the connection is given up", func() bool { return l.losses() > 0 })
	if err := server.Resume(); err != nil {
		t.Fatal(err)
	}
	l.until("everything is forgotten", func() bool { return l.times("") >= 2 })
	l.works()
}

func TestAPausedRedisHoldsUpNeitherAnAnnouncementNorTheEndOfAListener(t *testing.T) {
	t.Parallel()
	server := backend.OwnRedis(t)
	l := listen(t, server.URL, 100*time.Millisecond)
	l.until("it listens", func() bool { return l.times("") == 1 })
	p := NewInvalidations(backend.ConnectRedis(t, server.URL), redispubsubSilent) // whose client would wait for ten seconds
	p.Announce(t.Context(), "app_x")                                              // so that it is connected
	if err := server.Pause(); err != nil {
		t.Fatal(err)
	}
	for range 5 {
		began := time.Now()
		p.Announce(t.Context(), "app_x")
		if took := time.Since(began); took > 8*time.Second {
			t.Errorf("announcing took %v", took)
		}
	}
	began := time.Now()
	l.stop()
	if took := time.Since(began); took > 8*time.Second {
		t.Errorf("listening ended after %v", took)
	}
}
