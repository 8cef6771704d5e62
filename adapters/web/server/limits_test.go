package server_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"waybill/adapters/web/server"
)

// answered reports whether a new connection gets a response.
func answered(t *testing.T, address string) bool {
	t.Helper()
	c, err := net.DialTimeout("tcp", address, 10*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(20 * time.Second))
	_, _ = io.WriteString(c, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
	_, err = http.ReadResponse(bufio.NewReader(c), nil)
	return err == nil
}

func TestAFloodOfConnectionsFillsItsOwnListenerOnly(t *testing.T) {
	t.Parallel()
	const most = 20
	registry := prometheus.NewRegistry()
	metrics := server.NewMetrics(registry)
	flooded := listen(t, refuse(404), server.Options{Name: "sandbox", Most: most, Metrics: metrics})
	other := listen(t, refuse(404), server.Options{Name: "live", Most: most, Metrics: metrics})
	var idle []net.Conn
	for len(idle) < 5*most {
		c, err := net.DialTimeout("tcp", flooded, 10*time.Second)
		if err != nil {
			t.Fatal(err)
		}
		idle = append(idle, c)
		defer c.Close()
	}
	if answered(t, flooded) {
		t.Error("there was a place among those that are taken")
	}
	for range most / 2 {
		if !answered(t, other) {
			t.Fatal("the other listener does not answer")
		}
	}
	if refused := counted(t, registry, "waybill_connections_refused_total"); refused["live"] != 0 ||
		refused["sandbox"] != float64(len(idle)-most+1) {
		t.Errorf("refused %v, of %d", refused, len(idle)+1)
	}
	if open := counted(t, registry, "waybill_connections"); open["sandbox"] != most {
		t.Errorf("open %v, want %d", open, most)
	}
	for _, c := range idle {
		_ = c.Close()
	}
	for until := time.Now().Add(20 * time.Second); !answered(t, flooded); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(until) {
			t.Fatal("places are not given back")
		}
	}
}

// counted returns a metric of each listener.
func counted(t *testing.T, r *prometheus.Registry, name string) map[string]float64 {
	t.Helper()
	families, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]float64{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			if f.GetName() == name {
				found[m.GetLabel()[0].GetValue()] = m.GetCounter().GetValue() + m.GetGauge().GetValue()
			}
		}
	}
	return found
}

// pretended is a connection from another address than its own.
type pretended struct {
	net.Conn
	from net.Addr
}

func (p pretended) RemoteAddr() net.Addr { return p.from }

// from is a listener that accepts one connection of the channel after another.
type from chan net.Conn

func (f from) Accept() (net.Conn, error) {
	if c, ok := <-f; ok {
		return c, nil
	}
	return nil, errors.New("closed")
}

func (f from) Close() error   { return nil }
func (f from) Addr() net.Addr { return &net.TCPAddr{} }

func TestOneNetworkHoldsHalfOfThePlaces(t *testing.T) {
	t.Parallel()
	const most = 10
	for _, c := range []struct {
		name   string
		nth    string // with a number in it
		served int
	}{
		{"one IPv4 address", "198.51.100.7:1%02d", most / 2},
		{"one IPv4 address written as IPv6", "[::ffff:198.51.100.7]:1%02d", most / 2},
		{"one IPv6 /48", "[2001:db8:1:%d00::1]:443", most / 2},
		{"a network of IPv6 each", "[2001:db8:%d::1]:443", most},
		{"many IPv4 networks", "198.51.%d.7:443", most},
		{"one IPv4 /24", "198.51.100.%d:443", most / 2},
		{"a trusted proxy", "10.1.2.3:1%02d", most},
		{"this machine", "127.0.0.1:1%02d", most},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			coming := make(from)
			server := server.New(&http.Server{Handler: refuse(404)},
				server.Options{Most: most, Proxies: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}})
			done := make(chan error, 1)
			go func() { done <- server.Serve(coming) }()
			served := 0
			for i := range 2 * most {
				ours, theirs := net.Pipe()
				coming <- pretended{theirs, net.TCPAddrFromAddrPort(netip.MustParseAddrPort(fmt.Sprintf(c.nth, i)))}
				_ = ours.SetDeadline(time.Now().Add(20 * time.Second))
				if _, err := io.WriteString(ours, "GET / HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
					continue
				}
				if _, err := http.ReadResponse(bufio.NewReader(ours), nil); err == nil {
					served++
				}
				defer ours.Close()
			}
			close(coming)
			<-done
			_ = server.Close()
			if served != c.served {
				t.Errorf("%d of %d were served, want %d", served, 2*most, c.served)
			}
		})
	}
}

