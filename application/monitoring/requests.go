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

// MostLooked is how many records a page over all businesses looks at, and MostFailures how
// many failures a tally counts. MostKinds is how many kinds of failures it tells.
const (
	MostLooked   = 50_000
	MostFailures = 200_000
	MostKinds    = 100
)

// Look is a page over all businesses, newest first, and one more. It looks at MostLooked
// records at most; further is the last of these where the page is not full and the log goes on.
func (r *Requests) Look(ctx context.Context, f domain.RequestFilter, p domain.PageRequest) (found []domain.RequestRecord, further domain.ID,
	err error) {
	return r.storage.Read().Requests.Look(ctx, f, p, MostLooked)
}

// Tally is how failures of a time are spread. It counts records, so that each number is
// the length of a list.
type Tally struct {
	From, Until time.Time
	Cut         bool // there are more than MostFailures: From is later than asked for
	Sums        []domain.FailureSum
	More        bool // kinds than there are sums
}

// Failures counts what failed lately over all businesses, or of one.
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

// BusinessNames are the names of the businesses that records name.
func (r *Requests) BusinessNames(ctx context.Context, ids []domain.ID) (map[domain.ID]string, error) {
	slices.Sort(ids)
	return r.storage.Read().Platform.BusinessNames(ctx, slices.DeleteFunc(slices.Compact(ids), func(id domain.ID) bool { return id == "" }))
}

// OfAny is one request of any business, or of none.
func (r *Requests) OfAny(ctx context.Context, id domain.ID) (domain.RequestRecord, error) {
	return r.storage.Read().Requests.Get(ctx, "", id)
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
