package webhooksend

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"waybill/domain"
)

// counting runs a receiver and counts the connections to it: all, and the open ones.
func counting(t *testing.T, h http.HandlerFunc) (url string, all, open *atomic.Int64) {
	t.Helper()
	all, open = &atomic.Int64{}, &atomic.Int64{}
	r := httptest.NewUnstartedServer(h)
	r.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		switch state {
		case http.StateNew:
			all.Add(1)
			open.Add(1)
		case http.StateClosed:
			open.Add(-1)
		}
	}
	r.Start()
	t.Cleanup(r.Close)
	return r.URL, all, open
}

// until waits for a condition for a minute.
func until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal(what)
		}
	}
}

func TestConnectionsAreKeptUntilTheSenderIsClosed(t *testing.T) {
	t.Parallel()
	url, all, open := counting(t, answers(200, "ok"))
	s := sender(t, Options{AllowPrivate: true}, defaultLimits)
	var sends sync.WaitGroup
	for range 16 {
		sends.Go(func() {
			for range 100 {
				if r := s.Send(t.Context(), message(url)); !r.Succeeded() {
					t.Errorf("%+v", r)
				}
			}
		})
	}
	sends.Wait()
	// A connection may become free while another is made.
	if all.Load() > 64 || !s.attempts.Idle() {
		t.Errorf("%d connections for 1,600 webhooks; no attempt is left: %t", all.Load(), s.attempts.Idle())
	}
	s.Close()
	until(t, "after Close connections stay open", func() bool { return open.Load() == 0 })
}

func TestAConnectionServesItsHostOnly(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	dialed := map[string]int{}
	s := sender(t, Options{Resolver: resolver(t, fixed("93.184.216.34"))}, defaultLimits)
	url, _, _ := counting(t, func(w http.ResponseWriter, r *http.Request) { _, _ = w.Write([]byte(r.Host + " " + r.RemoteAddr)) })
	s.divert(url, func(to netip.AddrPort) {
		mu.Lock()
		defer mu.Unlock()
		dialed[to.String()]++
	})
	from := map[string]string{}
	for range 5 {
		for _, host := range []string{"a.example.com", "b.example.com", "a.example.com:8080"} {
			r := s.Send(t.Context(), message("http://"+host+"/x"))
			if was := from[host]; !r.Succeeded() || was != "" && was != r.Excerpt {
				t.Errorf("%s: %q, before %q", host, r.Excerpt, was)
			}
			from[host] = r.Excerpt
		}
	}
	s.Send(t.Context(), message("http://A.example.com/other")) // the same host
	if dialed["93.184.216.34:80"] != 2 || dialed["93.184.216.34:8080"] != 1 {
		t.Errorf("connections %v", dialed)
	}
}

func TestNotMoreThanSoManyConnectionsAreKept(t *testing.T) {
	t.Parallel()
	var together sync.WaitGroup
	const each = idlePerHost + 20
	together.Add(each)
	url, _, open := counting(t, func(http.ResponseWriter, *http.Request) { together.Done(); together.Wait() })
	s := sender(t, Options{Resolver: resolver(t, fixed("93.184.216.34"))}, defaultLimits)
	s.divert(url, nil)
	var sends sync.WaitGroup
	for range each {
		sends.Go(func() { s.Send(t.Context(), message("http://one.example.com")) })
	}
	sends.Wait()
	until(t, "more are kept for a host", func() bool { return open.Load() == idlePerHost })
	url, _, open = counting(t, answers(200, ""))
	s.divert(url, nil)
	for i := range idleInAll + 20 {
		if r := s.Send(t.Context(), message("http://h"+strconv.Itoa(i)+".example.com")); !r.Succeeded() {
			t.Fatalf("%+v", r)
		}
	}
	until(t, "more are kept in all", func() bool { return open.Load() == idleInAll })
}

func TestOneHostHasSoManyAttemptsAtOnce(t *testing.T) {
	t.Parallel()
	var conns atomic.Int64
	url := listen(t, func(c net.Conn) { conns.Add(1); hang(c) })
	s := sender(t, Options{AllowPrivate: true}, limits{lookup: time.Second, connect: time.Second, handshake: time.Second,
		attempt: time.Minute, idle: time.Second})
	ctx, cancel := context.WithCancel(t.Context())
	var sends sync.WaitGroup
	for range attemptsPerHost {
		sends.Go(func() { s.Send(ctx, message(url)) })
	}
	for deadline := time.Now().Add(5 * time.Second); conns.Load() < attemptsPerHost &&
		time.Now().Before(deadline); time.Sleep(time.Millisecond) {
	}
	short, done := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer done()
	if r := s.Send(short, message(url)); r.Error != domain.ErrorTimeoutConnect || conns.Load() != attemptsPerHost {
		t.Errorf("one more: %+v, %d connections", r, conns.Load())
	}
	others := message(url)
	others.Owner = "biz_2 live"
	sends.Go(func() { s.Send(ctx, others) })
	for deadline := time.Now().Add(30 * time.Second); conns.Load() <= attemptsPerHost; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the attempt of another owner waits")
		}
	}
	cancel() // callers that leave are not held, and make room
	sends.Wait()
	if !s.attempts.Idle() {
		t.Error("an attempt is left")
	}
}
