package redis

import (
	"context"
	_ "embed" // the script
	"fmt"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"waybill/domain"
	"waybill/ports"
)

var _ ports.RateLimiter = (*Limiter)(nil)

const (
	// maxLimit and maxWindow keep every product below 2^53; see window.
	maxLimit  = domain.MaxRateLimit
	maxWindow = domain.MaxRateWindow
	minWindow = time.Millisecond

	prefix = "waybill:{limit}:"
)

// The commands of the script.
const (
	take     = "take"
	peek     = "peek"
	giveBack = "back"
)

//go:embed limiter.lua
var source string

var script = redis.NewScript(source)

// LimiterOptions changes a limiter for tests.
type LimiterOptions struct {
	// Now replaces the clock of Redis. Keys still expire by the clock of Redis.
	Now func() time.Time
}

// Limiter counts requests in Redis. Its only timeouts are those of the client and of the
// contexts it gets.
type Limiter struct {
	client  redis.Scripter
	now     func() time.Time
	observe func(b ports.Bucket, age time.Duration, count, previous int64)
}

// NewLimiter creates a limiter. Its client must not be configured to retry: a request would be
// counted twice.
func NewLimiter(client redis.Scripter, o LimiterOptions) *Limiter {
	return &Limiter{client: client, now: o.Now, observe: func(ports.Bucket, time.Duration, int64, int64) {}}
}

// Observe registers a function that is called for each bucket of each answer of Redis: the age
// of its window, and the counts of that window and the previous one. Call it before the limiter
// is used.
func (l *Limiter) Observe(observe func(b ports.Bucket, age time.Duration, count, previous int64)) {
	l.observe = observe
}

// Take counts one request against every bucket or against none. A bucket named twice is counted
// once. Besides the errors of Redis, it returns errors only for invalid limits: below 1 or
// above ten million, or a window that is not whole milliseconds or outside 1 ms to 24 h.
func (l *Limiter) Take(ctx context.Context, buckets ...ports.Bucket) (ports.Allowance, error) {
	if len(buckets) == 0 {
		return ports.Allowance{Admitted: true}, nil
	}
	found, err := l.run(ctx, take, buckets)
	if err != nil {
		return ports.Allowance{}, err
	}
	return answer(found, buckets, found[0] > 0, found[0]), nil
}

// Peek returns what Take would return, without counting.
func (l *Limiter) Peek(ctx context.Context, buckets ...ports.Bucket) (ports.Allowance, error) {
	if len(buckets) == 0 {
		return ports.Allowance{Admitted: true}, nil
	}
	found, err := l.run(ctx, peek, buckets)
	if err != nil {
		return ports.Allowance{}, err
	}
	return answer(found, buckets, found[0] > 0, 0), nil
}

// GiveBack takes one request off every bucket that has one.
func (l *Limiter) GiveBack(ctx context.Context, buckets ...ports.Bucket) error {
	if len(buckets) == 0 {
		return nil
	}
	_, err := l.run(ctx, giveBack, buckets)
	return err
}

// answer computes the allowance of a request that was admitted or not. counted is how many
// requests were counted after the state that the script returned.
func answer(found []int64, buckets []ports.Bucket, admitted bool, counted int64) (a ports.Allowance) {
	for i, b := range buckets {
		w := windowOf(found, i, b)
		w.count += counted
		of := allowance(b, w, found[1])
		switch {
		case admitted && (i == 0 || of.Remaining < a.Remaining):
			a = of
		case !admitted: // take the bucket that has room last
			if wait := millis(w.retryAfter(found[1], int64(b.Limit.Limit))); wait > a.RetryAfter {
				a, a.RetryAfter = of, wait
			}
		}
	}
	a.Admitted = admitted
	return a
}

func allowance(b ports.Bucket, w window, now int64) ports.Allowance {
	return ports.Allowance{
		Scope:     b.Scope,
		Limit:     b.Limit,
		Remaining: int(w.remaining(now, int64(b.Limit.Limit))),
		Reset:     millis(w.start + w.length - now),
	}
}

// run calls the script in one round trip. It returns whether there is room, the time, and three
// numbers for each bucket.
func (l *Limiter) run(ctx context.Context, what string, buckets []ports.Bucket) ([]int64, error) {
	keys := make([]string, len(buckets))
	args := make([]any, 2, 2+2*len(buckets))
	args[0], args[1] = what, l.time()
	for i, b := range buckets {
		if err := valid(b); err != nil {
			return nil, err
		}
		length := b.Limit.Window.Milliseconds()
		// The key contains the length: a bucket whose window is configured anew starts from
		// zero and mixes nothing.
		keys[i] = prefix + b.Scope + ":" + strconv.FormatInt(length, 10) + ":" + b.Name
		args = append(args, b.Limit.Limit, length)
	}
	found, err := script.Run(ctx, l.client, keys, args...).Int64Slice()
	if err != nil {
		return nil, fmt.Errorf("count requests in Redis: %w", err)
	}
	if len(found) != 2+3*len(buckets) {
		return nil, fmt.Errorf("%d numbers for %d buckets came back", len(found), len(buckets))
	}
	l.report(what, buckets, found)
	return found, nil
}

// report passes the counts of each bucket on.
func (l *Limiter) report(what string, buckets []ports.Bucket, found []int64) {
	for i, b := range buckets {
		w := windowOf(found, i, b)
		switch what {
		case take:
			w.count += found[0]
		case giveBack:
			w = w.less()
		}
		l.observe(b, millis(found[1]-w.start), w.count, w.previous)
	}
}

// time returns the time argument of the script: the milliseconds of a test's clock, or empty
// for the clock of Redis.
func (l *Limiter) time() string {
	if l.now == nil {
		return ""
	}
	return strconv.FormatInt(l.now().UnixMilli(), 10)
}

func valid(b ports.Bucket) error {
	if l := b.Limit; l.Limit < 1 || l.Limit > maxLimit || l.Window < minWindow || l.Window > maxWindow || l.Window%time.Millisecond != 0 {
		return fmt.Errorf("%s: a limit of %d in %v cannot be counted", b.Scope, l.Limit, l.Window)
	}
	return nil
}
