package redis

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"waybill/adapters/circuitbreaker"
	"waybill/domain"
	"waybill/ports"
)

var _ ports.RateLimiter = (*GuardedLimiter)(nil)

const (
	timeout = 30 * time.Millisecond
	// openingCalls is how many failures in a row open the breaker.
	openingCalls = 5
)

// SharedLimiter is the limiter that processes share.
type SharedLimiter interface {
	ports.RateLimiter
	// Tell makes told hear what each answer says of a bucket: how old its window
	// is, and how many requests it and the one before it count.
	Tell(told func(b ports.Bucket, age time.Duration, count, previous int64))
}

// LocalLimiter is the limiter of the process.
type LocalLimiter interface {
	ports.RateLimiter
	// Remember makes a bucket go on from what the shared limiter told of it.
	Remember(b ports.Bucket, age time.Duration, count, previous int64)
}

// GuardedLimiter asks one limiter and falls back on another.
type GuardedLimiter struct {
	shared    SharedLimiter
	local     LocalLimiter
	breaker   *circuitbreaker.Breaker
	fallbacks prometheus.Counter
	log       *slog.Logger
	cause     atomic.Pointer[error] // the last failure, for the log
}

// New guards the limiter that processes share with one that cannot fail. It
// registers waybill_rate_limiter_fallbacks_total, the calls that the local one
// answered, and logs when they begin and when they end.
func NewGuardedLimiter(shared SharedLimiter, local LocalLimiter, r prometheus.Registerer, log *slog.Logger) *GuardedLimiter {
	shared.Tell(local.Remember)
	l := &GuardedLimiter{shared: shared, local: local, log: log,
		fallbacks: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "waybill_rate_limiter_fallbacks_total", Help: "Calls that the process's own rate limiter answered because Redis was slow or gone.",
		})}
	r.MustRegister(l.fallbacks)
	l.cause.Store(new(error))
	l.breaker = circuitbreaker.NewRedisBreaker(l.tell)
	return l
}

// Open opens connections by a few calls, and logs a shared limiter that is gone before a
// customer waits for it.
func (l *GuardedLimiter) Open(ctx context.Context) {
	for range openingCalls {
		_, _ = l.Peek(ctx, ports.Bucket{Scope: "start", Limit: domain.RateLimit{Limit: 1, Window: time.Second}})
	}
}

// Take counts a request there, and here if that fails. The only errors are those of the local
// limiter.
func (l *GuardedLimiter) Take(ctx context.Context, buckets ...ports.Bucket) (a ports.Allowance, err error) {
	if l.ask(ctx, func(ctx context.Context) (err error) {
		a, err = l.shared.Take(ctx, buckets...)
		return err
	}) {
		return a, nil
	}
	return l.local.Take(ctx, buckets...)
}

// Peek tells what Take would answer.
func (l *GuardedLimiter) Peek(ctx context.Context, buckets ...ports.Bucket) (a ports.Allowance, err error) {
	if l.ask(ctx, func(ctx context.Context) (err error) {
		a, err = l.shared.Peek(ctx, buckets...)
		return err
	}) {
		return a, nil
	}
	return l.local.Peek(ctx, buckets...)
}

// GiveBack undoes a Take where one would be counted now.
func (l *GuardedLimiter) GiveBack(ctx context.Context, buckets ...ports.Bucket) error {
	if l.ask(ctx, func(ctx context.Context) error { return l.shared.GiveBack(ctx, buckets...) }) {
		return nil
	}
	return l.local.GiveBack(ctx, buckets...)
}

// ask reports whether the shared limiter answered in time.
func (l *GuardedLimiter) ask(ctx context.Context, call func(ctx context.Context) error) bool {
	bounded, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	err := l.breaker.Do(circuitbreaker.Call{}, func() (circuitbreaker.Evidence, error) {
		err := call(bounded)
		evidence := circuitbreaker.OfRedis(ctx, err)
		if evidence == circuitbreaker.Gone {
			l.cause.Store(&err)
		}
		return evidence, err
	})
	if err != nil {
		l.fallbacks.Inc()
	}
	return err == nil
}

// tell logs the beginning and the end of an outage.
func (l *GuardedLimiter) tell(open bool) {
	if open {
		l.log.Warn("rate limits are counted in this process until Redis answers again", "error", *l.cause.Load())
		return
	}
	l.log.Info("rate limits are counted in Redis again")
}
