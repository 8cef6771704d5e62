package guarded

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"waybill/adapters/upstream"
	"waybill/domain"
	"waybill/ports"
)

var _ ports.RateLimiter = (*Limiter)(nil)

const (
	timeout = 30 * time.Millisecond
	// payWithin is how long the shared limiter is owed something at most while it answers.
	payWithin = time.Second
	// closeWithin is how long the end of the process waits until that is told.
	closeWithin = time.Second
	// openingCalls is how many failures in a row open the breaker.
	openingCalls = 5
)

// Shared is the limiter that processes share.
type Shared interface {
	ports.RateLimiter
	// Tell makes told hear what each answer says of a bucket: how old its window
	// is, and how many requests it and the one before it count.
	Tell(told func(b ports.Bucket, age time.Duration, count, previous int64))
	// Add counts requests that were admitted without it, as many as fit: of the n of
	// a debt those that no earlier call has counted, answered or not.
	Add(ctx context.Context, b ports.Bucket, n int, debt uint64) error
}

// Local is the limiter of the process.
type Local interface {
	ports.RateLimiter
	// TakeAmple counts one request where every bucket has ample room by what the
	// shared limiter told a moment ago, and reports whether it did, of which buckets the
	// shared limiter is due to be told what it is owed, and which others have just begun to owe.
	TakeAmple(buckets ...ports.Bucket) (a ports.Allowance, due, begun []ports.Bucket, counted bool)
	// GiveBackOwed takes one request off buckets that all owe one which the shared limiter
	// is not being told of, and reports whether it did.
	GiveBackOwed(buckets ...ports.Bucket) bool
	// Remember makes a bucket go on from what the shared limiter told of it.
	Remember(b ports.Bucket, age time.Duration, count, previous int64)
	// Owed is how many requests of a bucket were counted here alone. Until they are
	// settled they are one debt, whose name no other has.
	Owed(b ports.Bucket) (n int, debt uint64)
	// Settle says that the shared limiter counts so many of them by now.
	Settle(b ports.Bucket, n int)
}

// Limiter asks one limiter and falls back on another.
type Limiter struct {
	shared    Shared
	local     Local
	breaker   *upstream.Breaker
	fallbacks prometheus.Counter
	log       *slog.Logger
	cause     atomic.Pointer[error] // the last failure, for the log

	mu       sync.Mutex
	settling map[ports.Bucket]*payment
	owing    map[ports.Bucket]bool // of which it is told when payWithin is over
}

// payment tells the shared limiter what it is owed for a bucket.
type payment struct {
	over chan struct{}
	told bool // to be read when it is over
}

// New guards the limiter that processes share with one that cannot fail. It
// registers waybill_rate_limiter_fallbacks_total, the calls that the local one
// answered, and logs when they begin and when they end.
func New(shared Shared, local Local, r prometheus.Registerer, log *slog.Logger) *Limiter {
	shared.Tell(local.Remember)
	l := &Limiter{shared: shared, local: local, log: log, settling: map[ports.Bucket]*payment{}, owing: map[ports.Bucket]bool{},
		fallbacks: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "waybill_rate_limiter_fallbacks_total", Help: "Calls that the process's own rate limiter answered because Redis was slow or gone.",
		})}
	r.MustRegister(l.fallbacks)
	l.cause.Store(new(error))
	l.breaker = upstream.NewRedisBreaker(l.tell)
	return l
}

// Open opens connections by a few calls, and logs a shared limiter that is gone before a
// customer waits for it.
func (l *Limiter) Open(ctx context.Context) {
	for range openingCalls {
		_, _ = l.Peek(ctx, ports.Bucket{Scope: "start", Limit: domain.RateLimit{Limit: 1, Window: time.Second}})
	}
}

// Take counts a request: here where there is ample room, else there, and here if that
// fails. The only errors are those of the local limiter.
func (l *Limiter) Take(ctx context.Context, buckets ...ports.Bucket) (a ports.Allowance, err error) {
	a, due, begun, counted := l.local.TakeAmple(buckets...)
	if counted {
		l.payBeside(due)
		l.payLater(begun)
		return a, nil
	}
	if l.ask(ctx, buckets, func(ctx context.Context) (err error) {
		a, err = l.shared.Take(ctx, buckets...)
		return err
	}) {
		return a, nil
	}
	return l.local.Take(ctx, buckets...)
}

// Close tells the shared limiter what it is owed, when no more requests come.
func (l *Limiter) Close() {
	l.mu.Lock()
	owing := slices.Collect(maps.Keys(l.owing))
	owing = slices.AppendSeq(owing, maps.Keys(l.settling)) // what was counted meanwhile is not part of a payment
	l.mu.Unlock()
	ctx := context.Background()
	bounded, cancel := context.WithTimeout(ctx, closeWithin)
	defer cancel()
	var all sync.WaitGroup
	for _, b := range owing {
		all.Go(func() {
			for told := true; told && bounded.Err() == nil; {
				if told = l.settle(ctx, bounded, b); told {
					owed, _ := l.local.Owed(b)
					told = owed > 0
				}
			}
		})
	}
	all.Wait()
}

