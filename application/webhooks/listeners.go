package webhooks

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	"waybill/application/idempotency"
	"waybill/domain"
	"waybill/ports"
)

const (
	// fetchMost is how many webhooks a listener gets at a time.
	fetchMost = 16
	// lookEvery is the interval at which a waiting listener's due webhooks are read without a
	// wake-up: for retries, and for commits of other processes.
	lookEvery = time.Second
	// maxWaits limits how many listeners of an application and environment wait at a time in this
	// process: as many as it may have.
	maxWaits = domain.MaxWebhookEndpoints
	// lookTimeout limits one read.
	lookTimeout = 5 * time.Second
)

// Listeners are endpoints without a URL. A program fetches the due webhooks of one and reports the
// results. Only the sandbox has them.
//
// A fetched webhook stays due until its result is reported, and the next fetch returns it again. So
// a program that dies loses nothing, and one that reports its results with each fetch gets nothing
// twice.
type Listeners struct {
	storage   ports.Storage
	outbox    ports.WebhookOutbox
	gate      *idempotency.Gate
	sealer    ports.Sealer
	clock     ports.Clock
	ids       ports.Identifiers
	schedules Schedules

	mu    sync.Mutex
	waits map[domain.ID]*wait
	of    map[domain.Tenant]int // number of waiting listeners
	some  chan struct{}         // capacity one: a listener has begun to wait
	moves uint64                // number of beginnings and ends of waits so far
}

// wait is a waiting listener.
type wait struct {
	displaced chan struct{} // closed when a later fetch takes the place
	woken     chan struct{} // capacity one: something may be due
}

// NewListeners returns the use cases.
func NewListeners(s ports.Storage, o ports.WebhookOutbox, g *idempotency.Gate, sealer ports.Sealer,
	c ports.Clock, ids ports.Identifiers, schedules Schedules,
) *Listeners {
	return &Listeners{storage: s, outbox: o, gate: g, sealer: sealer, clock: c, ids: ids, schedules: schedules, waits: map[domain.ID]*wait{},
		of: map[domain.Tenant]int{}, some: make(chan struct{}, 1)}
}

// Get returns a listener of the application, or NOT_FOUND.
func (l *Listeners) Get(ctx context.Context, t domain.Tenant, id domain.ID) (domain.WebhookEndpoint, error) {
	return onlyListener(l.storage.Read().Webhooks.Endpoint(ctx, t, id))
}

// Create adds a listener, which lives until it has not fetched for domain.ListenerLife. All
// listeners of the application share one secret. It takes a place among the endpoints, or returns
// WEBHOOK_ENDPOINT_LIMIT.
func (l *Listeners) Create(ctx context.Context, req idempotency.Request, form func() (eventTypes []string, err error),
	answer func(e domain.WebhookEndpoint, secret string) domain.Answer,
) (idempotency.Result, error) {
	return confidential(l.sealer, req)(l.gate.Once(ctx, req, func(context.Context) (idempotency.Attempt, error) {
		types, err := form()
		if err != nil {
			return nil, err
		}
		return func(ctx context.Context, key domain.KeyRecord) (domain.Answer, error) {
			return l.gate.InTx(ctx, req.Tenant, key, func(ctx context.Context, tx ports.Stores) (domain.Answer, error) {
				now := l.clock.Now()
				e := domain.WebhookEndpoint{
					ID: l.ids.ID(domain.PrefixWebhookEndpoint), Tenant: req.Tenant, EventTypes: types,
					Enabled: true, Listener: true, CreatedAt: now, UpdatedAt: now,
				}
				secret, err := listenerSecret(l.sealer, req.Tenant)
				if err != nil {
					return domain.Answer{}, err
				}
				stored, shown, err := insertEndpoint(ctx, tx, l.sealer, e, secret)
				if err != nil {
					return domain.Answer{}, err
				}
				return sealAnswer(l.sealer, req, answer(stored, shown))
			})
		}, nil
	}))
}

// Delete ends a listener and answers with its last state.
func (l *Listeners) Delete(ctx context.Context, req idempotency.Request, id domain.ID,
	answer func(domain.WebhookEndpoint) domain.Answer) (idempotency.Result, error) {
	return l.gate.Once(ctx, req, func(context.Context) (idempotency.Attempt, error) {
		return deletion(func(ctx context.Context, key domain.KeyRecord) (domain.Answer, error) {
			return l.gate.InTx(ctx, req.Tenant, key, func(ctx context.Context, tx ports.Stores) (domain.Answer, error) {
				e, err := onlyListener(tx.Webhooks.LockEndpoint(ctx, req.Tenant, id))
				if err != nil {
					return domain.Answer{}, err
				}
				return answer(e), tx.Webhooks.DeleteEndpoint(ctx, req.Tenant, id)
			})
		}), nil
	})
}

// ListenerResult is the result of a fetched webhook.
type ListenerResult struct {
	DeliveryID domain.ID
	Attempt    int // number of the attempt; 0: not given
	Result     domain.WebhookResult
}

