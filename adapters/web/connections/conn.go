package connections

import (
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// How far a connection is with its request. From any of them it may be closed;
// only one that was answered may have a client that still sends.
//
//	quiet    -> asked     the first bytes of a request came
//	asked    -> answered  the first bytes of its answer went
//	answered -> quiet     request and answer are complete
//	answered -> ended     it is being closed
const (
	quiet int32 = iota
	asked
	answered
	ended
)

type conn struct {
	net.Conn
	server *Server
	client string
	state  atomic.Int32
	left   sync.Once
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

func (c *conn) Write(p []byte) (int, error) {
	c.state.CompareAndSwap(asked, answered)
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
	c.left.Do(func() { c.server.connected.leave(c.client) })
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
