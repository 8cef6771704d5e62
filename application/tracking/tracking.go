package tracking

import (
	"context"
	"errors"
	"time"

	"waybill/domain"
	"waybill/ports"
)

// misses is how often a client address may ask for what does not exist. With 60
// bits of a reference, a hundred addresses that guess all the time find one of a
// million deliveries once in two thousand years.
var misses = domain.RateLimit{Limit: 100, Window: 10 * time.Minute}

// Tracking finds deliveries for whoever has the reference.
type Tracking struct {
	storage  ports.Storage
	limiter  ports.RateLimiter
	familiar *familiar
	lanes    *lanes
}

// New makes the use case.
func New(s ports.Storage, l ports.RateLimiter) *Tracking {
	return &Tracking{storage: s, limiter: l, familiar: newFamiliar(mostFamiliar), lanes: newLanes()}
}

// Find shows the delivery with a reference to a client address. One that does
// not exist and a text that is no reference are both domain.ErrNotFound, after
// the same work; an address with too many of them gets a KindLimited error, and
// so does one that asks for too much at once. A limiter that fails keeps nobody out.
func (t *Tracking) Find(ctx context.Context, address, reference string) (domain.Tracking, error) {
	r := domain.Reference(reference)
	if t.familiar.knows(r) {
		return t.storage.Read().Tracking.Find(ctx, r)
	}
	leave, err := t.lanes.enter(ctx, address)
	if err != nil {
		return domain.Tracking{}, err
	}
	defer leave()
	bucket := ports.Bucket{Scope: "tracking", Name: address, Limit: misses}
	if allowance, err := t.limiter.Peek(ctx, bucket); err == nil && !allowance.Admitted {
		return domain.Tracking{}, tooMany(allowance)
	}
	found, err := t.storage.Read().Tracking.Find(ctx, r)
	switch {
	case err == nil:
		t.familiar.add(r)
	case errors.Is(err, domain.ErrNotFound):
		// Also where the client has left: who does not wait for the answers to
		// guesses pays for them all the same.
		if allowance, failed := t.limiter.Take(context.WithoutCancel(ctx), bucket); failed == nil && !allowance.Admitted {
			return domain.Tracking{}, tooMany(allowance)
		}
	}
	return found, err
}

func tooMany(a ports.Allowance) *domain.Error {
	return &domain.Error{
		Kind: domain.KindLimited, Code: domain.CodeRateLimitExceeded,
		Message:    "Too many references that do not exist were asked for from this address.",
		RetryAfter: max(time.Second, (a.RetryAfter + time.Second - 1).Truncate(time.Second)),
	}
}