// Report renews the listener's lease and records results. It skips a result of what is not due (any
// more), since it was reported before.
func (l *Listeners) Report(ctx context.Context, t domain.Tenant, id domain.ID, results []ListenerResult) (domain.WebhookEndpoint, error) {
	e, err := l.outbox.Renew(ctx, id, id.Hex(), domain.ListenerLife)
	if err != nil {
		return e, gone(err)
	}
	var outcomes []ports.WebhookOutcome
	told := map[domain.ID]bool{}
	for _, r := range results {
		d, err := l.storage.Read().Webhooks.Delivery(ctx, t, r.DeliveryID)
		now := l.clock.Now()
		switch {
		case errors.Is(err, domain.ErrNotFound):
			continue
		case err != nil:
			return e, err
		case told[d.ID] || d.EndpointID != id || d.Status != domain.WebhookPending || d.DueAt.After(now) || r.Attempt != 0 &&
			r.Attempt != d.Attempts+1:
			continue
		}
		told[d.ID] = true
		r.Result.StartedAt = domain.Millis(now.Add(-r.Result.Duration))
		jitter := rand.Float64() //nolint:gosec // spreads retries
		a := d.Record(l.ids.ID(domain.PrefixWebhookAttempt), r.Result, l.schedules[t.Environment], false, jitter, now)
		outcomes = append(outcomes, ports.WebhookOutcome{Delivery: d, Attempt: a})
	}
	if len(outcomes) == 0 {
		return e, nil
	}
	// There is no circuit: a developer restarts the receiver and wants to see it work at once.
	return e, gone(l.outbox.Record(ctx, id, id.Hex(), outcomes, domain.WebhookHealth{}))
}

// FetchedWebhook is a webhook to forward.
type FetchedWebhook struct {
	domain.WebhookDelivery
	Header map[string]string
	Body   []byte
}

// Await returns what is due, at most fetchMost, as soon as something is. It returns nothing when
// ctx ends, or another call for the listener takes its place. While it waits it reads the storage
// once a second, and holds nothing of it.
func (l *Listeners) Await(ctx context.Context, e domain.WebhookEndpoint) ([]FetchedWebhook, error) {
	mine, leave, err := l.enter(e)
	if err != nil {
		return nil, err
	}
	defer leave()
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	for {
		due, err := l.look(ctx, e)
		if err != nil || len(due) > 0 {
			return due, err
		}
		select {
		case <-ctx.Done():
			return nil, nil
		case <-mine.displaced:
			return nil, nil
		case <-mine.woken:
		case <-look.C:
		}
	}
}

// Awaited returns true as soon as a listener waits, and false when ctx ends. It has one caller at a
// time.
func (l *Listeners) Awaited(ctx context.Context) bool {
	for {
		l.mu.Lock()
		waits := len(l.waits)
		l.mu.Unlock()
		if waits > 0 {
			return ctx.Err() == nil
		}
		select {
		case <-ctx.Done():
			return false
		case <-l.some:
		}
	}
}

// Unawaited returns when no listener has waited for the given time, or at most twice as long, or
// ctx ends.
func (l *Listeners) Unawaited(ctx context.Context, lasting time.Duration) {
	for before := uint64(0); ; {
		l.mu.Lock()
		moves, waits := l.moves, len(l.waits)
		l.mu.Unlock()
		if waits == 0 && moves == before {
			return
		}
		before = moves
		select {
		case <-ctx.Done():
			return
		case <-time.After(lasting):
		}
	}
}

// Notify makes the waiting listeners among these endpoints read at once. It is a
// ports.FanoutListener.
func (l *Listeners) Notify(endpoints []domain.ID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, id := range endpoints {
		if waits := l.waits[id]; waits != nil {
			waits.wake()
		}
	}
}

func (w *wait) wake() {
	select {
	case w.woken <- struct{}{}:
	default: // it will read already
	}
}

// look reads and signs what is due. The end of the wait does not interrupt a read.
func (l *Listeners) look(ctx context.Context, e domain.WebhookEndpoint) ([]FetchedWebhook, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lookTimeout)
	defer cancel()
	now := l.clock.Now()
	due, err := l.outbox.Due(ctx, e.ID, now, fetchMost)
	if err != nil || len(due) == 0 {
		return nil, err
	}
	secrets, err := OpenSecrets(l.sealer, e, now)
	if err != nil {
		return nil, err
	}
	fetched := make([]FetchedWebhook, 0, len(due))
	for _, webhook := range due {
		m := Message(domain.WebhookEndpoint{}, secrets, webhook, now)
		fetched = append(fetched, FetchedWebhook{WebhookDelivery: webhook.WebhookDelivery, Header: m.Header, Body: m.Body})
	}
	return fetched, nil
}

// enter takes the listener's only place among the waiting ones.
func (l *Listeners) enter(e domain.WebhookEndpoint) (mine *wait, leave func(), err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	before := l.waits[e.ID]
	switch {
	case before != nil:
		close(before.displaced)
	case l.of[e.Tenant] >= maxWaits: // some of them belong to deleted listeners
		return nil, nil, domain.TooManyListeners(maxWaits)
	default:
		l.of[e.Tenant]++
	}
	mine = &wait{displaced: make(chan struct{}), woken: make(chan struct{}, 1)}
	l.waits[e.ID] = mine
	l.moves++
	select {
	case l.some <- struct{}{}:
	default: // it was notified already
	}
	return mine, func() { l.leave(e, mine) }, nil
}

func (l *Listeners) leave(e domain.WebhookEndpoint, mine *wait) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.waits[e.ID] != mine {
		return // another call has the place
	}
	l.moves++
	delete(l.waits, e.ID)
	if l.of[e.Tenant]--; l.of[e.Tenant] == 0 {
		delete(l.of, e.Tenant)
	}
}

func onlyListener(e domain.WebhookEndpoint, err error) (domain.WebhookEndpoint, error) {
	if err == nil && !e.Listener {
		err = domain.ErrNotFound
	}
	return e, err
}

// gone returns the error for a listener that has ended.
func gone(err error) error {
	if errors.Is(err, ports.ErrEndpointLost) {
		return domain.ErrNotFound
	}
	return err
}
