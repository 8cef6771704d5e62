package server_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"

	"waybill/adapters/web/server"
)

// held is a listener that accepts nothing until its server shuts down, like that of a process
// that was stopped, or has no processor.
type held struct {
	*net.TCPListener
	accepting, ending func()
	ends              chan struct{}
}

func (h *held) Accept() (net.Conn, error) {
	h.accepting()
	<-h.ends
	return h.TCPListener.Accept()
}

func (h *held) SetDeadline(at time.Time) error {
	defer h.ending()
	return h.TCPListener.SetDeadline(at)
}

func (h *held) Close() error {
	defer h.ending()
	return h.TCPListener.Close()
}

func TestRequestsThatWaitToBeAcceptedAreAnsweredByAServerThatEnds(t *testing.T) {
	t.Parallel()
	const waiting = 100
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	accepts, ends := make(chan struct{}), make(chan struct{})
	h := &held{TCPListener: tcp.(*net.TCPListener), ends: ends, accepting: sync.OnceFunc(func() { close(accepts) }),
		ending: sync.OnceFunc(func() { close(ends) })}
	server := server.New(&http.Server{Handler: refuse(http.StatusOK)}, server.Options{}) //nolint:gosec // the test's own client
	served := make(chan error, 1)
	go func() { served <- server.Serve(h) }()
	<-accepts
	clients := make([]net.Conn, waiting)
	for i := range clients {
		clients[i] = dial(t, tcp.Addr().String())
		if _, err := io.WriteString(clients[i], "GET / HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
	}
	server.Leave()
	ended := make(chan error, 1)
	go func() { ended <- server.Shutdown(context.Background()) }()
	for i, c := range clients {
		res, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil {
			t.Fatalf("request %d of %d has no answer: %v", i+1, waiting, err)
		}
		_, _ = io.Copy(io.Discard, res.Body)
		_ = c.Close()
	}
	if err := <-ended; err != nil {
		t.Errorf("Shutdown: %v", err)
	}
	if err := <-served; !errors.Is(err, http.ErrServerClosed) {
		t.Errorf("Serve: %v", err)
	}
	if c, err := net.Dial("tcp", tcp.Addr().String()); err == nil {
		_ = c.Close()
		t.Error("the listener is open after Shutdown")
	}
}
