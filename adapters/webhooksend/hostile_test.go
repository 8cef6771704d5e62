package webhooksend

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"waybill/domain"
)

// listen runs a receiver that handles raw connections, and returns its URL.
func listen(t testing.TB, handle func(net.Conn)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var conns sync.WaitGroup
	t.Cleanup(func() {
		l.Close()
		conns.Wait()
	})
	conns.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			conns.Go(func() {
				defer conn.Close()
				handle(conn)
			})
		}
	})
	return "http://" + l.Addr().String() + "/hooks"
}

// hang keeps the connection until the sender closes it.
func hang(conn net.Conn) { _, _ = io.Copy(io.Discard, conn) }

// says reads a request, sends all parts and hangs.
func says(parts ...string) func(net.Conn) {
	return func(conn net.Conn) {
		_, _ = http.ReadRequest(bufio.NewReader(conn))
		for _, p := range parts {
			if _, err := io.WriteString(conn, p); err != nil {
				return
			}
		}
		hang(conn)
	}
}

// floods sends the beginning, and then the rest forever.
func floods(begin, rest string) func(net.Conn) {
	return func(conn net.Conn) {
		_, _ = http.ReadRequest(bufio.NewReader(conn))
		_, err := io.WriteString(conn, begin)
		for err == nil {
			_, err = io.WriteString(conn, rest)
		}
	}
}

// drips sends the beginning at once, and the rest a byte at a time, forever.
func drips(begin, rest string) func(net.Conn) {
	return func(conn net.Conn) {
		_, _ = http.ReadRequest(bufio.NewReader(conn))
		_, err := io.WriteString(conn, begin)
		for i := 0; err == nil; i++ {
			_, err = conn.Write([]byte{rest[i%len(rest)]})
			time.Sleep(quick.attempt / 15) // as a byte a second is to 15 seconds
		}
	}
}

