package webhooksend

import (
	"bufio"
	"container/list"
	"io"
	"math"
	"net"
	"net/http"
	"sync"
	"time"

	"waybill/domain"
)

const (
	maxHeaders = 16 << 10 // informational answers included
	maxAnswer  = 16 << 10 // of the body
)

// conn is a connection with at most one request under way.
type conn struct {
	net.Conn          // encrypted, where it is
	raw      net.Conn // the same or what lies below
	in       *bufio.Reader
	budget   int   // of bytes that may still come
	cause    error // that reading ended with
	used     bool

	// While it is kept:
	host  *host
	place *list.Element
	timer *time.Timer
}

func newConn(c, raw net.Conn) *conn {
	made := &conn{Conn: c, raw: raw}
	made.in = bufio.NewReader(budgeted{made})
	return made
}

// close lets go at once. A TLS connection would first say so, and wait for a
// receiver that reads nothing.
func (c *conn) close() { _ = c.raw.Close() }

// budgeted reads a connection as far as the budget goes.
type budgeted struct{ c *conn }

func (b budgeted) Read(p []byte) (int, error) {
	if b.c.budget <= 0 {
		b.c.cause = errHeaders
		return 0, errHeaders
	}
	n, err := b.c.Read(p[:min(len(p), b.c.budget)])
	b.c.budget -= n
	b.c.cause = err
	return n, err
}

// post is what http.ReadResponse needs to know of a request.
var post = &http.Request{Method: http.MethodPost}

var buffers = sync.Pool{New: func() any { return new([maxAnswer]byte) }}

// roundTrip sends the request and reads as much of the answer as is kept.
func (c *conn) roundTrip(request []byte) (r domain.WebhookResult, reusable bool, err error) {
	reused := c.used
	c.used, c.budget = true, maxHeaders
	_, writeErr := c.Write(request)
	// Even then there may be an answer: some receivers refuse before they have read.
	if _, err := c.in.Peek(1); err != nil {
		switch {
		case reused && brokeOff(err):
			err = errUnanswered
		case writeErr != nil:
			err = writeErr
		}
		return r, false, err
	}
	res, err := c.answer() //nolint:bodyclose // closing would read on to the end of the body
	if err != nil {
		return r, false, err
	}
	c.budget = math.MaxInt // the body is bounded below
	r = resultOf(res)
	done := res.Body == http.NoBody
	if !done {
		buffer := buffers.Get().(*[maxAnswer]byte)
		defer buffers.Put(buffer)
		var n int
		n, done = readBody(res.Body, buffer[:])
		r.Excerpt = excerpt(buffer[:n])
	}
	return r, done && !res.Close && writeErr == nil && c.in.Buffered() == 0, nil
}

// answer reads the final headers. Informational ones come before, as many as the
// budget bears.
func (c *conn) answer() (*http.Response, error) {
	for {
		res, err := http.ReadResponse(c.in, post)
		switch {
		case err != nil && c.cause != nil:
			// A line that was cut short is taken for a whole one, and malformed.
			return nil, c.cause
		case err != nil:
			return nil, err
		}
		switch {
		case res.StatusCode >= 200 && res.StatusCode <= 599:
			return res, nil
		case res.StatusCode < 100 || res.StatusCode == http.StatusSwitchingProtocols || res.StatusCode > 599:
			return nil, errStatus
		}
	}
}

// readBody fills the buffer; ended tells whether that was all there is. Bytes
// before an error count.
func readBody(body io.Reader, buffer []byte) (n int, ended bool) {
	for n < len(buffer) {
		k, err := body.Read(buffer[n:])
		n += k
		if err != nil {
			return n, err == io.EOF
		}
	}
	return n, false
}
