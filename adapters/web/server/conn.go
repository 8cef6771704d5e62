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

// How far a connection is with its request. From any of them it may be closed;
// only one that was answered may have a client that still sends.
//
//	fresh    -> asked     the first bytes of the first request came
//	quiet    -> asked     the first bytes of a request came
//	asked    -> handled   its handler began
//	handled  -> answered  the first bytes of its answer went; of what is no request: asked -> answered
//	answered -> quiet     request and answer are complete
//	answered -> ended     it is being closed
const (
	fresh int32 = iota
	quiet
	asked
	handled
	answered
	ended
)

// freshTime is how long a client may take to send its first request on a new connection before
// a server that ends takes it for one that sends none.
const freshTime = 250 * time.Millisecond

type conn struct {
	net.Conn
	server   *Server
	client   string
	accepted time.Time
	state    atomic.Int32
	left     sync.Once
}

// follow is told by net/http how far a connection is.
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

// begun notes that the handler of a request has begun.
func begun(r *http.Request) {
	if c, ok := r.Context().Value(connKey{}).(*conn); ok {
		c.state.CompareAndSwap(asked, handled)
	}
}

// pending tells whether a request may be on the connection that no handler has got: net/http
// drops it as soon as its Shutdown was called.
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

// unread tells whether bytes wait in the kernel that nobody has read.
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

// CloseWrite is called by net/http when it knows that a client still sends.
// Right behind it, it closes the connection.
func (c *conn) CloseWrite() error {
	c.sayGoodbye()
	return nil
}

// Close gives the client time to read its answer. It waits: net/http calls it
// for a connection that was answered from the goroutine of that connection only.
func (c *conn) Close() error {
	c.sayGoodbye()
	err := c.Conn.Close()
	c.left.Do(func() { c.server.left(c) })
	return err
}

// sayGoodbye closes the sending side and throws away what still comes, until the
// client closes its side too.
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
