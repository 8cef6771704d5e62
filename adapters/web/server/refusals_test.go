package server_test

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"waybill/adapters/web/server"
)

// listen serves on a port of its own and returns its address.
func listen(t *testing.T, handler http.Handler, o server.Options) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := server.New(&http.Server{Handler: handler, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 30 * time.Second,
		IdleTimeout: time.Minute}, o)
	served := make(chan error, 1)
	go func() { served <- server.Serve(l) }()
	t.Cleanup(func() {
		_ = server.Close()
		<-served
	})
	return l.Addr().String()
}

// refuse responds as the API does: without reading the body.
func refuse(status int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = io.WriteString(w, `{"success":false}`)
	}
}

func dial(t *testing.T, address string) *net.TCPConn {
	t.Helper()
	c, err := net.DialTimeout("tcp", address, 10*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	_ = c.SetDeadline(time.Now().Add(30 * time.Second))
	t.Cleanup(func() { _ = c.Close() })
	return c.(*net.TCPConn)
}

// sendAll sends a whole request, and only then reads the response.
func sendAll(address, head string, body []byte, chunked bool) (int, error) {
	c, err := net.DialTimeout("tcp", address, 10*time.Second)
	if err != nil {
		return 0, err
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(30 * time.Second))
	if _, err := io.WriteString(c, head); err != nil {
		return 0, fmt.Errorf("sending the head: %w", err)
	}
	for len(body) > 0 {
		piece := body[:min(len(body), 64<<10)]
		body = body[len(piece):]
		if chunked {
			piece = fmt.Appendf(nil, "%x\r\n%s\r\n", len(piece), piece)
		}
		if _, err := c.Write(piece); err != nil {
			return 0, fmt.Errorf("sending the body: %w", err)
		}
	}
	if chunked {
		if _, err := io.WriteString(c, "0\r\n\r\n"); err != nil {
			return 0, fmt.Errorf("sending the end: %w", err)
		}
	}
	answer, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		return 0, fmt.Errorf("reading the answer: %w", err)
	}
	defer answer.Body.Close()
	if _, err := io.Copy(io.Discard, answer.Body); err != nil {
		return 0, fmt.Errorf("reading the answer's body: %w", err)
	}
	return answer.StatusCode, nil
}

func TestARefusalReachesAClientThatFirstSendsEverything(t *testing.T) {
	const times = 12
	sizes := []int{1 << 20, 2 << 20, 4 << 20, 7 << 20}
	body := bytes.Repeat([]byte("a"), sizes[len(sizes)-1])
	for _, c := range []struct {
		name, version, headers string
		chunked                bool
		status                 int
	}{
		{"that closes afterwards", "1.1", "Connection: close\r\n", false, 413},
		{"that goes on afterwards", "1.1", "", false, 401},
		{"in chunks", "1.1", "Transfer-Encoding: chunked\r\n", true, 413},
		{"in chunks, that closes afterwards", "1.1", "Connection: close\r\nTransfer-Encoding: chunked\r\n", true, 429},
		{"that does not wait for the 100 it asked for", "1.1", "Expect: 100-continue\r\n", false, 415},
		{"of HTTP/1.0", "1.0", "", false, 404},
		{"that net/http itself refuses", "1.1", "Expect: the-unexpected\r\n", false, 417},
		{"with headers that cannot be read", "1.1", "no colon\r\n", false, 400},
	} {
		t.Run(c.name, func(t *testing.T) {
			address := listen(t, refuse(c.status), server.Options{})
			gate := make(chan struct{}, 3) // so few that no machine is too slow for the two seconds
			var all sync.WaitGroup
			for i := range times {
				sent := body[:sizes[i%len(sizes)]]
				head := "POST / HTTP/" + c.version + "\r\nHost: x\r\n" + c.headers
				if !c.chunked {
					head += fmt.Sprintf("Content-Length: %d\r\n", len(sent))
				}
				all.Go(func() {
					gate <- struct{}{}
					defer func() { <-gate }()
					if status, err := sendAll(address, head+"\r\n", sent, c.chunked); err != nil || status != c.status {
						t.Errorf("status %d, %v; want %d", status, err, c.status)
					}
				})
			}
			all.Wait()
		})
	}
}

func TestAClientThatWaitsForA100IsRefusedWithoutIt(t *testing.T) {
	t.Parallel()
	c := dial(t, listen(t, refuse(401), server.Options{}))
	_, _ = io.WriteString(c, "POST / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 1000\r\n\r\n")
	answer, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil || answer.StatusCode != 401 {
		t.Fatalf("%v, %v; want 401 and no 100", answer, err)
	}
}

