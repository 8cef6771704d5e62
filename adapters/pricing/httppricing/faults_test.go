package httppricing_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"waybill/adapters/pricing/httppricing"
	"waybill/domain"
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

// drip writes the text byte by byte until it ends or the client has gone.
func drip(w io.Writer, text string, pause time.Duration, flush func()) {
	for i := range len(text) {
		if _, err := io.WriteString(w, text[i:i+1]); err != nil {
			return
		}
		flush()
		time.Sleep(pause)
	}
}

// untilGone blocks until the client has closed the connection.
func untilGone(conn net.Conn) { _, _ = io.Copy(io.Discard, conn) }

// untilLeft blocks until the client has gone. The server notices only after it has read the
// request.
func untilLeft(r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	<-r.Context().Done()
}

// Each fault is tested with the production settings: a timeout of two seconds, without which
// some requests would never end.
func TestEveryFaultOfTheServiceIsAnswered(t *testing.T) {
	t.Parallel()
	head := "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
	whole := head + fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(good), good)
	faults := map[string]func(t *testing.T) string{
		"hangs before the answer": func(t *testing.T) string {
			return serve(t, func(_ http.ResponseWriter, r *http.Request) { untilLeft(r) })
		},
		"hangs after the header": func(t *testing.T) string {
			return serve(t, func(w http.ResponseWriter, r *http.Request) {
				w.WriteHeader(200)
				_ = http.NewResponseController(w).Flush()
				untilLeft(r)
			})
		},
		"hangs within the body": func(t *testing.T) string {
			return serve(t, func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.WriteString(w, good[:40])
				_ = http.NewResponseController(w).Flush()
				untilLeft(r)
			})
		},
		"hangs before the last byte": func(t *testing.T) string {
			return tcp(t, func(c net.Conn) {
				readRequest(c)
				_, _ = io.WriteString(c, whole[:len(whole)-1])
				untilGone(c)
			})
		},
		"never accepts": func(t *testing.T) string {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { l.Close() })
			return "http://" + l.Addr().String()
		},
		"drips the body": func(t *testing.T) string {
			return serve(t, func(w http.ResponseWriter, _ *http.Request) {
				drip(w, good, 50*time.Millisecond, func() { _ = http.NewResponseController(w).Flush() })
			})
		},
		"drips the header": func(t *testing.T) string {
			return tcp(t, func(c net.Conn) { readRequest(c); drip(c, whole, 20*time.Millisecond, func() {}) })
		},
		"sends interim answers for ever": func(t *testing.T) string {
			return tcp(t, func(c net.Conn) {
				readRequest(c)
				for {
					if _, err := io.WriteString(c, "HTTP/1.1 103 Early Hints\r\n\r\n"); err != nil {
						return
					}
					time.Sleep(time.Millisecond)
				}
			})
		},
		"endless header": func(t *testing.T) string {
			return tcp(t, func(c net.Conn) {
				readRequest(c)
				_, _ = io.WriteString(c, head)
				for {
					if _, err := io.WriteString(c, "X-Pad: "+strings.Repeat("x", 4000)+"\r\n"); err != nil {
						return
					}
				}
			})
		},
		"refuses the connection": func(t *testing.T) string {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			l.Close()
			return "http://" + l.Addr().String()
		},
		"resets at once": func(t *testing.T) string {
			return tcp(t, func(c net.Conn) { _ = c.(*net.TCPConn).SetLinger(0) })
		},
		"resets after the question": func(t *testing.T) string {
			return tcp(t, func(c net.Conn) { readRequest(c); _ = c.(*net.TCPConn).SetLinger(0) })
		},
		"resets within the body": func(t *testing.T) string {
			return tcp(t, func(c net.Conn) {
				readRequest(c)
				_, _ = io.WriteString(c, whole[:len(whole)-20])
				_ = c.(*net.TCPConn).SetLinger(0)
			})
		},
		"closes without a word": func(t *testing.T) string { return tcp(t, readRequest) },
		"closes within the body": func(t *testing.T) string {
			return tcp(t, func(c net.Conn) { readRequest(c); _, _ = io.WriteString(c, whole[:len(whole)-1]) })
		},
		"closes a chunked body early": func(t *testing.T) string {
			return tcp(t, func(c net.Conn) {
				readRequest(c)
				_, _ = fmt.Fprintf(c, "%sTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n", head, len(good), good)
			})
		},
		"speaks another protocol": func(t *testing.T) string {
			return tcp(t, func(c net.Conn) { readRequest(c); _, _ = io.WriteString(c, "220 mail.example ESMTP\r\n"); untilGone(c) })
		},
		"speaks noise": func(t *testing.T) string {
			return tcp(t, func(c net.Conn) {
				readRequest(c)
				_, _ = c.Write(bytes.Repeat([]byte{0, 0xff, '\n'}, 5000))
				untilGone(c)
			})
		},
		"two lengths": func(t *testing.T) string {
			return tcp(t, func(c net.Conn) {
				readRequest(c)
				_, _ = fmt.Fprintf(c, "%sContent-Length: 5\r\nContent-Length: %d\r\n\r\n%s", head, len(good), good)
			})
		},
		"noise instead of TLS": func(t *testing.T) string {
			url := tcp(t, func(c net.Conn) {
				readRequest(c)
				_, _ = c.Write(bytes.Repeat([]byte{0x16, 3, 1, 0xff}, 100))
				untilGone(c)
			})
			return strings.Replace(url, "http:", "https:", 1)
		},
		"plain HTTP instead of TLS": func(t *testing.T) string {
			return strings.Replace(serve(t, answers(200, good)), "http:", "https:", 1)
		},
		"silence instead of TLS": func(t *testing.T) string {
			return strings.Replace(tcp(t, untilGone), "http:", "https:", 1)
		},
		"a certificate nobody knows": func(t *testing.T) string {
			s := httptest.NewUnstartedServer(answers(200, good))
			s.Config.ErrorLog = log.New(io.Discard, "", 0) // it would tell about the handshake
			s.StartTLS()
			t.Cleanup(s.Close)
			return s.URL
		},
		"a name that does not exist": func(*testing.T) string { return "http://pricing.invalid:9000" },
		"a port that does not exist": func(*testing.T) string { return "http://127.0.0.1:1" },
		"a compressed bomb": func(t *testing.T) string {
			var bomb bytes.Buffer
			z := gzip.NewWriter(&bomb)
			_, _ = z.Write(make([]byte, 50<<20))
			_ = z.Close()
			return serve(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Encoding", "gzip")
				_, _ = w.Write(bomb.Bytes())
			})
		},
	}
	// Goroutines and not parallel subtests, of which only a few run at a time: all together
	// take as long as the slowest.
	var wg sync.WaitGroup
	for name, start := range faults {
		c := ask(t, httppricing.Options{URL: start(t)})
		wg.Go(func() { requireFault(t, c, name) })
	}
	wg.Wait()
}

