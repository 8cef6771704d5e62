package e2e

import (
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
)

// slowClient sends the beginning of a request at once and then a byte at a
// time, and is cut off.
type slowClient struct {
	name, bytes, drip string
	every             time.Duration
	within            time.Duration
	want              string
}

const (
	headersWithin = 40 * time.Second // 5 s by the server's clock
	bodyWithin    = 50 * time.Second // 15 s
)

var slowClients = []slowClient{
	{name: "says nothing", within: headersWithin, want: cut},
	{name: "drips a request line", drip: "G", every: 200 * time.Millisecond, within: headersWithin, want: invalidRequest},
	{name: "drips headers", bytes: "GET /v1/api-key HTTP/1.1\r\nHost: {host}\r\n", drip: "X-A: b\r\n", every: 200 * time.Millisecond,
		within: headersWithin, want: cut},
	{name: "stops within headers", bytes: "GET /v1/api-key HTTP/1.1\r\nHost: {host}\r\n", within: headersWithin, want: cut},
	{name: "drips a body", bytes: open("POST /v1/quotes") + length(60_000) + "\r\n", drip: " ", every: 250 * time.Millisecond,
		within: bodyWithin, want: invalidRequest},
	{name: "drips chunks", bytes: open("POST /v1/quotes") + chunked + "\r\n", drip: "1\r\n \r\n", every: 250 * time.Millisecond,
		within: bodyWithin, want: invalidRequest},
	{name: "stops within a body", bytes: open("POST /v1/quotes") + length(100) + "\r\n{", within: bodyWithin, want: invalidRequest},
	{name: "drips a body for nobody", bytes: open("POST /v1/nothing") + length(60_000) + "\r\n", drip: " ", every: 250 * time.Millisecond,
		within: bodyWithin, want: "404"},
}

// slowClients come all at once. The rest of the world goes on meanwhile and
// must not notice; wait returns when the last of them is gone.
func (g *siege) slowClients(t *testing.T) (wait func()) {
	var waiting sync.WaitGroup
	for _, slow := range slowClients {
		waiting.Go(func() { g.drip(t, slow) })
	}
	return waiting.Wait
}

func (g *siege) drip(t *testing.T, slow slowClient) {
	t.Helper()
	conn := g.dial(t)
	var sending sync.WaitGroup
	done := make(chan struct{})
	begun := time.Now()
	sending.Go(func() { slow.send(conn, g.fill(slow.bytes), done) })
	method, _, _ := strings.Cut(slow.bytes, " ")
	got, err := readReplies(conn, method, -1)
	took := time.Since(begun)
	close(done)
	sending.Wait()
	if err := conn.Close(); err != nil {
		t.Error(err)
	}
	g.judgeReplies(t, wire{name: "slow: " + slow.name, wants: answers(slow.want)}, http.MethodPost, "", got, err)
	if took > slow.within {
		t.Errorf("slow: %s: cut after %s, want at most %s", slow.name, took, slow.within)
	}
}

func (slow slowClient) send(conn net.Conn, beginning string, done <-chan struct{}) {
	if _, err := io.WriteString(conn, beginning); err != nil || slow.drip == "" {
		return
	}
	tick := time.NewTicker(slow.every)
	defer tick.Stop()
	for {
		select {
		case <-done:
			return
		case <-tick.C:
			if _, err := io.WriteString(conn, slow.drip); err != nil {
				return
			}
		}
	}
}
