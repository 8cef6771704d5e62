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
	// emptyingTime limits how long Shutdown waits for a listener to accept the waiting
	// connections.
	emptyingTime = 2 * time.Second
	// acceptTime limits how long accepting a waiting connection may take: its client may have
	// gone meanwhile.
	acceptTime = 50 * time.Millisecond
)

// socket is a listener whose kernel queue can be inspected, such as a net.TCPListener.
type socket interface {
	syscall.Conn
	SetDeadline(t time.Time) error
}

// listener accepts connections up to a limit.
type listener struct {
	net.Listener
	server *Server
	socket socket // nil: waiting connections are not accepted
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

// Close closes the listener once. Later calls return nil.
func (l *listener) Close() error { return l.close() }

// Accept waits for a connection within the limit. It closes all others that arrive meanwhile.
func (l *listener) Accept() (net.Conn, error) {
	for {
		accepted, err := l.next()
		if err != nil {
			return nil, err
		}
		if ours := l.server.admit(accepted); ours != nil {
			return ours, nil
		}
		l.server.options.Metrics.refused(l.server.options.Name)
		_ = accepted.Close()
	}
}

// next waits for a connection. After the server begins to shut down it returns the waiting
// ones, and closes the listener at the moment when none waits. Closing it elsewhere would take
// until this goroutine wakes, and the kernel would reset every connection that arrived
// meanwhile.
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

// emptyQueues lets each listener accept the established connections that wait in the kernel,
// and close. Their clients may have sent a request already, which a close would reset.
func (s *Server) emptyQueues(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, emptyingTime)
	defer cancel()
	s.ending.Store(true)
	s.mu.Lock()
	listeners := slices.Clone(s.listeners)
	s.mu.Unlock()
	for _, l := range listeners {
		if l.socket == nil || l.socket.SetDeadline(time.Unix(1, 0)) != nil { // ends the Accept in progress
			continue
		}
		select {
		case <-l.closed:
		case <-ctx.Done():
		}
	}
}
