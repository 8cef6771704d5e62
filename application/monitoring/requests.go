package monitoring

import (
	"context"
	"slices"
	"time"

	"waybill/domain"
	"waybill/ports"
)

// Requests reads the request log.
type Requests struct {
	storage ports.Storage
	clock   ports.Clock
}

// NewRequests returns the use cases.
func NewRequests(s ports.Storage, c ports.Clock) *Requests { return &Requests{storage: s, clock: c} }

// List returns a page of the requests of a business, newest first, and one more. Without a business
// it returns domain.ErrNotFound.
func (r *Requests) List(ctx context.Context, business domain.ID, f domain.RequestFilter, p domain.PageRequest) ([]domain.RequestRecord,
	error) {
	if business == "" {
		return nil, domain.ErrNotFound
	}
	f.BusinessID = business
	return r.storage.Read().Requests.List(ctx, f, p)
}

// ListAll lists requests of all businesses, for the platform's own operations.
func (r *Requests) ListAll(ctx context.Context, f domain.RequestFilter, p domain.PageRequest) ([]domain.RequestRecord, error) {
	return r.storage.Read().Requests.List(ctx, f, p)
}

// MostLooked limits the records that a page over all businesses reads, and MostFailures the
// failures that a tally counts. MostKinds limits its kinds of failures.
const (
	MostLooked   = 50_000
	MostFailures = 200_000
	MostKinds    = 100
)

// Look returns a page over all businesses, newest first, and one more. It reads at most MostLooked
// records. further is the last of these where the page is not full and the log has more.
func (r *Requests) Look(ctx context.Context, f domain.RequestFilter, p domain.PageRequest) (found []domain.RequestRecord, further domain.ID,
	err error) {
	return r.storage.Read().Requests.Look(ctx, f, p, MostLooked)
}

// Tally shows how the failures of a time are distributed. It counts records, so that each number is
// the length of a list.
type Tally struct {
	From, Until time.Time
	Cut         bool // there are more than MostFailures: From is later than requested
	Sums        []domain.FailureSum
	More        bool // there are more kinds than sums
}

// Failures counts recent failures of all businesses, or of one.
func (r *Requests) Failures(ctx context.Context, f domain.RequestFilter, lately time.Duration) (t Tally, err error) {
	t.Until = r.clock.Now()
	t.From = t.Until.Add(-lately)
	f.CreatedAfter, f.CreatedBefore = new(t.From), new(t.Until)
	t.Sums, t.From, err = r.storage.Read().Requests.Failures(ctx, f, MostFailures, MostKinds)
	t.Cut = t.From.After(*f.CreatedAfter)
	if t.More = len(t.Sums) > MostKinds; t.More {
		t.Sums = t.Sums[:MostKinds]
	}
	return t, err
}

// BusinessNames returns the names of the businesses in records.
func (r *Requests) BusinessNames(ctx context.Context, ids []domain.ID) (map[domain.ID]string, error) {
	slices.Sort(ids)
	return r.storage.Read().Platform.BusinessNames(ctx, slices.DeleteFunc(slices.Compact(ids), func(id domain.ID) bool { return id == "" }))
}

// OfAny returns one request of any business, or of none.
func (r *Requests) OfAny(ctx context.Context, id domain.ID) (domain.RequestRecord, error) {
	return r.storage.Read().Requests.Get(ctx, "", id)
}

// Get returns one request of a business, or domain.ErrNotFound for another's.
func (r *Requests) Get(ctx context.Context, business, id domain.ID) (domain.RequestRecord, error) {
	if business == "" {
		return domain.RequestRecord{}, domain.ErrNotFound
	}
	return r.storage.Read().Requests.Get(ctx, business, id)
}

// Usage sums up the calls of a business. Without a business it returns domain.ErrNotFound.
func (r *Requests) Usage(ctx context.Context, q domain.UsageQuery) ([]domain.Usage, error) {
	if q.BusinessID == "" {
		return nil, domain.ErrNotFound
	}
	return r.storage.Read().Requests.Usage(ctx, q)
}

// lately is the time in which a key counts as being used.
const lately = 24 * time.Hour

// RoutesOfKey lists the routes that a key of a business called in the last 24 hours, the most
// called one first.
func (r *Requests) RoutesOfKey(ctx context.Context, business, key domain.ID) ([]domain.Usage, error) {
	return r.Usage(ctx, r.last(lately, domain.UsageQuery{BusinessID: business, KeyID: key, ByRoute: true}))
}

// RoutesOfKeys returns RoutesOfKey for all keys of an application in an environment.
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

// BusiestMinutes returns the calls of each key of a business in its busiest minute of the last
// hour.
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

// Errors are rising when an hour has at least risingErrors, and their share of its calls is that
// many times as large as in the day before.
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

// ErrorsOf returns how errors of a business develop in live. Those of the sandbox are intended
// there.
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

// last makes a query cover the time until now.
func (r *Requests) last(d time.Duration, q domain.UsageQuery) domain.UsageQuery {
	q.Until = r.clock.Now().Truncate(time.Minute).Add(time.Minute)
	q.From = q.Until.Add(-d)
	return q
}
