package ports

import (
	"context"
	"time"

	"waybill/domain"
)

// RateLimiter counts requests against limits. Each counter is a Bucket. A refused request is not
// counted.
//
// A window slides: what a bucket admitted in the window before counts in proportion to the part of
// it that is still within the last Limit.Window (adapters/memory/limiter_window.go has the
// arithmetic). A bucket that is named twice in a call counts once. A limit outside 1 to
// 10,000,000, or a window outside 1 ms to 24 h, is an error. The memory of unused buckets is freed.
type RateLimiter interface {
	// Take counts one request against every bucket, or against none when any of them is full, in
	// one atomic step.
	Take(ctx context.Context, buckets ...Bucket) (Allowance, error)
	// Peek returns what Take would return and counts nothing. Remaining includes the request that
	// was not taken.
	Peek(ctx context.Context, buckets ...Bucket) (Allowance, error)
	// GiveBack undoes one admitted Take.
	GiveBack(ctx context.Context, buckets ...Bucket) error
}

// Bucket is one counter. Scope names the kind of limit ("key", "business", "address"), and Name its
// owner.
type Bucket struct {
	Scope string
	Name  string
	Limit domain.RateLimit
}

// Allowance is the result of a limiter, for the most restrictive bucket.
type Allowance struct {
	Admitted   bool
	Scope      string
	Limit      domain.RateLimit
	Remaining  int           // requests left in that bucket now
	Reset      time.Duration // until its window ends
	RetryAfter time.Duration // when refused: until a request would be admitted
}