func gzipped(n int) string {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, _ = io.CopyN(z, zeros{}, int64(n))
	z.Close()
	return b.String()
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

const ok200 = "HTTP/1.1 200 OK\r\n"

func TestHostileReceiversHoldUpNoOther(t *testing.T) {
	t.Parallel()
	bomb := gzipped(64 << 20)
	filler := strings.Repeat("x", 1000)
	for name, c := range map[string]struct {
		receiver func(net.Conn)
		status   int
		class    domain.ErrorClass
	}{
		"hangs":                        {hang, 0, domain.ErrorTimeoutResponse},
		"hangs after half a status":    {says("HTTP/1.1 20"), 0, domain.ErrorTimeoutResponse},
		"hangs after half the headers": {says(ok200, "Content-Le"), 0, domain.ErrorTimeoutResponse},
		"hangs without reading":        {func(net.Conn) { time.Sleep(2 * quick.attempt) }, 0, domain.ErrorTimeoutResponse},
		"drips the status":             {drips("", ok200), 0, domain.ErrorTimeoutResponse},
		"drips headers":                {drips(ok200, "A: b\r\n"), 0, domain.ErrorTimeoutResponse},
		"drips a 1xx": {drips("HTTP/1.1 100 Continue\r\n\r\n", "HTTP/1.1 100 Continue\r\n\r\n"), 0,
			domain.ErrorTimeoutResponse},
		"drips a body":                  {drips(ok200+"Content-Length: 9999\r\n\r\n", "x"), 200, ""},
		"drips a chunked body":          {drips(ok200+"Transfer-Encoding: chunked\r\n\r\n", "1\r\nx\r\n"), 200, ""},
		"drips the body of a 500":       {drips("HTTP/1.1 500 No\r\nContent-Length: 9999\r\n\r\n", "x"), 500, domain.ErrorHTTP5xx},
		"drips trailers":                {drips(ok200+"Transfer-Encoding: chunked\r\n\r\n0\r\n", "A: b\r\n"), 200, ""},
		"closes at once":                {func(net.Conn) {}, 0, domain.ErrorReset},
		"closes after the request":      {func(c net.Conn) { _, _ = http.ReadRequest(bufio.NewReader(c)) }, 0, domain.ErrorReset},
		"resets":                        {func(c net.Conn) { _ = c.(*net.TCPConn).SetLinger(0) }, 0, domain.ErrorReset},
		"resets after half the headers": {resets(ok200 + "A: "), 0, domain.ErrorReset},
		"resets after half the body":    {resets(ok200 + "Content-Length: 10\r\n\r\nhalf"), 200, ""},
		"garbage":                       {says("\x00\xff\x13\x37 garbage\n\n"), 0, domain.ErrorReset},
		"a banner of SSH":               {says("SSH-2.0-OpenSSH_9.6\r\n"), 0, domain.ErrorReset},
		"an error of Redis":             {says("-ERR unknown command 'POST'\r\n"), 0, domain.ErrorReset},
		"frames of HTTP/2":              {says("\x00\x00\x12\x04\x00\x00\x00\x00\x00\x00\x03\x00\x00\x00\x80\n"), 0, domain.ErrorReset},
		"an alert of TLS":               {says("\x15\x03\x01\x00\x02\x02\x46\n"), 0, domain.ErrorReset},
		"a status that is no number":    {says("HTTP/1.1 OK\r\n\r\n"), 0, domain.ErrorReset},
		"status 000":                    {says("HTTP/1.1 000 No\r\nContent-Length: 0\r\n\r\n"), 0, domain.ErrorReset},
		"status 199 for ever":           {floods("", "HTTP/1.1 199 No\r\n\r\n"), 0, domain.ErrorBodyTooLarge},
		"status 600":                    {says("HTTP/1.1 600 No\r\nContent-Length: 0\r\n\r\n"), 0, domain.ErrorReset},
		"status 999 and a body":         {floods("HTTP/1.1 999 No\r\n\r\n", filler), 0, domain.ErrorReset},
		"another protocol": {says("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"), 0,
			domain.ErrorReset},
		"a length below zero":               {says(ok200 + "Content-Length: -1\r\n\r\n"), 0, domain.ErrorReset},
		"two lengths":                       {says(ok200 + "Content-Length: 1\r\nContent-Length: 2\r\n\r\nxx"), 0, domain.ErrorReset},
		"a length beyond all":               {floods(ok200+"Content-Length: 9223372036854775807\r\n\r\n", filler), 200, ""},
		"a header without a colon":          {says(ok200 + "nonsense\r\n\r\n"), 0, domain.ErrorReset},
		"a body without an end":             {floods(ok200+"\r\n", filler), 200, ""},
		"chunks without an end":             {floods(ok200+"Transfer-Encoding: chunked\r\n\r\n", "3e8\r\n"+filler+"\r\n"), 200, ""},
		"a chunk size without an end":       {floods(ok200+"Transfer-Encoding: chunked\r\n\r\n", "0"), 200, ""},
		"chunk extensions without an end":   {floods(ok200+"Transfer-Encoding: chunked\r\n\r\n1;", filler), 200, ""},
		"tiny chunks with large extensions": {floods(ok200+"Transfer-Encoding: chunked\r\n\r\n", "1;"+filler+"\r\nx\r\n"), 200, ""},
		"trailers without an end":           {floods(ok200+"Transfer-Encoding: chunked\r\n\r\n0\r\n", "A: b\r\n"), 200, ""},
		"a body that is no chunk":           {says(ok200 + "Transfer-Encoding: chunked\r\n\r\nzz\r\n"), 200, ""},
		"a gzip bomb": {says(fmt.Sprintf("%sContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n", ok200, len(bomb)),
			bomb), 200, ""},
		"an endless error":          {floods("HTTP/1.1 503 No\r\n\r\n", filler), 503, domain.ErrorHTTP5xx},
		"headers without an end":    {floods(ok200, "A: "+filler+"\r\n"), 0, domain.ErrorBodyTooLarge},
		"one header without an end": {floods(ok200+"A: ", filler), 0, domain.ErrorBodyTooLarge},
		"a status without an end":   {floods("HTTP/1.1 200 ", filler), 0, domain.ErrorBodyTooLarge},
		"17 KiB of headers": {says(ok200, strings.Repeat("A: "+filler+"\r\n", 17), "Content-Length: 0\r\n\r\n"), 0,
			domain.ErrorBodyTooLarge},
		"15 KiB of headers": {says(ok200, strings.Repeat("A: "+filler+"\r\n", 15), "Content-Length: 0\r\n\r\n"), 200, ""},
		"100 for ever":      {floods("", "HTTP/1.1 100 Continue\r\n\r\n"), 0, domain.ErrorBodyTooLarge},
		"103 for ever":      {floods("", "HTTP/1.1 103 Early Hints\r\nLink: "+filler+"\r\n\r\n"), 0, domain.ErrorBodyTooLarge},
		"a few 1xx, then 200": {says("HTTP/1.1 100 Continue\r\n\r\n", "HTTP/1.1 103 Early Hints\r\n\r\n",
			ok200+"Content-Length: 2\r\n\r\nok"), 200, ""},
		"two answers":                        {says(strings.Repeat(ok200+"Content-Length: 2\r\n\r\nok", 2)), 200, ""},
		"a 204 with a body":                  {floods("HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\n", "hello"), 204, ""},
		"HTTP/1.0 without a length, closing": {func(c net.Conn) { says0(c, "HTTP/1.0 200 OK\r\n\r\nok") }, 200, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := sender(t, Options{AllowPrivate: true}, quick)
			m := message(listen(t, c.receiver))
			m.Body = bytes.Repeat([]byte("x"), 2<<10)
			r := s.Send(t.Context(), m)
			if r.StatusCode != c.status || r.Error != c.class || r.Duration > quick.attempt+grace || len(r.Excerpt) > domain.MaxExcerpt {
				t.Errorf("%+v", r)
			}
			if c.class == domain.ErrorTimeoutResponse && r.Duration < quick.attempt {
				t.Errorf("given up after %v", r.Duration)
			}
		})
	}
}

