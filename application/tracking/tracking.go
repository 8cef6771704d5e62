package tracking

import (
	"context"
	"errors"
	"time"

	"waybill/domain"
	"waybill/ports"
)

// misses is how often a client address may ask for what does not exist.
var misses = domain.RateLimit{Limit: 20, Window: 10 * time.Minute}

// Tracking finds deliveries for whoever has the reference.
type Tracking struct {
	storage  ports.Storage
	limiter  ports.RateLimiter
	familiar *familiar
}

// New makes the use case.
func New(s ports.Storage, l ports.RateLimiter) *Tracking {
	return &Tracking{storage: s, limiter: l, familiar: newFamiliar(mostFamiliar)}
}

// Find shows the delivery with a reference to a client address. One that does
// not exist and a text that is no reference are both domain.ErrNotFound, after
// the same work; an address with too many of them gets a KindLimited error. A
// limiter that fails keeps nobody out.
func (t *Tracking) Find(ctx context.Context, address, reference string) (domain.Tracking, error) {
	r := domain.Reference(reference)
	if t.familiar.knows(r) {
		return t.storage.Read().Tracking.Find(ctx, r)
	}
	bucket := ports.Bucket{Scope: "tracking", Name: address, Limit: misses}
	allowance, err := t.limiter.Take(ctx, bucket)
	counted := err == nil
	if counted && !allowance.Admitted {
		return domain.Tracking{}, tooMany(allowance)
	}
	found, err := t.storage.Read().Tracking.Find(ctx, r)
	if err == nil {
		t.familiar.add(r)
	}
	if counted && !errors.Is(err, domain.ErrNotFound) {
		// Also where the storage failed: that is not the client's. What cannot be
		// given back is forgotten with the window.
		_ = t.limiter.GiveBack(context.WithoutCancel(ctx), bucket)
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
