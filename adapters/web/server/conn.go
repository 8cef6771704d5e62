package server

import (
	"context"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// The states of a connection and its request. A connection may be closed in any state. Only an
// answered one may have a client that still sends.
//
//	fresh    -> asked     the first bytes of the first request arrived
//	quiet    -> asked     the first bytes of a request arrived
//	asked    -> handled   its handler began
//	handled  -> answered  the first bytes of the response were sent; for an invalid request: asked -> answered
//	answered -> quiet     request and response are complete
//	answered -> ended     it is being closed
//	fresh, quiet, asked -> ended  its place goes to another connection (giveWay)
const (
	fresh int32 = iota
	quiet
	asked
	handled
	answered
	ended
)

// freshTime is how long a client may take to send its first request on a new connection. After
// it a server that shuts down assumes that none is coming.
const freshTime = 250 * time.Millisecond

type conn struct {
	net.Conn
	server   *Server
	client   client
	accepted time.Time
	waits    atomic.Int64 // from when, after accepted, it waits for a request or for the rest of one's head
	state    atomic.Int32
	left     sync.Once
}

// follow records the state of a connection. net/http calls it.
func follow(c net.Conn, state http.ConnState) {
	ours, ok := c.(*conn)
	switch {
	case !ok:
	case state == http.StateActive:
		ours.ask()
	case state == http.StateIdle:
		ours.waits.Store(int64(time.Since(ours.accepted)))
		ours.state.Store(quiet)
	}
}

type connKey struct{}

// remember lets a handler find the connection of its request.
func remember(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, connKey{}, c)
}

// begun records that the handler of a request begins. It reports false if the request cannot be
// answered, because its connection gave way to another one.
func begun(r *http.Request) bool {
	c, ok := r.Context().Value(connKey{}).(*conn)
	return !ok || c.state.CompareAndSwap(asked, handled) || c.state.Load() != ended
}

// ask records that a request begins to arrive.
func (c *conn) ask() {
	if c.state.CompareAndSwap(quiet, asked) || c.state.CompareAndSwap(fresh, asked) {
		c.waits.Store(int64(time.Since(c.accepted)))
	}
}

// pending reports whether a request may be on the connection that has reached no handler.
// net/http drops it as soon as its Shutdown was called.
func (c *conn) pending() bool {
	switch c.state.Load() {
	case fresh:
		return time.Since(c.accepted) < freshTime || unread(c.Conn)
	case quiet:
		return unread(c.Conn)
	case asked:
		return true
	}
	return false
}

// unread reports whether unread bytes wait in the kernel.
func unread(c net.Conn) bool {
	s, ok := c.(syscall.Conn)
	return ok && readable(s)
}

func (c *conn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if n > 0 {
		c.ask()
	}
	return n, err
}

func (c *conn) Write(p []byte) (int, error) {
	if !c.state.CompareAndSwap(handled, answered) {
		c.state.CompareAndSwap(asked, answered)
	}
	return c.Conn.Write(p)
}

// CloseWrite is called by net/http when it knows that a client still sends. net/http closes the
// connection directly after it.
func (c *conn) CloseWrite() error {
	c.sayGoodbye()
	return nil
}

// Close gives the client time to read its response. It blocks: net/http calls it for an
// answered connection only from the goroutine of that connection.
func (c *conn) Close() error {
	c.sayGoodbye()
	return c.close()
}

func (c *conn) close() error {
	err := c.Conn.Close()
	c.left.Do(func() { c.server.connected.leave(c.client, c) })
	return err
}

// giveWay closes the connection, unless a handler has a request of it. No handler gets one after it.
func (c *conn) giveWay() bool {
	for _, state := range []int32{fresh, quiet, asked} {
		if c.state.CompareAndSwap(state, ended) {
			_ = c.close()
			return true
		}
	}
	return false
}

// sayGoodbye closes the sending side and discards what still arrives, until the client closes
// its side too.
func (c *conn) sayGoodbye() {
	if c.server.hurried.Load() || !c.state.CompareAndSwap(answered, ended) {
		return
	}
	if half, ok := c.Conn.(interface{ CloseWrite() error }); !ok || half.CloseWrite() != nil {
		return
	}
	if !c.server.discarding.take(c.client, c) {
		return
	}
	defer c.server.discarding.leave(c.client, c)
	if c.SetReadDeadline(time.Now().Add(discardTime)) == nil {
		_, _ = io.Copy(io.Discard, io.LimitReader(c.Conn, discardBytes))
	}
}
