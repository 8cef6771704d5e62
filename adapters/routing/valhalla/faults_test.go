package valhalla_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"waybill/adapters/routing/valhalla"
)

// tcp runs a server below HTTP: f gets each connection, which is closed after it.
func tcp(t testing.TB, f func(net.Conn)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			wg.Go(func() {
				defer conn.Close()
				f(conn)
			})
		}
	})
	t.Cleanup(func() { l.Close(); wg.Wait() })
	return "http://" + l.Addr().String()
}

// readRequest waits until the request arrives.
func readRequest(conn net.Conn) { _, _ = conn.Read(make([]byte, 4096)) }

// untilGone blocks until the client has closed the connection.
func untilGone(conn net.Conn) { _, _ = io.Copy(io.Discard, conn) }

// drip writes the text byte by byte until it ends or the client has gone.
func drip(conn net.Conn, text string) {
	for i := range len(text) {
		if _, err := io.WriteString(conn, text[i:i+1]); err != nil {
			return
		}
		time.Sleep(10 * time.Millisecond) // the pace is the fault
	}
}

// Each fault is tested with the production settings: a timeout of one second.
func TestEveryFaultOfTheEngineIsAnswered(t *testing.T) {
	t.Parallel()
	head := "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
	whole := head + fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(good), good)
	endless := func(line string) func(net.Conn) {
		return func(c net.Conn) {
			readRequest(c)
			_, _ = io.WriteString(c, head)
			for {
				if _, err := io.WriteString(c, line); err != nil {
					return
				}
			}
		}
	}
	for name, fault := range map[string]func(c net.Conn){
		"hangs":                      untilGone,
		"hangs after the header":     func(c net.Conn) { readRequest(c); _, _ = io.WriteString(c, head+"\r\n"); untilGone(c) },
		"hangs before the last byte": func(c net.Conn) { readRequest(c); _, _ = io.WriteString(c, whole[:len(whole)-1]); untilGone(c) },
		"drips":                      func(c net.Conn) { readRequest(c); drip(c, whole) },
		"resets":                     func(c net.Conn) { readRequest(c); _ = c.(*net.TCPConn).SetLinger(0) },
		"resets within the body": func(c net.Conn) {
			readRequest(c)
			_, _ = io.WriteString(c, whole[:len(whole)-9])
			_ = c.(*net.TCPConn).SetLinger(0)
		},
		"closes at once":              func(net.Conn) {},
		"is shorter than it promises": func(c net.Conn) { readRequest(c); _, _ = io.WriteString(c, whole[:len(whole)-9]) },
		"speaks another protocol":     func(c net.Conn) { readRequest(c); _, _ = io.WriteString(c, "220 mail.example.com ESMTP\r\n") },
		"has an endless header":       endless("X-Pad: " + strings.Repeat("x", 4000) + "\r\n"),
		"has an endless body":         func(c net.Conn) { readRequest(c); _, _ = io.WriteString(c, head+"\r\n"); _, _ = io.Copy(c, forever{}) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			requireFault(t, ask(t, valhalla.Options{URL: tcp(t, fault)}), name)
		})
	}
}

// forever is a body that never ends.
type forever struct{}

func (forever) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = ' '
	}
	return len(p), nil
}

func TestARedirectIsNeverFollowed(t *testing.T) {
	t.Parallel()
	var followed atomic.Int64
	elsewhere := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		followed.Add(1)
		_, _ = io.WriteString(w, good)
	})
	for _, status := range []int{301, 302, 303, 307, 308} {
		url := serve(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, elsewhere+"/route", status) })
		requireFault(t, ask(t, valhalla.Options{URL: url}), status)
		requireFault(t, ask(t, valhalla.Options{URL: url, HTTPClient: &http.Client{}}), status)
	}
	if n := followed.Load(); n != 0 {
		t.Errorf("%d redirects were followed", n)
	}
}

func TestNoProxyIsTakenFromTheEnvironment(t *testing.T) {
	var proxied atomic.Int64
	proxy := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		proxied.Add(1)
		_, _ = io.WriteString(w, good)
	})
	t.Setenv("HTTP_PROXY", proxy)
	t.Setenv("http_proxy", proxy)
	// Not a local address: those are never proxied.
	requireFault(t, ask(t, valhalla.Options{URL: "http://routing.invalid:8002"}))
	if proxied.Load() != 0 {
		t.Error("the question went to the proxy")
	}
}

func TestManyAtOnceReuseTheirConnections(t *testing.T) {
	t.Parallel()
	const clients, rounds = 32, 5
	var opened, waiting atomic.Int64
	gate := make(chan struct{})
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if waiting.Add(1) == clients {
			close(gate) // all of the first round are here at once
		}
		<-gate
		_, _ = io.WriteString(w, good)
	}))
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			opened.Add(1)
		}
	}
	s.Start()
	t.Cleanup(s.Close)
	c := ask(t, valhalla.Options{URL: s.URL})
	var wg sync.WaitGroup
	for range clients {
		wg.Go(func() {
			for range rounds {
				if _, err := c.Distance(t.Context(), trip); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if n := opened.Load(); n > clients {
		t.Errorf("%d connections for %d at once", n, clients)
	}
}
