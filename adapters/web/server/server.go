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

	// discards limits the connections that discard at a time. A listener with few connections has
	// fewer: a quarter of them.
	discards = 256
	// sameHost is how many bits of an IPv6 address count as one address: a machine chooses the
	// others itself.
	sameHost = 64
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
	connected  places[*conn]
	discarding places[*conn]
	bodies     bodies
	leaving    atomic.Bool // each response is the last of its connection
	hurried    atomic.Bool // Shutdown is out of time and waits for no connection

	ending atomic.Bool // listeners accept the waiting connections, and close

	mu        sync.Mutex
	listeners []*listener // on which Serve has begun
}

// New takes over an http.Server whose ConnState and ConnContext are not set.
func New(server *http.Server, o Options) *Server {
	s := &Server{Server: server, options: o}
	s.connected.limit(o.Most)
	s.discarding.limit(discards)
	if o.Most > 0 {
		s.discarding.limit(min(discards, max(1, o.Most/4)))
		s.bodies.limit(max(1, o.Most/2), max(1, o.Most/4))
	}
	server.ConnState, server.ConnContext = follow, remember
	server.IdleTimeout = cmp.Or(o.Idle, server.IdleTimeout)
	handler := server.Handler
	server.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !begun(r) {
			panic(http.ErrAbortHandler)
		}
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
	all := s.connected.all()
	return len(all) > 0, slices.ContainsFunc(all, (*conn).pending)
}

// admit wraps an accepted connection that has a place, and returns nil if it has none. It takes the
// place of one on which no handler has a request, if need be.
func (s *Server) admit(accepted net.Conn) *conn {
	c := &conn{Conn: accepted, server: s, client: s.client(accepted.RemoteAddr()), accepted: time.Now()}
	for !s.connected.take(c.client, c) {
		if !s.makeRoom(c.client) {
			return nil
		}
	}
	return c
}

// makeRoom closes the connection that has waited for a request the longest, or for the rest of its
// head, of the address that has the most connections in the network of a client. It reports whether
// there was one.
func (s *Server) makeRoom(c client) bool {
	var longest *conn
	var since time.Time
	for other := range s.connected.heaviest(c) {
		state, at := other.state.Load(), other.accepted.Add(time.Duration(other.waits.Load()))
		if state <= asked && (longest == nil || at.Before(since)) && !unread(other.Conn) {
			longest, since = other, at
		}
	}
	return longest != nil && longest.giveWay()
}

// client returns whose share a connection counts against.
func (s *Server) client(remote net.Addr) client {
	at, ok := remote.(*net.TCPAddr)
	if !ok {
		return client{}
	}
	return s.direct(at.AddrPort().Addr().Unmap().WithZone(""))
}

// direct returns the client at the other end of a connection, or none if that is a trusted proxy or
// this machine.
func (s *Server) direct(peer netip.Addr) client {
	if peer.IsLoopback() || contained(s.options.Proxies, peer) {
		return client{}
	}
	return clientAt(peer)
}

// clientAt returns the client with an address.
func clientAt(ip netip.Addr) client {
	c := client{network: domain.ClientGroup(domain.ClientAddress(ip.String())), address: ip.String()}
	if host, err := ip.Prefix(sameHost); err == nil && ip.Is6() {
		c.address = host.String()
	}
	return c
}

// sender returns whose share the body of a request counts against. It is the address before the
// trusted proxies, as gin finds it for the handlers.
func (s *Server) sender(r *http.Request) client {
	remote, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return client{}
	}
	peer := remote.Addr().Unmap().WithZone("")
	if known := ForwardedAddresses(r.Header[forwardedFor]); len(known) > 0 && contained(s.options.Proxies, peer) {
		for _, address := range slices.Backward(known) {
			if !contained(s.options.Proxies, address) {
				return clientAt(address)
			}
		}
		return clientAt(known[0])
	}
	return s.direct(peer)
}
