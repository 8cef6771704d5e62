package circuitbreaker

import (
	"context"
	"errors"
	"io"
	"net"
	"net/url"
)

// Unanswered marks an error of a connection: no answer came over it.
type Unanswered struct{ Cause error }

func (e *Unanswered) Error() string { return e.Cause.Error() }
func (e *Unanswered) Unwrap() error { return e.Cause }

// Transport marks what http.Client.Do, or reading the body behind it, failed
// with as Unanswered, unless something answered that does not speak HTTP.
func Transport(err error) error {
	cause := err
	var of *url.Error // which calls itself a time-out of any cause
	if errors.As(err, &of) {
		cause = of.Err
	}
	var timeout interface{ Timeout() bool }
	var op *net.OpError
	var name *net.DNSError
	switch {
	case errors.As(cause, &timeout) && timeout.Timeout(),
		errors.As(cause, &op), errors.As(cause, &name),
		errors.Is(cause, io.EOF), errors.Is(cause, io.ErrUnexpectedEOF):
		return &Unanswered{err}
	}
	return err
}

// OfHTTP is what the end of a call over HTTP shows; ctx is its caller's.
func OfHTTP(ctx context.Context, err error) Evidence {
	var unanswered *Unanswered
	switch {
	case !errors.As(err, &unanswered):
		return Answered
	case ctx.Err() != nil:
		return None
	}
	return Gone
}

// OfRedis is what the end of a call to Redis shows; ctx is its caller's. There
// every error is one of Redis or of the way there.
func OfRedis(ctx context.Context, err error) Evidence {
	switch {
	case err == nil:
		return Answered
	case ctx.Err() != nil:
		return None
	}
	return Gone
}
