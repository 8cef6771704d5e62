package circuitbreaker

import (
	"context"
	"errors"
	"io"
	"net"
	"net/url"
)

// Unanswered marks an error of a connection: no response came over it.
type Unanswered struct{ Cause error }

func (e *Unanswered) Error() string { return e.Cause.Error() }
func (e *Unanswered) Unwrap() error { return e.Cause }

// Transport marks an error of http.Client.Do, or of reading the response body, as Unanswered.
// It does not mark the error when something responded that does not speak HTTP.
func Transport(err error) error {
	cause := err
	var of *url.Error // it calls itself a timeout whatever the cause
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

// OfHTTP returns what the end of an HTTP call shows. ctx is its caller's.
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

// OfRedis returns what the end of a call to Redis shows. ctx is its caller's. Every error comes
// from Redis or from the way there.
func OfRedis(ctx context.Context, err error) Evidence {
	switch {
	case err == nil:
		return Answered
	case ctx.Err() != nil:
		return None
	}
	return Gone
}
