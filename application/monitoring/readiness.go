package monitoring

import (
	"context"
	"slices"
	"time"

	"waybill/domain"
	"waybill/ports"
)

// Readiness shows what programs have proven.
type Readiness struct {
	storage ports.Storage
	clock   ports.Clock
}

// NewReadiness returns the use cases.
func NewReadiness(s ports.Storage, c ports.Clock) *Readiness { return &Readiness{storage: s, clock: c} }

// The limits of one check.
const (
	lookBack     = 7 * 24 * time.Hour
	fewRecords   = 20
	fewWebhooks  = 50
	leastPause   = time.Second // after a 429: a Retry-After is never shorter
	longestPause = 10 * time.Minute
)

// API describes the routes in the request log.
type API struct {
	ReadFeed string
	Scopes   func(route string) []domain.Scope // required by a route
}

// Of returns the steps that an application of a business has shown; the other steps are still
// missing. For each usable key that was used in the last week, unused lists the scopes that it did
// not use.
func (r *Readiness) Of(ctx context.Context, business, application domain.ID, api API) (
	shown map[domain.ReadinessStep]domain.Readied, unused []UnusedScopes, err error) {
	read := r.storage.Read()
	app, err := read.Tenancy.Application(ctx, application)
	if err != nil {
		return nil, nil, err
	}
	if business == "" || app.BusinessID != business {
		return nil, nil, domain.ErrNotFound
	}
	l := look{Readers: read, clock: r.clock, app: app, api: api}
	kept, err := read.Readiness.OfApplication(ctx, application)
	if err != nil {
		return nil, nil, err
	}
	shown = map[domain.ReadinessStep]domain.Readied{}
	for _, k := range kept {
		shown[k.Step] = k
	}
	if err := l.readUsage(ctx); err != nil {
		return nil, nil, err
	}
	var seen []domain.Readied
	for step, find := range map[domain.ReadinessStep]func(context.Context) (domain.Readied, error){
		domain.ReadyReplayed: l.replayed, domain.ReadyWaited: l.waited, domain.ReadyVerified: l.verified,
		domain.ReadyFeed: l.feed,
	} {
		if _, there := shown[step]; there {
			continue
		}
		found, err := find(ctx)
		if err != nil {
			return nil, nil, err
		}
		if !found.At.IsZero() {
			found.ApplicationID, found.Step = application, step
			shown[step], seen = found, append(seen, found)
		}
	}
	fewest, unused, err := l.scopes(ctx)
	if err != nil {
		return nil, nil, err
	}
	if fewest {
		shown[domain.ReadyScopes] = domain.Readied{ApplicationID: application, Step: domain.ReadyScopes, At: r.clock.Now()}
	}
	return shown, unused, r.keep(ctx, seen)
}

// keep stores steps that were seen now. Where the database cannot, the next check sees them again.
func (r *Readiness) keep(ctx context.Context, seen []domain.Readied) error {
	if len(seen) == 0 {
		return nil
	}
	err := r.storage.InTx(ctx, func(ctx context.Context, tx ports.Stores) error {
		for _, s := range seen {
			if err := tx.Readiness.Insert(ctx, s); err != nil {
				return err
			}
		}
		return nil
	})
	if ports.StorageUnavailable(err) {
		return nil
	}
	return err
}

// UnusedScopes lists the scopes that a key did not use.
type UnusedScopes struct {
	Key    domain.APIKey
	Scopes []domain.Scope
}

// look is one check of what an application did.
type look struct {
	ports.Readers
	clock ports.Clock
	app   domain.Application
	api   API
	usage []domain.Usage // of the last week, by key, route and result
}

func (l *look) readUsage(ctx context.Context) (err error) {
	until := l.clock.Now().Truncate(time.Minute).Add(time.Minute)
	l.usage, err = l.Requests.Usage(ctx, domain.UsageQuery{BusinessID: l.app.BusinessID, ApplicationID: l.app.ID, From: until.Add(-lookBack),
		Until: until, ByKey: true, ByRoute: true, ByResult: true})
	return err
}

// calls lists the last requests of the application that match a filter.
func (l *look) calls(ctx context.Context, f domain.RequestFilter, limit int) ([]domain.RequestRecord, error) {
	f.BusinessID, f.ApplicationID = l.app.BusinessID, l.app.ID
	found, err := l.Requests.List(ctx, f, domain.PageRequest{Limit: limit})
	return found[:min(len(found), limit)], err
}

// replayed finds a request that got the answer of an earlier one with the same key. For many calls
// the log may have none, and then the API key is the source.
func (l *look) replayed(ctx context.Context) (domain.Readied, error) {
	for _, u := range l.usage {
		if u.Replayed == 0 {
			continue
		}
		last, err := l.calls(ctx, domain.RequestFilter{KeyID: u.KeyID, Route: u.Route, Failed: new(u.Failed())}, fewRecords)
		if err != nil {
			return domain.Readied{}, err
		}
		for _, c := range last {
			if c.Replayed {
				return domain.Readied{At: c.ID.MadeAt(), Source: c.ID}, nil
			}
		}
		return domain.Readied{At: u.Last, Source: u.KeyID}, nil
	}
	return domain.Readied{}, nil
}

