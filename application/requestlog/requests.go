package requestlog

import (
	"context"
	"time"

	"waybill/domain"
	"waybill/ports"
)

// Requests reads the request log.
type Requests struct {
	storage ports.Storage
	clock   ports.Clock
}

// NewRequests makes the use cases.
func NewRequests(s ports.Storage, c ports.Clock) *Requests { return &Requests{storage: s, clock: c} }

// List is a page of the requests of a business, newest first, and one more.
// domain.ErrNotFound without a business.
func (r *Requests) List(ctx context.Context, business domain.ID, f domain.RequestFilter, p domain.PageRequest) ([]domain.RequestRecord,
	error) {
	if business == "" {
		return nil, domain.ErrNotFound
	}
	f.BusinessID = business
	return r.storage.Read().Requests.List(ctx, f, p)
}

// ListAll is List over all businesses, for the platform's own operations.
func (r *Requests) ListAll(ctx context.Context, f domain.RequestFilter, p domain.PageRequest) ([]domain.RequestRecord, error) {
	return r.storage.Read().Requests.List(ctx, f, p)
}

// Get is one request of a business. Another's is domain.ErrNotFound.
func (r *Requests) Get(ctx context.Context, business, id domain.ID) (domain.RequestRecord, error) {
	if business == "" {
		return domain.RequestRecord{}, domain.ErrNotFound
	}
	return r.storage.Read().Requests.Get(ctx, business, id)
}

// Usage sums up what a business did. domain.ErrNotFound without a business.
func (r *Requests) Usage(ctx context.Context, q domain.UsageQuery) ([]domain.Usage, error) {
	if q.BusinessID == "" {
		return nil, domain.ErrNotFound
	}
	return r.storage.Read().Requests.Usage(ctx, q)
}

// lately is the time in which a key counts as being used.
const lately = 24 * time.Hour

// RoutesOfKey is which routes a key of a business called in the last 24 hours, the
// one that it called most first.
func (r *Requests) RoutesOfKey(ctx context.Context, business, key domain.ID) ([]domain.Usage, error) {
	return r.Usage(ctx, r.last(lately, domain.UsageQuery{BusinessID: business, KeyID: key, ByRoute: true}))
}

// RoutesOfKeys is RoutesOfKey for all keys of an application in an environment.
func (r *Requests) RoutesOfKeys(ctx context.Context, business, application domain.ID, e domain.Environment) (map[domain.ID][]domain.Usage,
	error) {
	sums, err := r.Usage(ctx, r.last(lately, domain.UsageQuery{BusinessID: business, ApplicationID: application, Environment: e, ByKey: true,
		ByRoute: true}))
	if err != nil {
		return nil, err
	}
	of := map[domain.ID][]domain.Usage{}
	for _, u := range sums {
		of[u.KeyID] = append(of[u.KeyID], u)
	}
	return of, nil
}

// BusiestMinutes is how many calls each key of a business made in its busiest minute
// of the last hour.
func (r *Requests) BusiestMinutes(ctx context.Context, q domain.UsageQuery) (map[domain.ID]domain.Usage, error) {
	q = r.last(time.Hour, q)
	q.Step, q.ByKey, q.ByRoute, q.ByResult = domain.UsageByMinute, true, false, false
	minutes, err := r.Usage(ctx, q)
	if err != nil {
		return nil, err
	}
	busiest := map[domain.ID]domain.Usage{}
	for _, u := range minutes {
		if u.Calls > busiest[u.KeyID].Calls {
			busiest[u.KeyID] = u
		}
	}
	return busiest, nil
}

// The hour in which errors rise has at least risingErrors, and they are so many times
// as large a share of its calls as in the day before.
const (
	risingErrors = 10
	risingTimes  = 2
)

// Rise compares the outcomes of the last hour's calls with those of the day before it.
type Rise struct {
	Errors, Calls             int64
	ErrorsBefore, CallsBefore int64
}

// Rising reports whether errors are rising.
func (r Rise) Rising() bool {
	return r.Errors >= risingErrors && r.Errors*max(r.CallsBefore, 1) >= risingTimes*r.ErrorsBefore*r.Calls
}

// ErrorsOf tells how errors of a business develop in live. Those of the sandbox are
// sought there, and forced.
func (r *Requests) ErrorsOf(ctx context.Context, business domain.ID) (rise Rise, err error) {
	hour := r.last(time.Hour, domain.UsageQuery{BusinessID: business, Environment: domain.Live, ByResult: true})
	before := hour
	before.From, before.Until = hour.From.Add(-lately), hour.From
	for _, of := range []struct {
		q             domain.UsageQuery
		errors, calls *int64
	}{{hour, &rise.Errors, &rise.Calls}, {before, &rise.ErrorsBefore, &rise.CallsBefore}} {
		sums, err := r.Usage(ctx, of.q)
		if err != nil {
			return Rise{}, err
		}
		for _, u := range sums {
			*of.calls += u.Calls
			if u.Failed() {
				*of.errors += u.Calls
			}
		}
	}
	return rise, nil
}

// last makes a query one of the time until now.
func (r *Requests) last(d time.Duration, q domain.UsageQuery) domain.UsageQuery {
	q.Until = r.clock.Now().Truncate(time.Minute).Add(time.Minute)
	q.From = q.Until.Add(-d)
	return q
}
