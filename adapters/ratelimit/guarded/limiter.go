package guarded

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/sony/gobreaker/v2"

	"waybill/ports"
)

var _ ports.RateLimiter = (*Limiter)(nil)

const (
	timeout = 30 * time.Millisecond

	breakerFailures = 5 // in a row
	breakerPause    = time.Second
)

// Limiter asks one limiter and falls back on another.
type Limiter struct {
	shared    ports.RateLimiter
	local     ports.RateLimiter
	breaker   *gobreaker.CircuitBreaker[struct{}]
	fallbacks prometheus.Counter
	log       *slog.Logger
	cause     atomic.Pointer[error] // the last failure, for the log
}

// New guards the limiter that processes share with one that cannot fail. It
// registers waybill_rate_limiter_fallbacks_total, the calls that the local one
// answered, and logs when they begin and when they end.
func New(shared, local ports.RateLimiter, r prometheus.Registerer, log *slog.Logger) *Limiter {
	l := &Limiter{shared: shared, local: local, log: log, fallbacks: prometheus.NewCounter(prometheus.CounterOpts{
		Name: "waybill_rate_limiter_fallbacks_total", Help: "Calls answered by the rate limiter of the process, because Redis was slow or gone.",
	})}
	r.MustRegister(l.fallbacks)
	l.cause.Store(new(error))
	l.breaker = gobreaker.NewCircuitBreaker[struct{}](gobreaker.Settings{
		Name:        "rate limiter",
		MaxRequests: 1,
		Timeout:     breakerPause,
		ReadyToTrip: func(c gobreaker.Counts) bool { return c.ConsecutiveFailures >= breakerFailures },
		IsExcluded: func(err error) bool {
			var gone *callerGoneError
			var beside interface{ Beside() } // another call fails for the same reason
			return errors.As(err, &gone) || errors.As(err, &beside)
		},
		OnStateChange: l.tell,
	})
	return l
}

// Take counts a request, here if not there. The only errors are those of the
// local limiter.
func (l *Limiter) Take(ctx context.Context, buckets ...ports.Bucket) (a ports.Allowance, err error) {
	if l.try(ctx, func(ctx context.Context) (err error) {
		a, err = l.shared.Take(ctx, buckets...)
		return err
	}) {
		return a, nil
	}
	return l.local.Take(ctx, buckets...)
}

// Peek tells what Take would answer.
func (l *Limiter) Peek(ctx context.Context, buckets ...ports.Bucket) (a ports.Allowance, err error) {
	if l.try(ctx, func(ctx context.Context) (err error) {
		a, err = l.shared.Peek(ctx, buckets...)
		return err
	}) {
		return a, nil
	}
	return l.local.Peek(ctx, buckets...)
}

// GiveBack undoes a Take where one would be counted now.
func (l *Limiter) GiveBack(ctx context.Context, buckets ...ports.Bucket) error {
	if l.try(ctx, func(ctx context.Context) error { return l.shared.GiveBack(ctx, buckets...) }) {
		return nil
	}
	return l.local.GiveBack(ctx, buckets...)
}

// try reports whether the shared limiter answered in time.
func (l *Limiter) try(ctx context.Context, call func(ctx context.Context) error) bool {
	_, err := l.breaker.Execute(func() (struct{}, error) {
		bounded, cancel := context.WithTimeout(ctx, timeout)
		defer cancel()
		err := call(bounded)
		switch {
		case err == nil:
			return struct{}{}, nil
		case ctx.Err() != nil:
			return struct{}{}, &callerGoneError{err}
		}
		l.cause.Store(&err)
		return struct{}{}, err
	})
	if err != nil {
		l.fallbacks.Inc()
	}
	return err == nil
}

// callerGoneError tells the breaker that a failure says nothing about the
// shared limiter.
type callerGoneError struct{ cause error }

func (e *callerGoneError) Error() string { return "the caller went away: " + e.cause.Error() }
func (e *callerGoneError) Unwrap() error { return e.cause }

// tell logs the beginning and the end of an outage; probes that fail in between
// are no news.
func (l *Limiter) tell(_ string, from, to gobreaker.State) {
	switch {
	case from == gobreaker.StateClosed:
		l.log.Warn("rate limits are counted in this process until Redis answers again", "error", *l.cause.Load())
	case to == gobreaker.StateClosed:
		l.log.Info("rate limits are counted in Redis again")
	}
}
