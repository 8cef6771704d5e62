package server

import (
	"context"
	"errors"
	"io"
	"net/http"
	"time"
)

// bodyPatience is how long the first Read of a body waits for a place.
const bodyPatience = time.Second

// ErrBodiesArriving says that the listener, or the client, has as many bodies on their way as it may
// have. Reading a request's body fails with it. Nothing of the body was read; a retry after a few
// seconds may find a place.
var ErrBodiesArriving = errors.New("too many request bodies arrive at a time")

// body is the body of a request. It holds a place from its first Read until its end, so that bodies
// which arrive slowly do not take all connections of the listener. A body that has arrived already
// frees its place at once.
type body struct {
	io.ReadCloser
	server *Server
	ctx    context.Context //nolint:containedctx // of the request alone
	client string          // whose share the place counts against
	answer *answer
	held   bool // has a place
	ended  bool // net/http reads nothing more of it
}

func (b *body) Read(p []byte) (int, error) {
	if b.server.arriving != nil && !b.held && !b.ended {
		ctx, cancel := context.WithTimeout(b.ctx, bodyPatience)
		defer cancel()
		if b.server.arriving.Take(ctx, b.client, "") != nil {
			b.server.options.Metrics.refusedBody(b.server.options.Name)
			return 0, ErrBodiesArriving
		}
		b.held = true
	}
	n, err := b.ReadCloser.Read(p)
	if err != nil {
		b.ended = errors.Is(err, io.EOF)
		b.leave()
	}
	return n, err
}

// Close lets net/http read the rest of a small body.
func (b *body) Close() error {
	b.answer.limitRest()
	defer b.leave()
	b.ended = true
	return b.ReadCloser.Close()
}

// leave frees the place, if the body has one.
func (b *body) leave() {
	if b.held {
		b.held = false
		b.server.arriving.Give(b.client)
	}
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
