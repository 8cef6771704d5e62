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

// SharedLimiter is the limiter that all processes share.
type SharedLimiter interface {
	ports.RateLimiter
	// Observe registers a function that is called for each bucket of each answer: the age of
	// its window, and the counts of that window and the previous one.
	Observe(observe func(b ports.Bucket, age time.Duration, count, previous int64))
}

// LocalLimiter is the limiter of the process.
type LocalLimiter interface {
	ports.RateLimiter
	// Remember continues a bucket from the counts of the shared limiter.
	Remember(b ports.Bucket, age time.Duration, count, previous int64)
}

// GuardedLimiter asks the shared limiter and falls back on the local one.
type GuardedLimiter struct {
	shared    SharedLimiter
	local     LocalLimiter
	breaker   *circuitbreaker.Breaker
	fallbacks prometheus.Counter
	log       *slog.Logger
	cause     atomic.Pointer[error] // the last failure, for the log
}

// NewGuardedLimiter guards the shared limiter with a local one that cannot fail. It registers
// waybill_rate_limiter_fallbacks_total, which counts the calls to the local one, and logs when
// an outage begins and ends.
func NewGuardedLimiter(shared SharedLimiter, local LocalLimiter, r prometheus.Registerer, log *slog.Logger) *GuardedLimiter {
	shared.Observe(local.Remember)
	l := &GuardedLimiter{shared: shared, local: local, log: log,
		fallbacks: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "waybill_rate_limiter_fallbacks_total", Help: "Calls that the process's own rate limiter answered because Redis was slow or gone.",
		})}
	r.MustRegister(l.fallbacks)
	l.cause.Store(new(error))
	l.breaker = circuitbreaker.NewRedisBreaker(l.logChange)
	return l
}

// Open opens connections with a few calls. It logs a missing shared limiter before a customer
// has to wait for it.
func (l *GuardedLimiter) Open(ctx context.Context) {
	for range openingCalls {
		_, _ = l.Peek(ctx, ports.Bucket{Scope: "start", Limit: domain.RateLimit{Limit: 1, Window: time.Second}})
	}
}

// Take counts a request in the shared limiter, or locally if that fails. It returns only errors
// of the local limiter.
func (l *GuardedLimiter) Take(ctx context.Context, buckets ...ports.Bucket) (a ports.Allowance, err error) {
	if l.ask(ctx, func(ctx context.Context) (err error) {
		a, err = l.shared.Take(ctx, buckets...)
		return err
	}) {
		return a, nil
	}
	return l.local.Take(ctx, buckets...)
}

// Peek returns what Take would return, without counting.
func (l *GuardedLimiter) Peek(ctx context.Context, buckets ...ports.Bucket) (a ports.Allowance, err error) {
	if l.ask(ctx, func(ctx context.Context) (err error) {
		a, err = l.shared.Peek(ctx, buckets...)
		return err
	}) {
		return a, nil
	}
	return l.local.Peek(ctx, buckets...)
}

// GiveBack undoes a Take, in the limiter that Take would use now.
func (l *GuardedLimiter) GiveBack(ctx context.Context, buckets ...ports.Bucket) error {
	if l.ask(ctx, func(ctx context.Context) error { return l.shared.GiveBack(ctx, buckets...) }) {
		return nil
	}
	return l.local.GiveBack(ctx, buckets...)
}

// ask calls the shared limiter and reports whether it answered in time.
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

// logChange logs the beginning and the end of an outage.
func (l *GuardedLimiter) logChange(open bool) {
	if open {
		l.log.Warn("rate limits are counted in this process until Redis answers again", "error", *l.cause.Load())
		return
	}
	l.log.Info("rate limits are counted in Redis again")
}
