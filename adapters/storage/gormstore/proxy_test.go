package gormstore_test

import (
	"bytes"
	"io"
	"net"
	"net/url"
	"sync/atomic"
	"testing"
)

// cut says where the proxy breaks the next connection that commits.
type cut int32

const (
	cutNothing cut = iota
	cutBeforeCommit
	cutAfterCommit
	shutDownAfterCommit // told by the server, in place of that it is ready
)

// proxy stands between a Store and Postgres, and knows what commits.
type proxy struct {
	listener net.Listener
	server   atomic.Value // host:port
	next     atomic.Int32
}

// commitMessage is a simple query of the protocol: its type, length and text.
var commitMessage = []byte("Q\x00\x00\x00\x0bcommit\x00")

// readyMessage ends the answer of a server whose session is in no transaction then.
var readyMessage = []byte("Z\x00\x00\x00\x05I")

// shutDownMessage is an error that ends a session: its type, length and fields.
var shutDownMessage = []byte("E\x00\x00\x00\x25SFATAL\x00VFATAL\x00C57P01\x00Mshut down\x00\x00")

func startProxy(t testing.TB, database string) *proxy {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	p := &proxy{listener: listener}
	p.leadTo(t, database)
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			go p.relay(client)
		}
	}()
	return p
}

// leadTo has new connections end at the server of another database.
func (p *proxy) leadTo(t testing.TB, database string) {
	t.Helper()
	u, err := url.Parse(database)
	if err != nil {
		t.Fatal(err)
	}
	p.server.Store(u.Host)
}

func (p *proxy) url(t testing.TB, database string) string {
	return withHost(t, database, p.listener.Addr().String())
}

func (p *proxy) cutNext(c cut) { p.next.Store(int32(c)) }

func (p *proxy) relay(client net.Conn) {
	defer client.Close()
	server, err := net.Dial("tcp", p.server.Load().(string))
	if err != nil {
		return
	}
	defer server.Close()

	var drop, shutDown atomic.Bool // the answer of the server, or the end of it
	answered := make(chan struct{})
	go func() {
		defer close(answered)
		buffer := make([]byte, 64<<10)
		for {
			n, err := server.Read(buffer)
			answer, done := bytes.CutSuffix(buffer[:n], readyMessage)
			switch done = done && drop.Load(); {
			case done && shutDown.Load():
				_, _ = client.Write(append(answer, shutDownMessage...))
				return
			case err != nil || done:
				return
			case drop.Load() && !shutDown.Load():
				continue
			}
			if _, err := client.Write(buffer[:n]); err != nil {
				return
			}
		}
	}()

	buffer := make([]byte, 64<<10)
	for {
		n, err := client.Read(buffer)
		if err != nil {
			return
		}
		if bytes.Contains(buffer[:n], commitMessage) {
			switch c := cut(p.next.Swap(int32(cutNothing))); c {
			case cutBeforeCommit:
				return
			case cutAfterCommit, shutDownAfterCommit:
				shutDown.Store(c == shutDownAfterCommit)
				drop.Store(true)
				if _, err := io.Copy(server, bytes.NewReader(buffer[:n])); err != nil {
					return
				}
				go func() { _, _ = io.Copy(server, client) }() // a pooler may send it in pieces
				<-answered                                     // so the commit is done
				return
			}
		}
		if _, err := server.Write(buffer[:n]); err != nil {
			return
		}
	}
}