// Peek tells what Take would answer.
func (l *Limiter) Peek(ctx context.Context, buckets ...ports.Bucket) (a ports.Allowance, err error) {
	if l.ask(ctx, buckets, func(ctx context.Context) (err error) {
		a, err = l.shared.Peek(ctx, buckets...)
		return err
	}) {
		return a, nil
	}
	return l.local.Peek(ctx, buckets...)
}

// GiveBack undoes a Take where one would be counted now.
func (l *Limiter) GiveBack(ctx context.Context, buckets ...ports.Bucket) error {
	if l.local.GiveBackOwed(buckets...) || l.ask(ctx, buckets, func(ctx context.Context) error { return l.shared.GiveBack(ctx, buckets...) }) {
		return nil
	}
	return l.local.GiveBack(ctx, buckets...)
}

// ask reports whether the shared limiter answered in time, after it was told what
// it is owed.
func (l *Limiter) ask(ctx context.Context, buckets []ports.Bucket, call func(ctx context.Context) error) bool {
	bounded, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	for _, b := range buckets {
		if !l.settle(ctx, bounded, b) {
			l.fallbacks.Inc()
			return false
		}
	}
	if !l.try(ctx, bounded, call) {
		l.fallbacks.Inc()
		return false
	}
	return true
}

// settle tells the shared limiter what it is owed for a bucket: one request does,
// the others wait for it. It reports whether that was told. What is counted ahead
// meanwhile may be owed: where it had to be told too, there would be more each time.
func (l *Limiter) settle(ctx, bounded context.Context, b ports.Bucket) bool {
	for {
		if owed, _ := l.local.Owed(b); owed == 0 {
			return true
		}
		mine, before := l.turn(b)
		if mine != nil {
			return l.pay(ctx, bounded, b, mine)
		}
		select {
		case <-before.over:
			if before.told {
				return true
			}
		case <-bounded.Done():
			return false
		}
	}
}

// pay reports whether the shared limiter was told. One that does not answer may
// have counted all the same: the debt keeps its name then, and is counted once.
func (l *Limiter) pay(ctx, bounded context.Context, b ports.Bucket, p *payment) bool {
	defer l.end(b, p)
	owed, debt := l.local.Owed(b)
	if owed == 0 {
		p.told = true // by the request before
		return true
	}
	p.told = l.try(ctx, bounded, func(ctx context.Context) error { return l.shared.Add(ctx, b, owed, debt) })
	if p.told {
		l.local.Settle(b, owed)
		if more, _ := l.local.Owed(b); more > 0 { // was counted meanwhile
			l.payLater([]ports.Bucket{b})
		}
	}
	return p.told
}

// payBeside tells the shared limiter what it is owed for buckets while requests go on and
// end, whose contexts are therefore not used.
func (l *Limiter) payBeside(buckets []ports.Bucket) {
	for _, b := range buckets {
		mine, _ := l.turn(b)
		if mine == nil {
			continue // another request sees to it
		}
		go func() {
			ctx := context.Background()
			bounded, cancel := context.WithTimeout(ctx, timeout)
			defer cancel()
			l.pay(ctx, bounded, b, mine)
		}()
	}
}

// payLater tells the shared limiter what it is owed for buckets that have begun to owe, once
// for all that is owed until then.
func (l *Limiter) payLater(buckets []ports.Bucket) {
	if len(buckets) == 0 {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	var fresh []ports.Bucket // others are told soon
	for _, b := range buckets {
		if !l.owing[b] {
			l.owing[b] = true
			fresh = append(fresh, b)
		}
	}
	if len(fresh) == 0 {
		return
	}
	time.AfterFunc(payWithin, func() {
		l.mu.Lock()
		for _, b := range fresh {
			delete(l.owing, b)
		}
		l.mu.Unlock()
		l.payBeside(fresh)
	})
}

// turn is a payment that the caller is to make, or the one that another request makes.
func (l *Limiter) turn(b ports.Bucket) (mine, before *payment) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if before = l.settling[b]; before == nil {
		mine = &payment{over: make(chan struct{})}
		l.settling[b] = mine
	}
	return mine, before
}

func (l *Limiter) end(b ports.Bucket, p *payment) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.settling, b)
	close(p.over)
}

// try reports whether the shared limiter answered before bounded, which is of ctx,
// ended.
func (l *Limiter) try(ctx, bounded context.Context, call func(ctx context.Context) error) bool {
	err := l.breaker.Do(upstream.Call{}, func() (upstream.Evidence, error) {
		err := call(bounded)
		evidence := upstream.OfRedis(ctx, err)
		if evidence == upstream.Gone {
			l.cause.Store(&err)
		}
		return evidence, err
	})
	return err == nil
}

// tell logs the beginning and the end of an outage.
func (l *Limiter) tell(open bool) {
	if open {
		l.log.Warn("rate limits are counted in this process until Redis answers again", "error", *l.cause.Load())
		return
	}
	l.log.Info("rate limits are counted in Redis again")
}
