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

// kept is how many connections are idle.
func kept(s *Sender) int {
	s.pool.mu.Lock()
	defer s.pool.mu.Unlock()
	return s.pool.idle.Len()
}

func hosts(s *Sender) int {
	s.pool.mu.Lock()
	defer s.pool.mu.Unlock()
	return len(s.pool.hosts)
}

// counting runs a receiver and counts the connections to it.
func counting(t *testing.T, h http.HandlerFunc) (url string, conns *atomic.Int64) {
	t.Helper()
	conns = &atomic.Int64{}
	r := httptest.NewUnstartedServer(h)
	r.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			conns.Add(1)
		}
	}
	r.Start()
	t.Cleanup(r.Close)
	return r.URL, conns
}

func TestSixteenInFlightKeepSixteenConnections(t *testing.T) {
	t.Parallel()
	url, conns := counting(t, answers(200, "ok"))
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
	if conns.Load() > 16 || kept(s) != int(conns.Load()) || hosts(s) != 1 {
		t.Errorf("%d connections for 1,600 webhooks, %d kept, %d hosts", conns.Load(), kept(s), hosts(s))
	}
	s.Close()
	if kept(s) != 0 || hosts(s) != 0 {
		t.Errorf("after Close %d kept, %d hosts", kept(s), hosts(s))
	}
}

func TestAConnectionServesItsHostOnly(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	dialed := map[string]int{}
	s := sender(t, Options{Resolver: resolver(t, fixed("93.184.216.34"))}, defaultLimits)
	url, _ := counting(t, func(w http.ResponseWriter, r *http.Request) { _, _ = w.Write([]byte(r.Host + " " + r.RemoteAddr)) })
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
	url, _ := counting(t, func(http.ResponseWriter, *http.Request) { together.Done(); together.Wait() })
	s := sender(t, Options{Resolver: resolver(t, fixed("93.184.216.34"))}, defaultLimits)
	s.divert(url, nil)
	var sends sync.WaitGroup
	for range each {
		sends.Go(func() { s.Send(t.Context(), message("http://one.example.com")) })
	}
	sends.Wait()
	if kept(s) != idlePerHost {
		t.Errorf("%d are kept for a host", kept(s))
	}
	// Of many hosts the one that waited longest goes first.
	url, _ = counting(t, answers(200, ""))
	s.divert(url, nil)
	for i := range idleInAll {
		if r := s.Send(t.Context(), message("http://h"+strconv.Itoa(i)+".example.com")); !r.Succeeded() {
			t.Fatalf("%+v", r)
		}
	}
	if kept(s) != idleInAll || hosts(s) != idleInAll {
		t.Errorf("%d are kept for %d hosts", kept(s), hosts(s))
	}
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
	if hosts(s) != 0 || kept(s) != 0 {
		t.Errorf("%d hosts, %d kept", hosts(s), kept(s))
	}
}

// What a receiver says out of turn is not the answer to the next message.
func TestAnUnrequestedAnswerIsIgnored(t *testing.T) {
	t.Parallel()
	for name, extra := range map[string]string{
		"at once": "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nfalse", "a byte": "x",
	} {
		for _, late := range []bool{false, true} {
			sent := make(chan struct{}, 10)
			url := listen(t, func(c net.Conn) {
				for requests := 0; requests < 1; requests++ {
					says0(c, "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ntrue")
				}
				if late {
					time.Sleep(20 * time.Millisecond)
				}
				_, _ = c.Write([]byte(extra))
				sent <- struct{}{}
				hang(c)
			})
			s := development(t)
			for range 3 {
				if r := s.Send(t.Context(), message(url)); !r.Succeeded() || r.Excerpt != "true" {
					t.Errorf("%s, late %v: %+v", name, late, r)
				}
				<-sent
			}
		}
	}
}