// waited finds a call that succeeded after a 429 and a pause without any call of its key.
func (l *look) waited(ctx context.Context) (domain.Readied, error) {
	for _, u := range l.usage {
		if u.Code != domain.CodeRateLimitExceeded {
			continue
		}
		refused, err := l.calls(ctx, domain.RequestFilter{KeyID: u.KeyID, Code: u.Code}, fewRecords)
		if err != nil {
			return domain.Readied{}, err
		}
		for _, c := range refused {
			at := c.ID.MadeAt()
			within := func(from, until time.Duration) domain.RequestFilter {
				return domain.RequestFilter{KeyID: c.KeyID, CreatedAfter: new(at.Add(from)), CreatedBefore: new(at.Add(until))}
			}
			hasty, err := l.calls(ctx, within(time.Millisecond, leastPause), 1)
			if err != nil {
				return domain.Readied{}, err
			}
			if len(hasty) > 0 {
				continue
			}
			f := within(leastPause, longestPause)
			f.Failed = new(false)
			served, err := l.calls(ctx, f, 1)
			if err != nil {
				return domain.Readied{}, err
			}
			if len(served) > 0 {
				return domain.Readied{At: served[0].ID.MadeAt(), Source: c.ID}, nil
			}
		}
	}
	return domain.Readied{}, nil
}

// sent passes the last webhooks of each endpoint of the application to each.
func (l *look) sent(ctx context.Context, each func(domain.WebhookDelivery)) error {
	for _, e := range []domain.Environment{domain.Sandbox, domain.Live} {
		t := domain.Tenant{BusinessID: l.app.BusinessID, ApplicationID: l.app.ID, Environment: e}
		endpoints, err := l.Webhooks.Endpoints(ctx, t, domain.PageRequest{Limit: domain.MaxWebhookEndpoints})
		if err != nil {
			return err
		}
		for _, endpoint := range endpoints {
			sent, err := l.Webhooks.Deliveries(ctx, t, endpoint.ID, domain.WebhookDeliveryFilter{}, domain.PageRequest{Limit: fewWebhooks})
			if err != nil {
				return err
			}
			for _, w := range sent {
				each(w)
			}
		}
	}
	return nil
}

func (l *look) verified(ctx context.Context) (found domain.Readied, err error) {
	err = l.sent(ctx, func(w domain.WebhookDelivery) {
		if w.Status == domain.WebhookSucceeded && w.CreatedAt.After(found.At) {
			found = domain.Readied{At: w.CreatedAt, Source: w.ID}
		}
	})
	return found, err
}

// feed finds a read of the feed after a webhook had not arrived at once.
func (l *look) feed(ctx context.Context) (found domain.Readied, err error) {
	var outage time.Time // the first of those that are read
	err = l.sent(ctx, func(w domain.WebhookDelivery) {
		missed := w.Attempts > 1 || w.Status == domain.WebhookFailed || w.Status == domain.WebhookHeld
		if missed && (outage.IsZero() || w.CreatedAt.Before(outage)) {
			outage = w.CreatedAt
		}
	})
	if err != nil || outage.IsZero() {
		return found, err
	}
	for _, u := range l.usage {
		if u.Route == l.api.ReadFeed && !u.Failed() && u.Last.After(outage) {
			return domain.Readied{At: u.Last, Source: u.KeyID}, nil
		}
	}
	return found, nil
}

// scopes reports whether each usable key has used all its scopes within a week. It checks live
// keys, where there are any. A key that was not used does not count, and at least one must count.
func (l *look) scopes(ctx context.Context) (fewest bool, unused []UnusedScopes, err error) {
	keys, err := l.Tenancy.APIKeys(ctx, l.app.ID, l.clock.Now())
	if err != nil {
		return false, nil, err
	}
	now := l.clock.Now()
	usable := func(e domain.Environment) []domain.APIKey {
		return slices.DeleteFunc(slices.Clone(keys), func(k domain.APIKey) bool {
			return k.Environment != e || k.Past(now)
		})
	}
	judged := usable(domain.Live)
	if len(judged) == 0 {
		judged = usable(domain.Sandbox)
	}
	for _, k := range judged {
		var used []domain.Scope
		for _, u := range l.usage {
			if u.KeyID == k.ID {
				used = append(used, l.api.Scopes(u.Route)...)
			}
		}
		if len(used) == 0 {
			continue
		}
		fewest = true
		spare := slices.DeleteFunc(slices.Clone(k.Scopes), func(s domain.Scope) bool { return slices.Contains(used, s) })
		if len(spare) > 0 {
			unused = append(unused, UnusedScopes{k, spare})
		}
	}
	return fewest && len(unused) == 0, unused, nil
}
