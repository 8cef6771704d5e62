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
	"sync/atomic"
	"testing"
	"testing/synctest"
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

// bubble is a server in a bubble of synctest, with clients at any address.
type bubble struct {
	*testing.T
	coming from
}

func serveIn(t *testing.T, o server.Options, handler http.HandlerFunc) bubble {
	t.Helper()
	b := bubble{t, make(from)}
	o.Proxies = []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}
	server := server.New(&http.Server{Handler: handler, ReadTimeout: time.Minute}, o)
	served := make(chan error, 1)
	go func() { served <- server.Serve(b.coming) }()
	t.Cleanup(func() {
		close(b.coming)
		<-served
		_ = server.Close()
	})
	return b
}

// send connects from an address and sends a request or a part of it.
func (b bubble) send(address, request string) net.Conn {
	b.Helper()
	ours, theirs := net.Pipe()
	b.coming <- pretended{theirs, net.TCPAddrFromAddrPort(netip.MustParseAddrPort(address))}
	_, _ = io.WriteString(ours, request) // fails where the connection was refused
	b.Cleanup(func() { _ = ours.Close() })
	synctest.Wait()
	return ours
}

// status returns the status of the next response, or 0 if the connection was closed.
func (b bubble) status(c net.Conn) int {
	answer, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		return 0
	}
	synctest.Wait()
	return answer.StatusCode
}

const request = "GET / HTTP/1.1\r\nHost: x\r\n\r\n"

func TestOneNetworkHoldsHalfOfThePlacesAndOneAddressAQuarterOfThem(t *testing.T) {
	t.Parallel()
	const most = 64
	for _, c := range []struct {
		name   string
		nth    string // with a number in it
		served int
	}{
		{"one IPv4 address", "198.51.100.7:1%03d", most / 8},
		{"one IPv4 address written as IPv6", "[::ffff:198.51.100.7]:1%03d", most / 8},
		{"one IPv6 /64", "[2001:db8:1:1::%d]:443", most / 8},
		{"one IPv6 /48", "[2001:db8:1:%d::1]:443", most / 2},
		{"a network of IPv6 each", "[2001:db8:%d::1]:443", most},
		{"many IPv4 networks", "198.51.%d.7:443", most},
		{"one IPv4 /24", "198.51.100.%d:443", most / 2},
		{"a trusted proxy", "10.1.2.3:1%03d", most},
		{"this machine", "127.0.0.1:1%03d", most},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var served atomic.Int32
				b := serveIn(t, server.Options{Most: most}, func(http.ResponseWriter, *http.Request) {
					served.Add(1)
					<-t.Context().Done() // a request under way gives its place to nobody
				})
				for i := range 2 * most {
					b.send(fmt.Sprintf(c.nth, i), request)
				}
				if n := int(served.Load()); n != c.served {
					t.Errorf("%d of %d were served, want %d", n, 2*most, c.served)
				}
			})
		})
	}
}

// Of 64 connections, 32 may be of one network and 8 of one address.
func TestAConnectionThatWaitsForARequestGivesItsPlaceToAnotherOne(t *testing.T) {
	t.Parallel()
	for name, sent := range map[string]string{"silent": "", "in the middle of a head": "GET / HTTP/1.1\r\n", "answered": request} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				finish := make(chan struct{})
				b := serveIn(t, server.Options{Most: 64}, func(_ http.ResponseWriter, r *http.Request) {
					if r.Method == http.MethodPut {
						<-finish
					}
				})
				var waiting []net.Conn // of the address that has the most
				hold := func(address string) {
					c := b.send(address+":443", sent)
					if sent == request && b.status(c) != 200 {
						t.Fatalf("%s is not answered", address)
					}
					if address == "203.0.113.7" {
						waiting = append(waiting, c)
					}
					time.Sleep(time.Millisecond)
				}
				busy := b.send("203.0.113.7:443", "PUT"+strings.TrimPrefix(request, "GET"))
				for range 7 {
					hold("203.0.113.7")
				}
				if got := b.status(b.send("203.0.113.7:443", request)); got != 200 {
					t.Errorf("another connection of the address: %d", got)
				}
				for _, other := range []string{"1", "2", "3", "4"} { // 8 connections and four times 6
					for range 6 {
						hold("203.0.113." + other)
					}
				}
				if got := b.status(b.send("203.0.113.5:443", request)); got != 200 {
					t.Errorf("another address of the network: %d", got)
				}
				for n, c := range waiting { // the two that waited the longest are closed
					_ = c.SetReadDeadline(time.Now().Add(time.Millisecond))
					_, err := c.Read(make([]byte, 1))
					if closed := errors.Is(err, io.EOF); closed != (n < 2) {
						t.Errorf("connection %d: %v", n, err)
					}
				}
				close(finish)
				if got := b.status(busy); got != 200 {
					t.Errorf("a request that was under way: %d", got)
				}
			})
		})
	}
}

