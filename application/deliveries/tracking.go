package deliveries

import (
	"context"
	"errors"
	"time"

	"waybill/application/lookups"
	"waybill/domain"
	"waybill/ports"
)

// misses is how many unknown references of a client address are looked up at once.
// It spares the database; the 60 bits of a reference are the defence against
// guessing.
var misses = domain.RateLimit{Limit: 100, Window: time.Minute}

// mostDoubtful is how many references are looked up together: a thousand a second in
// all, with which a guesser finds one of a million deliveries once in 36 years.
const mostDoubtful = 100

// Tracking finds deliveries by their reference.
type Tracking struct {
	storage  ports.Storage
	limiter  ports.RateLimiter
	familiar *familiar
	doubtful *lookups.Lookups[domain.Reference] // from addresses that missed too often
}

// New makes the use case.
func NewTracking(s ports.Storage, l ports.RateLimiter) *Tracking {
	return &Tracking{
		storage: s, limiter: l, familiar: newFamiliar(mostFamiliar),
		doubtful: lookups.New(mostDoubtful, func(ctx context.Context, of []domain.Reference) ([]domain.Reference, error) {
			return s.Read().Tracking.Known(ctx, of)
		}),
	}
}

// Find shows the delivery with a reference to a client address. One that does not
// exist and a text that is no reference are both domain.ErrNotFound, after the same
// work, or a KindLimited error where the address had too many of them. One that
// exists is found at any time. While the limiter fails no request is refused.
func (t *Tracking) Find(ctx context.Context, address, reference string) (domain.Tracking, error) {
	r := domain.Reference(reference)
	if t.familiar.knows(r) {
		return t.storage.Read().Tracking.Find(ctx, r)
	}
	bucket := ports.Bucket{Scope: "tracking", Name: address, Limit: misses}
	allowance, err := t.limiter.Take(ctx, bucket)
	charged := err == nil && allowance.Admitted
	if err == nil && !allowance.Admitted {
		switch known, err := t.doubtful.Exists(ctx, r); {
		case errors.Is(err, lookups.ErrCrowded):
			return domain.Tracking{}, domain.ServiceUnavailable(err)
		case err != nil:
			return domain.Tracking{}, err
		case !known:
			return domain.Tracking{}, tooMany(allowance)
		}
	}
	found, err := t.storage.Read().Tracking.Find(ctx, r)
	if charged && !errors.Is(err, domain.ErrNotFound) {
		// Also where the storage failed: that is no miss of the client. A failed
		// refund costs it one miss.
		_ = t.limiter.GiveBack(context.WithoutCancel(ctx), bucket)
	}
	if err == nil {
		t.familiar.add(r)
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
