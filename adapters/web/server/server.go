package server

import (
	"cmp"
	"context"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"waybill/adapters/turns"
	"waybill/domain"
)

const (
	// discardBytes and discardTime limit how much of a refused request is read and discarded.
	discardBytes = 8 << 20
	discardTime  = 2 * time.Second
	// restTime is how long the response waits for the rest of a small body. If it has arrived
	// by then, the connection stays open.
	restTime = 250 * time.Millisecond
	// handlersTime limits how long Shutdown waits until arrived requests are read.
	handlersTime = time.Second
	// calmTime is how long no request may be on its way to a handler before Shutdown assumes
	// that none is.
	calmTime = 50 * time.Millisecond

	// The limits of connections that discard at a time, of a listener and for one client. A
	// listener with few connections has fewer: a quarter of them.
	discards       = 256
	discardsOfEach = 64
)

// Options holds the limits of a listener.
type Options struct {
	Name    string         // of the listener, for the metrics
	Most    int            // connections at a time; 0: without limit
	Proxies []netip.Prefix // whose connections are those of many clients
	Metrics *Metrics       // nil: nothing is counted
	Idle    time.Duration  // how long a connection without a request stays open; 0: as the http.Server says
}

// Server is an http.Server with a limit of connections.
type Server struct {
	*http.Server
	options    Options
	connected  places
	discarding places
	arriving   *turns.Turns // bodies of requests; nil: without limit
	leaving    atomic.Bool  // each response is the last of its connection
	hurried    atomic.Bool  // Shutdown is out of time and waits for no connection

	ending atomic.Bool // listeners accept the waiting connections, and close

	mu        sync.Mutex
	listeners []*listener // on which Serve has begun
	open      map[*conn]bool
}

// New takes over an http.Server whose ConnState and ConnContext are not set.
func New(server *http.Server, o Options) *Server {
	s := &Server{
		Server: server, options: o,
		connected:  places{most: o.Most, each: max(1, o.Most/2)},
		discarding: places{most: discards, each: discardsOfEach},
		open:       map[*conn]bool{},
	}
	if o.Most > 0 {
		s.discarding.most = min(discards, max(1, o.Most/4))
		bodies := max(1, o.Most/2)
		s.arriving = turns.New(bodies, max(1, bodies/4))
	}
	server.ConnState, server.ConnContext = follow, remember
	server.IdleTimeout = cmp.Or(o.Idle, server.IdleTimeout)
	handler := server.Handler
	server.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		begun(r)
		if s.leaving.Load() {
			w.Header().Set("Connection", "close")
		}
		if r.ContentLength != 0 {
			var done func()
			w, r, done = s.withBody(w, r)
			defer done()
		}
		handler.ServeHTTP(w, r)
	})
	o.Metrics.show(o.Name, s.connected.inUse)
	return s
}

// Serve serves on the listener until Shutdown. Then it returns http.ErrServerClosed.
func (s *Server) Serve(l net.Listener) error {
	ours := newListener(l, s)
	s.mu.Lock()
	s.listeners = append(s.listeners, ours)
	s.mu.Unlock()
	return s.Server.Serve(ours)
}

// Leave closes each connection with its next response, and keeps serving. Shutdown closes idle
// connections without notice: a request on its way to one is lost.
func (s *Server) Leave() { s.leaving.Store(true) }

// Shutdown accepts the established connections and no others. It waits for requests in flight,
// also for those that were sent and not read yet. When ctx ends first, the rest is cut off.
func (s *Server) Shutdown(ctx context.Context) error {
	s.Leave()
	s.emptyQueues(ctx)
	s.awaitHandlers(ctx)
	err := s.Server.Shutdown(ctx)
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		s.hurried.Store(true)
		return errors.Join(err, s.Close())
	}
	return err
}

// awaitHandlers waits until a handler has every request that arrived. It checks for a while: a
// goroutine may be suspended between reading a request from the kernel and recording it.
func (s *Server) awaitHandlers(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, handlersTime)
	defer cancel()
	for since := time.Now(); time.Since(since) < calmTime && ctx.Err() == nil; time.Sleep(time.Millisecond) {
		open, pending := s.look()
		if !open {
			return
		}
		if pending {
			since = time.Now()
		}
	}
}

// look reports whether any connection is open, and whether a request is on its way to its
// handler.
func (s *Server) look() (open, pending bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.open {
		if c.pending() {
			return true, true
		}
	}
	return len(s.open) > 0, false
}

// came wraps a connection that was accepted.
func (s *Server) came(accepted net.Conn, client string) *conn {
	c := &conn{Conn: accepted, server: s, client: client, accepted: time.Now()}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open[c] = true
	return c
}

func (s *Server) left(c *conn) {
	s.connected.leave(c.client)
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.open, c)
}

// client returns the network whose share a connection counts against, or "" for none.
func (s *Server) client(remote net.Addr) string {
	at, ok := remote.(*net.TCPAddr)
	if !ok {
		return ""
	}
	return s.shareOf(at.AddrPort().Addr().Unmap().WithZone(""))
}

// shareOf returns the network that has one share with all its addresses, or "" for trusted proxies
// and this machine, which have none.
func (s *Server) shareOf(ip netip.Addr) string {
	if ip.IsLoopback() || contained(s.options.Proxies, ip) {
		return ""
	}
	return domain.ClientGroup(domain.ClientAddress(ip.String()))
}

// sender returns the network whose share the body of a request counts against, or "" for none. It is
// that of the address before the trusted proxies, as gin finds it for the handlers.
func (s *Server) sender(r *http.Request) string {
	remote, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return ""
	}
	peer := remote.Addr().Unmap().WithZone("")
	if known := ForwardedAddresses(r.Header[forwardedFor]); len(known) > 0 && contained(s.options.Proxies, peer) {
		client := known[0]
		for _, address := range slices.Backward(known) {
			if !contained(s.options.Proxies, address) {
				client = address
				break
			}
		}
		return domain.ClientGroup(domain.ClientAddress(client.String()))
	}
	return s.shareOf(peer)
}
