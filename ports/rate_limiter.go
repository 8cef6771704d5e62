package ports

import (
	"context"
	"time"

	"waybill/domain"
)

// RateLimiter counts requests against limits. One key of a limit is a Bucket.
// A request that was refused is not counted.
type RateLimiter interface {
	// Take counts one request against every bucket, or against none when any
	// of them is full: all in one atomic step.
	Take(ctx context.Context, buckets ...Bucket) (Allowance, error)
	// Peek tells what Take would answer and counts nothing; Remaining is what
	// is left without the request that was not taken.
	Peek(ctx context.Context, buckets ...Bucket) (Allowance, error)
	// GiveBack undoes one Take that admitted.
	GiveBack(ctx context.Context, buckets ...Bucket) error
}

// Bucket is one counter. Scope names the kind of limit ("key", "business",
// "address"), Name whose it is.
type Bucket struct {
	Scope string
	Name  string
	Limit domain.RateLimit
}

// Allowance is the answer of a limiter, told about the bucket that bites first.
type Allowance struct {
	Admitted   bool
	Scope      string
	Limit      domain.RateLimit
	Remaining  int           // requests left in that bucket now
	Reset      time.Duration // until its window ends
	RetryAfter time.Duration // when refused: until a request would be admitted
}
