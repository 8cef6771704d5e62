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
	// Tries is the most a call is sent, the first time included; Unlimited for as
	// often as Within and Decide let it.
	Tries int
	// Pause comes before the second try, doubled before each further one, and
	// up to a half shorter by chance. A longer Retry-After counts in its place.
	Pause time.Duration
	// MaxPause is the longest a pause grows.
	MaxPause time.Duration
	// MaxRetryAfter is the longest Retry-After that is waited for; 0 means
	// MaxPause. An answer with a longer one is returned at once.
	MaxRetryAfter time.Duration
	// Within is how long after the first try the last one may begin; 0 for no end.
	Within time.Duration
	// Decide, where it is set, has the last word: it is called before each pause
	// that the bounds above allow, and its answer is whether the call is sent again.
	// A program that shows what it waits for returns Retry.Safe. Calls of several
	// goroutines may call it at a time.
	Decide func(Retry) bool
}

// Unlimited as Retries.Tries means that no try is the last one by its number.
const Unlimited = math.MaxInt

// Retry is a try that failed and may be followed by another one.
type Retry struct {
	Operation string        // as the method of Client is called; of Do the method and path
	Tried     int           // how often the call was sent so far
	Wait      time.Duration // the pause that comes next
	Cause     error         // an *Error, or one that is ErrNoAnswer
	// Safe is whether another try cannot do twice what is to be done once, and may
	// succeed. A true from Decide where it is false is at your own risk.
	Safe bool
}

// DefaultRetries are 4 tries, half a second apart at first, and no pause beyond
// a minute.
func DefaultRetries() Retries {
	return Retries{Tries: 4, Pause: 500 * time.Millisecond, MaxPause: time.Minute}
}

// NoRetries has every call sent once.
func NoRetries() Retries { return Retries{Tries: 1} }

// pause waits before the next try; false, at once, where there is none: the tries
// are used up, the pause is longer than it may be or than ctx lasts, or the call is
// not to be sent again.
func (r Retries) pause(ctx context.Context, begun time.Time, made Retry) bool {
	if made.Tried >= r.Tries {
		return false
	}
	wait := min(r.MaxPause, time.Duration(float64(r.Pause)*math.Pow(2, float64(min(made.Tried, maxDoublings)-1))))
	if wait > 2 {
		wait -= mathrand.N(wait / 2) //nolint:gosec // spreads retries
	}
	var failure *Error
	if errors.As(made.Cause, &failure) {
		if failure.RetryAfter > max(r.MaxPause, r.MaxRetryAfter) {
			return false
		}
		wait = max(wait, failure.RetryAfter)
	}
	again := time.Now().Add(wait)
	if end, ok := ctx.Deadline(); ok && end.Before(again) || r.Within > 0 && again.Sub(begun) > r.Within {
		return false
	}
	made.Wait = wait
	if r.Decide == nil && !made.Safe || r.Decide != nil && !r.Decide(made) {
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

// maxDoublings of the pause keep it from overflowing.
const maxDoublings = 20

// NewIdempotencyKey makes a key by chance. Keep it with what is to be created,
// and use it again when you do not know whether the create was done.
func NewIdempotencyKey() string { return rand.Text() }