// The server reads bodies here, of which those of one network may arrive 8 at a time, and 32 in
// all. Each slow one has begun to arrive, as the handler has read of it.
func TestBodiesThatDripTakeAShareOfTheConnections(t *testing.T) {
	t.Parallel()
	const most, each = 64, 8
	begun := make(chan struct{})
	registry := prometheus.NewRegistry()
	address := listen(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			return
		}
		_, err := io.ReadFull(r.Body, make([]byte, 1))
		if err == nil {
			if r.Header.Get("Slow") != "" {
				begun <- struct{}{}
			}
			_, err = io.ReadAll(r.Body)
		}
		if errors.Is(err, server.ErrBodiesArriving) {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}), server.Options{Name: "portal", Most: most, Metrics: server.NewMetrics(registry),
		Proxies: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("10.0.0.0/8")}})
	send := func(request string) net.Conn {
		c := dial(t, address)
		_, _ = io.WriteString(c, request)
		return c
	}
	slow := func(client string) net.Conn {
		c := send("POST / HTTP/1.1\r\nHost: x\r\nSlow: yes\r\nX-Forwarded-For: " + client + "\r\nContent-Length: 2\r\n\r\na")
		select {
		case <-begun:
		case <-time.After(20 * time.Second):
			t.Fatalf("a body of %s got no place", client)
		}
		return c
	}
	statusOf := func(c net.Conn) int {
		answer, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil {
			t.Fatal(err)
		}
		return answer.StatusCode
	}
	status := func(method, client string) int {
		return statusOf(send(method + " / HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: " + client + "\r\nContent-Length: 2\r\n\r\nab"))
	}
	const one, other, third = "203.0.113.7", "2001:db8:1:100::7", "198.51.100.9"
	first := slow(one)
	for range each - 1 {
		slow("192.0.2.1, " + one + "0:4711, 10.0.0.2") // the same network, as gin sees it
	}
	for _, c := range []struct {
		method, client string
		want           int
	}{{"POST", one, 503}, {"GET", one, 200}, {"POST", other, 200}} {
		if got := status(c.method, c.client); got != c.want {
			t.Errorf("%s of %s while %d of %s arrive: %d, want %d", c.method, c.client, each, one, got, c.want)
		}
	}
	if refused := counted(t, registry, "waybill_bodies_refused_total"); refused["portal"] != 1 {
		t.Errorf("refused %v, want 1", refused)
	}
	var cut net.Conn
	for n := range 3 * each {
		cut = slow(fmt.Sprintf("2001:db8:%d:1%02d::7", n%3, n)) // three networks
	}
	if got := status("POST", third); got != 503 {
		t.Errorf("with half as many bodies as connections: %d, want 503", got)
	}
	waiting := send("POST / HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: " + third + "\r\nContent-Length: 2\r\n\r\nab")
	_, _ = io.WriteString(first, "b")
	if got := statusOf(first); got != 200 {
		t.Errorf("a slow body that ends is answered %d", got)
	}
	if got := statusOf(waiting); got != 200 {
		t.Errorf("one that waited for its place: %d", got)
	}
	slow(third)
	_ = cut.Close()
	for until := time.Now().Add(20 * time.Second); status("POST", third) != 200; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(until) {
			t.Fatal("the place of a body that was cut off is not given back")
		}
	}
}

// When all discards are in use, the next refused connection is closed at once.
func TestThrowingAwayIsBoundedInAll(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ connections, refused int }{
		"without a limit":                        {0, 356},
		"where a quarter of the connections may": {80, 70},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			address := listen(t, refuse(401), server.Options{Most: c.connections})
			refused := func() net.Conn {
				c := dial(t, address)
				_, _ = io.WriteString(c, "POST / HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 100000000\r\n\r\n")
				_, _ = io.Copy(io.Discard, c) // up to the end of the answer
				return c
			}
			// One is discarded for two seconds, so that some of so many exceed the limit, even if
			// a client is slow to arrive.
			for until := time.Now().Add(20 * time.Second); ; {
				cut := 0
				var held []net.Conn
				for range c.refused {
					held = append(held, refused())
				}
				for _, c := range held {
					_, first := c.Write([]byte("more")) // what is closed answers this with a reset
					time.Sleep(100 * time.Microsecond)
					if _, err := c.Write([]byte("more")); first != nil || err != nil {
						cut++
					}
					_ = c.Close()
				}
				if cut > 0 {
					return
				}
				if time.Now().After(until) {
					t.Fatalf("all of %d at a time are listened to", c.refused)
				}
			}
		})
	}
}

func TestAShutdownThatIsOutOfTimeWaitsForNoConnection(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	asked, stop := make(chan struct{}), make(chan struct{})
	server := server.New(&http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, strings.Repeat("a", 10_000)) // the first of it goes out
		asked <- struct{}{}
		<-stop
	})}, server.Options{})
	served := make(chan error, 1)
	go func() { served <- server.Serve(l) }()
	const clients = 10
	for range clients {
		_, _ = io.WriteString(dial(t, l.Addr().String()), "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
		<-asked
	}
	ended, cancel := context.WithTimeout(t.Context(), 0)
	defer cancel()
	begun := time.Now()
	if err := server.Shutdown(ended); err == nil {
		t.Error("a shutdown with requests under way was called complete")
	}
	if took := time.Since(begun); took > time.Duration(clients)*time.Second {
		t.Errorf("it took %s", took)
	}
	close(stop)
	<-served
}
