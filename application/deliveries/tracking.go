package deliveries

import (
	"context"
	"errors"
	"time"

	"waybill/application/lookups"
	"waybill/domain"
	"waybill/ports"
)

// misses limits how many unknown references a client address may look up before batching. It spares
// the database. The 60 bits of a reference are the defence against guessing.
var misses = domain.RateLimit{Limit: 100, Window: time.Minute}

// maxDoubtful limits how many references are looked up together. At a thousand a second in all, a
// guesser finds one of a million deliveries once in 36 years.
const maxDoubtful = 100

// Tracking finds deliveries by their reference.
type Tracking struct {
	storage  ports.Storage
	limiter  ports.RateLimiter
	cache    *referenceCache
	doubtful *lookups.Lookups[domain.Reference] // from addresses with too many misses
}

// NewTracking returns the use case.
func NewTracking(s ports.Storage, l ports.RateLimiter) *Tracking {
	return &Tracking{
		storage: s, limiter: l, cache: newReferenceCache(maxCachedReferences),
		doubtful: lookups.New(maxDoubtful, func(ctx context.Context, of []domain.Reference) ([]domain.Reference, error) {
			return s.Read().Tracking.Known(ctx, of)
		}),
	}
}

// Find returns the delivery of a reference for a client address. An unknown reference and a
// malformed one take the same work. Both return domain.ErrNotFound, or a KindLimited error where
// the address had too many of them. A delivery that exists is always found. While the limiter
// fails, no request is refused.
func (t *Tracking) Find(ctx context.Context, address, reference string) (domain.Tracking, error) {
	r := domain.Reference(reference)
	if t.cache.contains(r) {
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
		// This includes failures of the storage, which are no misses of the client. A failed refund
		// costs the client one miss.
		_ = t.limiter.GiveBack(context.WithoutCancel(ctx), bucket)
	}
	if err == nil {
		t.cache.add(r)
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
