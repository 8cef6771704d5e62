package server

import (
	"context"
	"errors"
	"net"
	"net/http"
	"os"
	"slices"
	"sync"
	"syscall"
	"time"
)

const (
	// emptyingTime is how long Shutdown waits at most for a listener to accept what waits for it.
	emptyingTime = 2 * time.Second
	// acceptTime is how long a connection may take that is known to wait: its client may have
	// gone meanwhile.
	acceptTime = 50 * time.Millisecond
)

// socket is a listener whose queue in the kernel can be looked at, such as a net.TCPListener.
type socket interface {
	syscall.Conn
	SetDeadline(t time.Time) error
}

// listener accepts connections for which there is a place.
type listener struct {
	net.Listener
	server *Server
	socket socket // nil: what waits is not accepted
	close  func() error
	closed chan struct{}
}

func newListener(l net.Listener, s *Server) *listener {
	ours := &listener{Listener: l, server: s, closed: make(chan struct{})}
	ours.socket, _ = l.(socket)
	ours.close = sync.OnceValue(func() error {
		defer close(ours.closed)
		return l.Close()
	})
	return ours
}

// Close closes the listener once, and is nil after that.
func (l *listener) Close() error { return l.close() }

// Accept waits for a connection for which there is a place, and closes all
// others that come meanwhile.
func (l *listener) Accept() (net.Conn, error) {
	for {
		accepted, err := l.next()
		if err != nil {
			return nil, err
		}
		client := l.server.client(accepted.RemoteAddr())
		if l.server.connected.take(client) {
			return l.server.came(accepted, client), nil
		}
		l.server.options.Metrics.refused(l.server.options.Name)
		_ = accepted.Close()
	}
}

// next waits for a connection. Once the server ends, it returns those that wait, and closes the
// listener in the moment in which none does: closing it from elsewhere would take until this
// goroutine is woken, and the kernel resets every connection that came meanwhile.
func (l *listener) next() (net.Conn, error) {
	if !l.server.ending.Load() {
		accepted, err := l.Listener.Accept()
		if err == nil || !l.server.ending.Load() || !errors.Is(err, os.ErrDeadlineExceeded) {
			return accepted, err
		}
	}
	for l.socket != nil && !endIfEmpty(l.socket) && l.socket.SetDeadline(time.Now().Add(acceptTime)) == nil {
		if accepted, err := l.Listener.Accept(); !errors.Is(err, os.ErrDeadlineExceeded) {
			return accepted, err
		}
	}
	_ = l.Close()
	return nil, http.ErrServerClosed
}

// emptyQueues lets each listener accept the connections that are established and wait in the
// kernel, and close. Their clients may have sent a request already, which would be reset.
func (s *Server) emptyQueues(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, emptyingTime)
	defer cancel()
	s.ending.Store(true)
	s.mu.Lock()
	listeners := slices.Clone(s.listeners)
	s.mu.Unlock()
	for _, l := range listeners {
		if l.socket == nil || l.socket.SetDeadline(time.Unix(1, 0)) != nil { // ends the Accept under way
			continue
		}
		select {
		case <-l.closed:
		case <-ctx.Done():
		}
	}
}