func TestAnAnswerOf100MBIsGivenUpAfterItsFirstPart(t *testing.T) {
	t.Parallel()
	for name, length := range map[string]string{"chunked": "", "announced": "104857600"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var sent atomic.Int64
			done := make(chan struct{})
			url := serve(t, func(w http.ResponseWriter, _ *http.Request) {
				defer close(done)
				if length != "" {
					w.Header().Set("Content-Length", length)
				}
				_, _ = io.WriteString(w, `{"pad":"`)
				block := bytes.Repeat([]byte("x"), 64<<10)
				for range 100 << 20 / len(block) {
					n, err := w.Write(block)
					sent.Add(int64(n))
					if err != nil {
						return
					}
				}
			})
			requireFault(t, ask(t, httppricing.Options{URL: url}))
			<-done
			// What is beyond the limit is only what the kernel's buffers hold.
			if got := sent.Load(); got > 20<<20 {
				t.Errorf("the service could send %d MB", got>>20)
			}
		})
	}
}

func TestARedirectIsNeverFollowed(t *testing.T) {
	t.Parallel()
	var followed atomic.Int64
	elsewhere := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		followed.Add(1)
		_, _ = io.WriteString(w, good)
	})
	for _, status := range []int{301, 302, 303, 307, 308} {
		url := serve(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, elsewhere+"/prices", status) })
		requireFault(t, ask(t, httppricing.Options{URL: url}))
		requireFault(t, ask(t, httppricing.Options{URL: url, HTTPClient: &http.Client{}}))
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
	requireFault(t, ask(t, httppricing.Options{URL: "http://pricing.invalid:9000"}))
	if proxied.Load() != 0 {
		t.Error("the question went to the proxy")
	}
}

func TestATripThatCannotBeWrittenIsAFaultAndIsNotSent(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	c := ask(t, httppricing.Options{URL: serve(t, func(w http.ResponseWriter, _ *http.Request) { asked.Add(1) })})
	zero := 0.0
	_, err := c.Price(t.Context(), domain.Trip{Pickup: domain.Coordinates{Latitude: zero / zero}})
	if !domain.HasCode(err, domain.CodeQuoteUnavailable) || asked.Load() != 0 {
		t.Errorf("got %v after %d questions", err, asked.Load())
	}
}

func TestACallerThatLeavesEndsTheCallEarlier(t *testing.T) {
	t.Parallel()
	url := serve(t, func(_ http.ResponseWriter, r *http.Request) { untilLeft(r) })
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(50*time.Millisecond, cancel)
	_, err := ask(t, httppricing.Options{URL: url}).Price(ctx, trip)
	if !domain.HasCode(err, domain.CodeQuoteUnavailable) || !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestSixtyFourAtOnceReuseTheirConnections(t *testing.T) {
	t.Parallel()
	const clients, rounds = 64, 5
	var opened atomic.Int64
	gate := make(chan struct{})
	var waiting atomic.Int64
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
	c := ask(t, httppricing.Options{URL: s.URL})
	var wg sync.WaitGroup
	for range clients {
		wg.Go(func() {
			for range rounds {
				if _, err := c.Price(t.Context(), trip); err != nil {
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

func TestAServiceThatRestartedIsAskedOnANewConnection(t *testing.T) {
	t.Parallel()
	var conns sync.Map
	s := httptest.NewUnstartedServer(answers(200, good))
	s.Config.ConnState = func(c net.Conn, state http.ConnState) {
		if state == http.StateIdle {
			conns.Store(c, true)
		}
	}
	s.Start()
	t.Cleanup(s.Close)
	c := ask(t, httppricing.Options{URL: s.URL})
	for range 20 {
		if _, err := c.Price(t.Context(), trip); err != nil {
			t.Fatal(err)
		}
		conns.Range(func(k, _ any) bool {
			k.(net.Conn).Close()
			conns.Delete(k)
			return true
		})
	}
}
