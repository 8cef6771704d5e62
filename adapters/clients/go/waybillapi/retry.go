package waybillapi

import (
	"context"
	"crypto/rand"
	"errors"
	"math"
	mathrand "math/rand/v2"
	"time"
)

// Retries says how often a call is sent and how long it waits between.
//
// Sent again are: 429, 503 QUOTE_UNAVAILABLE and 409 IDEMPOTENCY_IN_PROGRESS,
// which were refused before anything was done, after what Retry-After says; and,
// for reads and for writes with an idempotency key, a lost answer, 500, 502, any
// other 503, and 504. The same request goes out each time, with the same key.
type Retries struct {
	// Tries is the most a call is sent, the first time included.
	Tries int
	// Pause comes before the second try, doubled before each further one, and
	// up to a half shorter by chance. A longer Retry-After counts in its place.
	Pause time.Duration
	// MaxPause is the longest a pause may be. An answer whose Retry-After is
	// longer is returned at once.
	MaxPause time.Duration
}

// DefaultRetries are 4 tries, half a second apart at first, and no pause beyond
// a minute.
func DefaultRetries() Retries {
	return Retries{Tries: 4, Pause: 500 * time.Millisecond, MaxPause: time.Minute}
}

// NoRetries has every call sent once.
func NoRetries() Retries { return Retries{Tries: 1} }

// pause waits before the next try; false, at once, where there is none: the tries
// are used up, or the pause is longer than it may be or than ctx lasts.
func (r Retries) pause(ctx context.Context, tried int, cause error) bool {
	if tried >= r.Tries {
		return false
	}
	wait := min(r.MaxPause, time.Duration(float64(r.Pause)*math.Pow(2, float64(tried-1))))
	if wait > 2 {
		wait -= mathrand.N(wait / 2) //nolint:gosec // spreads retries
	}
	var failure *Error
	if errors.As(cause, &failure) {
		wait = max(wait, failure.RetryAfter)
	}
	if end, ok := ctx.Deadline(); wait > r.MaxPause || ok && time.Until(end) < wait {
		return false
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// NewIdempotencyKey makes a key by chance. Keep it with what is to be created,
// and use it again when you do not know whether the create was done.
func NewIdempotencyKey() string { return rand.Text() }