// Of 128 connections, 64 may have bodies that arrive: 16 of one network, 4 of one address.
func TestBodiesThatDripTakeAShareOfTheConnections(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		registry := prometheus.NewRegistry()
		b := serveIn(t, server.Options{Name: "portal", Most: 128, Metrics: server.NewMetrics(registry)}, func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodGet {
				return
			}
			if _, err := io.ReadAll(r.Body); errors.Is(err, server.ErrBodiesArriving) {
				w.WriteHeader(http.StatusServiceUnavailable)
			}
		})
		send := func(method, client, body string) net.Conn {
			return b.send("10.0.0.2:443", method+" / HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: "+client+"\r\nContent-Length: 2\r\n\r\n"+body)
		}
		slow := func(client string, times int) (all []net.Conn) {
			for range times {
				all = append(all, send("POST", client, "a"))
				time.Sleep(time.Millisecond)
			}
			return all
		}
		want := func(c net.Conn, status int, after time.Duration, what string) {
			t.Helper()
			begun := time.Now()
			if got := b.status(c); got != status {
				t.Errorf("%s: %d, want %d", what, got, status)
			}
			if took := time.Since(begun); took > after {
				t.Errorf("%s: after %s", what, took)
			}
		}
		const one, third = "203.0.113.7", "198.51.100.9"
		first := slow("192.0.2.1, "+one+":4711, 10.0.0.3", 4) // as gin sees it
		want(send("GET", one, "ab"), 200, 0, "a body of the address that is not read")
		want(send("POST", "203.0.113.8", "ab"), 200, 0, "another address of the network")
		want(send("POST", one, "ab"), 200, time.Second, "a fifth one of the address")
		want(first[0], 503, 0, "its oldest")
		for _, other := range []string{"203.0.113.1", "203.0.113.2", "203.0.113.3", "203.0.113.4"} {
			slow(other, 3)
		}
		slow(one, 1) // again it has four, and its network 16
		want(send("POST", "203.0.113.8", "ab"), 200, time.Second, "an address of a network with too many")
		want(first[1], 503, 0, "the oldest of the address with the most")
		slow(one, 1)
		for n := range 12 { // of three networks
			slow(fmt.Sprintf("2001:db8:%d:%d::7", n%3, n), 4)
		}
		want(send("POST", third, "ab"), 503, time.Second, "with half as many bodies as connections")
		if refused := counted(t, registry, "waybill_bodies_refused_total"); refused["portal"] != 3 {
			t.Errorf("refused %v, want 3", refused)
		}
		var waiting []net.Conn
		for range 9 { // eight of an address may wait
			waiting = append(waiting, send("POST", third, "ab"))
		}
		want(waiting[8], 503, 0, "one more than may wait")
		_, _ = io.WriteString(first[2], "b")
		want(first[2], 200, 0, "a slow body that ends")
		for _, c := range waiting[:8] {
			want(c, 200, 0, "one that waited for its place")
		}
		slow(third, 1)
		_ = first[3].Close()
		want(send("POST", third, "ab"), 200, 0, "after a body was cut off by its client")
	})
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
