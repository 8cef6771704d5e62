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
	client   string
	accepted time.Time
	state    atomic.Int32
	left     sync.Once
}

// follow records the state of a connection. net/http calls it.
func follow(c net.Conn, state http.ConnState) {
	ours, ok := c.(*conn)
	switch {
	case !ok:
	case state == http.StateActive:
		ours.state.Store(asked)
	case state == http.StateIdle:
		ours.state.Store(quiet)
	}
}

type connKey struct{}

// remember lets a handler find the connection of its request.
func remember(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, connKey{}, c)
}

// begun records that the handler of a request has begun.
func begun(r *http.Request) {
	if c, ok := r.Context().Value(connKey{}).(*conn); ok {
		c.state.CompareAndSwap(asked, handled)
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
	if n > 0 && !c.state.CompareAndSwap(quiet, asked) {
		c.state.CompareAndSwap(fresh, asked)
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
	err := c.Conn.Close()
	c.left.Do(func() { c.server.left(c) })
	return err
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
	if !c.server.discarding.take(c.client) {
		return
	}
	defer c.server.discarding.leave(c.client)
	if c.SetReadDeadline(time.Now().Add(discardTime)) == nil {
		_, _ = io.Copy(io.Discard, io.LimitReader(c.Conn, discardBytes))
	}
}