// says0 reads a request, responds and closes.
func says0(conn net.Conn, answer string) {
	req, err := http.ReadRequest(bufio.NewReader(conn))
	if err == nil {
		_, _ = io.Copy(io.Discard, req.Body) // what is left unread would be a reset
		_, _ = io.WriteString(conn, answer)
	}
}

// resets sends the beginning and resets the connection once it is read.
func resets(begin string) func(net.Conn) {
	return func(conn net.Conn) {
		says0(conn, begin)
		time.Sleep(50 * time.Millisecond) // a reset discards what was not read
		_ = conn.(*net.TCPConn).SetLinger(0)
	}
}

func TestThereIsNoConnectionInTime(t *testing.T) {
	t.Parallel()
	never := func(ctx context.Context, _ netip.AddrPort) (net.Conn, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	s := sender(t, Options{Resolver: resolver(t, fixed("93.184.216.34", "93.184.216.35"))}, quick)
	s.dialer.connect = never
	if r := s.Send(t.Context(), message("http://hooks.example.com")); r.Error != domain.ErrorTimeoutConnect || r.Duration < quick.connect ||
		r.Duration > quick.connect+grace/2 {
		t.Errorf("%+v", r)
	}
	impatient := sender(t, Options{AllowPrivate: true}, quick)
	// The server never accepts: the system does, so that there is a connection.
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	url := "http://" + l.Addr().String()
	if r := impatient.Send(t.Context(), message(url)); r.Error != domain.ErrorTimeoutResponse {
		t.Errorf("%+v", r)
	}
	l.Close()
	if r := impatient.Send(t.Context(), message(url)); r.Error != domain.ErrorRefused || r.Duration > grace/2 {
		t.Errorf("%+v", r)
	}
	// A handshake that never comes.
	url = strings.Replace(listen(t, hang), "http:", "https:", 1)
	if r := impatient.Send(t.Context(), message(url)); r.Error != domain.ErrorTimeoutConnect || r.Duration > quick.handshake+grace/2 {
		t.Errorf("%+v", r)
	}
}

func TestACallerThatLeavesIsNotHeld(t *testing.T) {
	t.Parallel()
	s := sender(t, Options{AllowPrivate: true}, defaultLimits)
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if r := s.Send(ctx, message(listen(t, hang))); r.Error != domain.ErrorTimeoutResponse || r.Duration > 10*time.Second {
		t.Errorf("%+v", r)
	}
}

// The receivers hang, drip or never end, 600 at a time on several hosts. A good one is served
// as fast as ever meanwhile, and nothing is left behind.
func TestManyBadReceiversLeaveNothingBehind(t *testing.T) {
	// Longer than quick: 600 begin at the same time.
	l := limits{lookup: 2 * time.Second, connect: 2 * time.Second, handshake: 2 * time.Second, attempt: 3 * time.Second,
		idle: 300 * time.Millisecond}
	s := sender(t, Options{AllowPrivate: true}, l)
	var urls []string
	for _, receiver := range []func(net.Conn){hang, drips(ok200, "A: b\r\n"), floods(ok200+"\r\n", strings.Repeat("x", 4096)),
		drips(ok200+"\r\n", "x")} {
		urls = append(urls, listen(t, receiver))
	}
	good := serve(t, answers(200, "ok"))
	s.Send(t.Context(), message(good))
	runtime.GC()
	var before, during runtime.MemStats
	runtime.ReadMemStats(&before)
	goroutines := runtime.NumGoroutine()

	var sends sync.WaitGroup
	var slowest atomic.Int64
	for _, url := range urls {
		for range 150 {
			sends.Go(func() {
				r := s.Send(t.Context(), message(url))
				slowest.Store(max(slowest.Load(), int64(r.Duration)))
			})
		}
	}
	time.Sleep(l.attempt / 2)
	runtime.GC()
	runtime.ReadMemStats(&during)
	if r := s.Send(t.Context(), message(good)); !r.Succeeded() {
		t.Errorf("beside them: %+v", r)
	}
	sends.Wait()
	if grown := int64(during.HeapInuse) - int64(before.HeapInuse); grown > 64<<20 {
		t.Errorf("the heap grew by %d KiB for 600 attempts", grown>>10)
	}
	if took := time.Duration(slowest.Load()); took > l.attempt+grace {
		t.Errorf("an attempt took %v", took)
	}
	s.Close()
	for deadline := time.Now().Add(5 * time.Second); runtime.NumGoroutine() > goroutines+4; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%d goroutines, before %d", runtime.NumGoroutine(), goroutines)
		}
	}
	t.Logf("heap in use: %d KiB before, %d KiB during; the slowest attempt %v", before.HeapInuse>>10, during.HeapInuse>>10,
		time.Duration(slowest.Load()))
}