// A slow client gets restTime or discardTime, not the read timeout of the server, which is 30
// seconds here.
func TestABodyThatTricklesAndIsNotReadIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		head    string
		handler http.HandlerFunc
		status  int
	}{
		"of a length":       {"Content-Length: 10000\r\n", refuse(401), 401},
		"of a large length": {"Content-Length: 1000000\r\n", refuse(401), 401},
		"in chunks":         {"Transfer-Encoding: chunked\r\n", refuse(401), 401},
		"of the last one":   {"Connection: close\r\nContent-Length: 10000\r\n", refuse(401), 401},
		"after a 100":       {"Expect: 100-continue\r\nContent-Length: 10000\r\n", refuse(401), 401},
		"of a success":      {"Content-Length: 10000\r\n", refuse(200), 200},
		"of a success without a status": {"Content-Length: 10000\r\n", func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, "a")
		}, 200},
		"of an empty success": {"Content-Length: 10000\r\n", func(http.ResponseWriter, *http.Request) {}, 200},
		"of a stream": {"Content-Length: 10000\r\n", func(w http.ResponseWriter, _ *http.Request) {
			_ = http.NewResponseController(w).Flush()
		}, 200},
		"that the handler closes": {"Content-Length: 10000\r\n", func(_ http.ResponseWriter, r *http.Request) { _ = r.Body.Close() }, 200},
		"of which the handler reads the beginning": {"Content-Length: 10000\r\n", func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.ReadFull(r.Body, make([]byte, 2))
			w.WriteHeader(200)
		}, 200},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			head, status, c := c.head, c.status, dial(t, listen(t, c.handler, server.Options{}))
			begun := time.Now()
			_, _ = io.WriteString(c, "POST / HTTP/1.1\r\nHost: x\r\n"+head+"\r\n")
			stop := make(chan struct{})
			defer close(stop)
			go func() {
				for tick := time.NewTicker(50 * time.Millisecond); ; {
					select {
					case <-stop:
						tick.Stop()
						return
					case <-tick.C:
						if _, err := io.WriteString(c, "1\r\na\r\n"); err != nil {
							return
						}
					}
				}
			}()
			r := bufio.NewReader(c)
			answer, err := http.ReadResponse(r, nil)
			if err != nil || answer.StatusCode != status {
				t.Fatalf("%v, %v; want %d", answer, err, status)
			}
			if took := time.Since(begun); took > 10*time.Second {
				t.Errorf("the answer came after %s", took)
			}
			_, _ = io.Copy(io.Discard, r) // until the connection is gone, by a reset where more was sent
			if took := time.Since(begun); took > 15*time.Second {
				t.Errorf("the connection was held for %s", took)
			}
		})
	}
}

func TestAConnectionStaysOpenAfterAnAnswerWhoseBodyIsThere(t *testing.T) {
	t.Parallel()
	for _, status := range []int{200, 404} {
		c := dial(t, listen(t, refuse(status), server.Options{}))
		r := bufio.NewReader(c)
		for range 3 {
			_, _ = io.WriteString(c, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello")
			answer, err := http.ReadResponse(r, nil)
			if err != nil || answer.StatusCode != status || answer.Close {
				t.Fatalf("%v, %v; want %d, and to go on", answer, err, status)
			}
			_, _ = io.Copy(io.Discard, answer.Body)
		}
	}
}

// halfClosing is a pipe of which one side may end before the other.
type halfClosing struct{ net.Conn }

func (halfClosing) CloseWrite() error { return nil }

// It uses a pipe, because no kernel buffers its bytes.
func TestNoMoreThan8MiBAreThrownAway(t *testing.T) {
	t.Parallel()
	ours, theirs := net.Pipe()
	coming := make(from, 1)
	coming <- halfClosing{theirs}
	server := server.New(&http.Server{Handler: refuse(413)}, server.Options{})
	served := make(chan error, 1)
	go func() { served <- server.Serve(coming) }()
	go func() { _, _ = io.Copy(io.Discard, ours) }()
	_ = ours.SetDeadline(time.Now().Add(30 * time.Second))
	_, err := io.WriteString(ours, "POST / HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 1000000000\r\n\r\n")
	piece, sent := bytes.Repeat([]byte("a"), 16<<10), 0
	for err == nil && sent < 20<<20 {
		var n int
		n, err = ours.Write(piece)
		sent += n
	}
	if sent > 9<<20 || !errors.Is(err, io.ErrClosedPipe) { // the reader of requests has some KiB, too
		t.Errorf("%d KiB were taken: %v", sent>>10, err)
	}
	close(coming)
	<-served
	_ = server.Close()
}

func TestABodyWithoutEndIsThrownAwayForAMomentOnly(t *testing.T) {
	t.Parallel()
	address := listen(t, refuse(401), server.Options{})
	c := dial(t, address)
	begun := time.Now()
	_, _ = io.WriteString(c, "POST / HTTP/1.0\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n"+strings.Repeat("a", 1000))
	_, _ = io.Copy(io.Discard, c)
	if took := time.Since(begun); took > 10*time.Second {
		t.Errorf("held for %s", took)
	}
}
