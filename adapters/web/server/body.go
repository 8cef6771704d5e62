package server

import (
	"context"
	"errors"
	"io"
	"math"
	"net/http"
	"sync"
	"time"

	"waybill/adapters/turns"
)

// bodyPatience is how long the first Read of a body waits for a place. One that waited in vain takes
// the place of a body that has needed its own for longer than that, and may wait as long again.
const bodyPatience = time.Second

// ErrBodiesArriving says that the listener, or the client, has as many bodies on their way as it may
// have. Reading a request's body fails with it. A retry after a few seconds may find a place.
var ErrBodiesArriving = errors.New("too many request bodies arrive at a time")

// bodies holds the places of bodies that arrive. An address has a line of its own. Only as many of
// its bodies as it has places stand in the line of its network.
type bodies struct {
	ofAddress, ofNetwork *turns.Turns  // nil: without limit
	arriving             places[*body] // which have a place
	waiting              places[*body]
}

// limit sets how many arrive at a time, and how many wait for that.
func (b *bodies) limit(most, waiting int) {
	each := max(1, most/4)
	b.ofAddress, b.ofNetwork = turns.New(math.MaxInt, max(1, each/4)), turns.New(most, each)
	b.waiting.limit(waiting)
}

// enter takes a place, if need be that of a slow body, and reports whether there was one.
func (b *bodies) enter(ctx context.Context, mine *body) bool {
	if b.take(ctx, mine.client, 0) {
		return true
	}
	if !b.waiting.take(mine.client, mine) {
		return false
	}
	defer b.waiting.leave(mine.client, mine)
	return b.take(ctx, mine.client, bodyPatience) || b.makeRoom(mine.client) && b.take(ctx, mine.client, bodyPatience)
}

// take reports whether there was a place within the time.
func (b *bodies) take(ctx context.Context, c client, patience time.Duration) bool {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if b.ofAddress.Take(ctx, c.address, "") != nil {
		return false
	}
	if b.ofNetwork.Take(ctx, c.network, c.address) != nil {
		b.ofAddress.Give(c.address)
		return false
	}
	return true
}

// leave gives a place back.
func (b *bodies) leave(c client) {
	b.ofNetwork.Give(c.network)
	b.ofAddress.Give(c.address)
}

// makeRoom cuts off the oldest body of the address that has the most of them in the network of a
// client. It reports whether there was one that is slow.
func (b *bodies) makeRoom(c client) bool {
	var oldest *body
	var since time.Time
	for other, at := range b.arriving.heaviest(c) {
		if oldest == nil || at.Before(since) {
			oldest, since = other, at
		}
	}
	return oldest != nil && time.Since(since) >= bodyPatience && oldest.giveWay()
}

// body is the body of a request. It holds a place from its first Read until its end, so that bodies
// which arrive slowly do not take all connections of the listener. A body that has arrived already
// frees its place at once.
type body struct {
	io.ReadCloser
	server *Server
	ctx    context.Context //nolint:containedctx // of the request alone
	client client          // whose share the place counts against
	answer *answer
	ended  bool // net/http reads nothing more of it

	mu   sync.Mutex
	held bool // has a place
	cut  bool // is to give its place to another one, or has
}

func (b *body) Read(p []byte) (int, error) {
	if !b.enter() {
		b.server.options.Metrics.refusedBody(b.server.options.Name)
		return 0, ErrBodiesArriving
	}
	n, err := b.ReadCloser.Read(p)
	if err != nil {
		b.ended = errors.Is(err, io.EOF)
		if b.leave() { // and its deadline is over, for net/http too
			b.ended = true
			b.server.options.Metrics.refusedBody(b.server.options.Name)
			return 0, ErrBodiesArriving
		}
	}
	return n, err
}

// enter takes a place, unless the body has one or needs none.
func (b *body) enter() bool {
	all := &b.server.bodies
	if all.ofNetwork == nil || b.held || b.ended {
		return true
	}
	if !all.enter(b.ctx, b) {
		return false
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.held = true
	all.arriving.take(b.client, b)
	return true
}

// giveWay lets the Read of the body fail, which frees its place.
func (b *body) giveWay() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.held || b.cut || http.NewResponseController(b.answer.ResponseWriter).SetReadDeadline(time.Now()) != nil {
		return false
	}
	b.cut = true
	b.server.bodies.arriving.leave(b.client, b)
	return true
}

// Close lets net/http read the rest of a small body.
func (b *body) Close() error {
	b.answer.limitRest()
	defer b.leave()
	b.ended = true
	return b.ReadCloser.Close()
}

// leave frees the place, if the body has one. It reports whether the body gave way to another one.
func (b *body) leave() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.held {
		b.held = false
		if !b.cut {
			b.server.bodies.arriving.leave(b.client, b)
		}
		b.server.bodies.leave(b.client)
	}
	return b.cut
}

// answer writes the response to a request with a body. A handler may answer before it has read
// the body: an error, or the document of a GET. net/http then reads the rest of a small body
// before it sends the response. For that it has restTime instead of the time of a whole request.
type answer struct {
	http.ResponseWriter
	body    *body
	limited bool
}

// withBody prepares a request with a body for its handler. done is for when the handler returns.
// net/http keeps the request that it made, and recognizes the type of its body.
func (s *Server) withBody(w http.ResponseWriter, r *http.Request) (_ *answer, _ *http.Request, done func()) {
	a := &answer{ResponseWriter: w}
	a.body = &body{ReadCloser: r.Body, server: s, ctx: r.Context(), client: s.sender(r), answer: a}
	r = r.WithContext(r.Context())
	r.Body = a.body
	return a, r, func() {
		a.limitRest()
		a.body.leave()
	}
}

// limitRest limits how long net/http waits for what the handler has not read. It does so once:
// when the response has begun, net/http may wait for the next request already.
func (a *answer) limitRest() {
	if !a.body.ended && !a.limited {
		_ = http.NewResponseController(a.ResponseWriter).SetReadDeadline(time.Now().Add(restTime))
	}
	a.limited = true
}

func (a *answer) WriteHeader(status int) {
	if status >= http.StatusOK { // else it is not the response yet
		a.limitRest()
	}
	a.ResponseWriter.WriteHeader(status)
}

func (a *answer) Write(p []byte) (int, error) {
	a.limitRest()
	return a.ResponseWriter.Write(p)
}

func (a *answer) Flush() {
	a.limitRest()
	_ = http.NewResponseController(a.ResponseWriter).Flush()
}

func (a *answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }
