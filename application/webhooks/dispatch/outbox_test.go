package dispatch_test

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"waybill/domain"
	"waybill/ports"
)

// box is an outbox in memory. Its leases go by the time of the bubble, which is
// the database's.
type box struct {
	ports.WebhookOutbox // nil: what dispatch does not use
	*boxState
	// around goes around every call: what it returns is the answer, whether the
	// call was made or not. nil: all is well.
	around func(ctx context.Context, call string, make func() error) error
}

type boxState struct {
	mu        sync.Mutex
	endpoints map[domain.ID]*boxed
	rows      map[domain.ID]*domain.WebhookDelivery
	attempts  map[domain.ID][]domain.WebhookAttempt
	published []domain.DisabledReason // by the events about disabled endpoints
	calls     map[string]int
	paused    map[domain.Environment]bool
	read      int // rows that Due gave
	widest    int // that it was asked for at a time
}

// boxed is an endpoint, its lease and the rows that are pending.
type boxed struct {
	domain.WebhookEndpoint
	gone    bool
	token   string
	until   time.Time
	pending []*domain.WebhookDelivery // by due time and ID
}

func newBox() *box {
	return &box{boxState: &boxState{
		endpoints: map[domain.ID]*boxed{}, rows: map[domain.ID]*domain.WebhookDelivery{},
		attempts: map[domain.ID][]domain.WebhookAttempt{}, calls: map[string]int{}, paused: map[domain.Environment]bool{},
	}}
}

// view is the same outbox as another process sees it.
func (b *box) view(around func(ctx context.Context, call string, make func() error) error) *box {
	return &box{boxState: b.boxState, around: around}
}

func endpointID(n int) domain.ID { return domain.ID(fmt.Sprintf("whe_%032x", n)) }

func rowID(endpoint, n int) domain.ID {
	return domain.ID(fmt.Sprintf("whd_%016x%016x", endpoint, n))
}

// addEndpoint makes one in the sandbox, whose retries are few.
func (b *box) addEndpoint(n int) domain.ID {
	b.mu.Lock()
	defer b.mu.Unlock()
	id := endpointID(n)
	b.endpoints[id] = &boxed{WebhookEndpoint: domain.WebhookEndpoint{
		ID: id, Tenant: domain.Tenant{Environment: domain.Sandbox}, URL: fmt.Sprintf("https://%d.example.com", n), Enabled: true,
		Secrets: []domain.SigningSecret{{Sealed: []byte("secret")}},
	}}
	return id
}

// add makes an event of a delivery due now; delivery 0 is none.
func (b *box) add(endpoint domain.ID, delivery, sequence int) domain.ID {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := len(b.rows)
	now := domain.Millis(time.Now())
	d := &domain.WebhookDelivery{
		ID: rowID(0, n), EndpointID: endpoint, EventID: domain.ID(fmt.Sprintf("evt_%032x", n)), Sequence: sequence,
		Status: domain.WebhookPending, DueAt: &now, Trigger: domain.TriggerSchedule, CreatedAt: now,
	}
	if delivery != 0 {
		d.DeliveryID = domain.ID(fmt.Sprintf("dlv_%032x", delivery))
	}
	b.rows[d.ID] = d
	b.insert(d)
	return d.ID
}

// addEvents makes an event of each of n deliveries due now.
func (b *box) addEvents(endpoint domain.ID, n int) {
	for i := range n {
		b.add(endpoint, i+1, 1)
	}
}

func inOrder(a, b *domain.WebhookDelivery) int {
	return cmp.Or(a.DueAt.Compare(*b.DueAt), strings.Compare(string(a.ID), string(b.ID)))
}

func (b *box) insert(d *domain.WebhookDelivery) {
	e := b.endpoints[d.EndpointID]
	at, _ := slices.BinarySearchFunc(e.pending, d, inOrder)
	e.pending = slices.Insert(e.pending, at, d)
}

func (b *box) remove(d *domain.WebhookDelivery) {
	if d.DueAt == nil {
		return
	}
	e := b.endpoints[d.EndpointID]
	if at, found := slices.BinarySearchFunc(e.pending, d, inOrder); found {
		e.pending = slices.Delete(e.pending, at, at+1)
	}
}

// change is what a use case does to an endpoint.
func (b *box) change(id domain.ID, change func(*boxed)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	e := b.endpoints[id]
	e.UpdatedAt = domain.Millis(time.Now())
	change(e)
	if e.gone {
		e.token = ""
	}
	if !e.Enabled || e.gone {
		b.hold(e)
	}
}

func (b *box) hold(e *boxed) {
	for _, d := range e.pending {
		d.Status, d.DueAt = domain.WebhookHeld, nil
	}
	e.pending = nil
}

func (b *box) row(id domain.ID) domain.WebhookDelivery {
	b.mu.Lock()
	defer b.mu.Unlock()
	return *b.rows[id]
}

func (b *box) endpoint(id domain.ID) boxed {
	b.mu.Lock()
	defer b.mu.Unlock()
	return *b.endpoints[id]
}

func (b *box) log(id domain.ID) []domain.WebhookAttempt {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.attempts[id])
}

func (b *box) count(call string) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.calls[call]
}

// recorded is how many attempts are in the log.
func (b *box) recorded() (n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, log := range b.attempts {
		n += len(log)
	}
	return n
}

// statuses counts the rows of each status.
func (b *box) statuses() map[domain.WebhookStatus]int {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := map[domain.WebhookStatus]int{}
	for _, d := range b.rows {
		n[d.Status]++
	}
	return n
}

// call makes one, as around wants it.
func (b *box) call(ctx context.Context, name string, run func() error) error {
	b.mu.Lock()
	b.calls[name]++
	around := b.around
	b.mu.Unlock()
	made := func() error {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		b.mu.Lock()
		defer b.mu.Unlock()
		return run()
	}
	if around == nil {
		return made()
	}
	return around(ctx, name, made)
}

// waits is nil where nothing of it will be due by then.
func (b *box) waits(e *boxed, now time.Time, ahead time.Duration) *ports.WaitingEndpoint {
	if e.gone || !e.Enabled || b.paused[e.Tenant.Environment] || len(e.pending) == 0 {
		return nil
	}
	from := *e.pending[0].DueAt
	if e.leased() && e.until.After(from) {
		from = e.until
	}
	if open := e.Health.OpenUntil; open != nil && open.After(from) {
		from = *open
	}
	if from.After(now.Add(ahead)) {
		return nil
	}
	at := now
	if from.After(at) {
		at = from
	}
	return &ports.WaitingEndpoint{ID: e.ID, From: from, Slow: e.Health.Slow(at)}
}

func (e *boxed) leased() bool { return e.token != "" && e.until.After(time.Now()) }

func (b *box) Waiting(ctx context.Context, now time.Time, ahead time.Duration, limit int) (waiting []ports.WaitingEndpoint, err error) {
	err = b.call(ctx, "Waiting", func() error {
		for _, e := range b.endpoints {
			if w := b.waits(e, now, ahead); w != nil {
				waiting = append(waiting, *w)
			}
		}
		byDue := func(x, y ports.WaitingEndpoint) int {
			return inOrder(b.endpoints[x.ID].pending[0], b.endpoints[y.ID].pending[0])
		}
		slices.SortFunc(waiting, byDue)
		turn, of := map[domain.ID]int{}, map[domain.Tenant]int{}
		for _, w := range waiting {
			owner := b.endpoints[w.ID].Tenant
			owner.ApplicationID = ""
			turn[w.ID] = of[owner]
			of[owner]++
		}
		slices.SortFunc(waiting, func(x, y ports.WaitingEndpoint) int {
			return cmp.Or(cmp.Compare(turn[x.ID], turn[y.ID]), byDue(x, y))
		})
		waiting = waiting[:min(len(waiting), limit)]
		return nil
	})
	return waiting, err
}

func (b *box) WaitingFor(ctx context.Context, id domain.ID, now time.Time, ahead time.Duration) (waiting *ports.WaitingEndpoint,
	err error) {
	err = b.call(ctx, "WaitingFor", func() error {
		waiting = b.waits(b.endpoints[id], now, ahead)
		return nil
	})
	return waiting, err
}

func (b *box) Lease(ctx context.Context, id domain.ID, token string, lasting time.Duration) (e domain.WebhookEndpoint, leased bool,
	err error) {
	err = b.call(ctx, "Lease", func() error {
		at := b.endpoints[id]
		if !at.gone && !b.paused[at.Tenant.Environment] && (!at.leased() || at.token == token) && (!at.Enabled || !at.Health.Open(time.Now())) {
			at.token, at.until, leased, e = token, time.Now().Add(lasting), true, at.WebhookEndpoint
		}
		return nil
	})
	return e, leased, err
}

func (b *box) owned(id domain.ID, token string) (*boxed, error) {
	if e := b.endpoints[id]; !e.gone && e.token == token {
		return e, nil
	}
	return nil, ports.ErrEndpointLost
}

func (b *box) Renew(ctx context.Context, id domain.ID, token string, lasting time.Duration) (e domain.WebhookEndpoint, err error) {
	err = b.call(ctx, "Renew", func() error {
		at, err := b.owned(id, token)
		if err == nil {
			at.until, e = time.Now().Add(lasting), at.WebhookEndpoint
		}
		return err
	})
	return e, err
}

func (b *box) Release(ctx context.Context, id domain.ID, token string) error {
	return b.call(ctx, "Release", func() error {
		if e, err := b.owned(id, token); err == nil {
			e.token = ""
		}
		return nil
	})
}

func (b *box) Due(ctx context.Context, id domain.ID, now time.Time, limit int,
	except ...domain.ID) (due []ports.OutgoingWebhook, err error) {
	err = b.call(ctx, "Due", func() error {
		for _, d := range b.endpoints[id].pending {
			if d.DueAt.After(now) || len(due) == limit {
				break
			}
			if slices.Contains(except, d.ID) {
				continue
			}
			due = append(due, ports.OutgoingWebhook{WebhookDelivery: *d, Payload: []byte(d.EventID)})
		}
		b.read += len(due)
		b.widest = max(b.widest, limit)
		return nil
	})
	return due, err
}

func (b *box) Record(ctx context.Context, id domain.ID, token string, of []ports.WebhookOutcome, health domain.WebhookHealth) error {
	return b.call(ctx, "Record", func() error {
		e, err := b.owned(id, token)
		if err != nil {
			return err
		}
		e.Health = health
		for _, o := range of {
			d := b.rows[o.Delivery.ID]
			b.remove(d)
			if d.Status == domain.WebhookPending || o.Delivery.Status == domain.WebhookSucceeded {
				d.Status, d.DueAt = o.Delivery.Status, o.Delivery.DueAt
			}
			d.Attempts, d.Used, d.Trigger, d.Back = o.Delivery.Attempts, o.Delivery.Used, domain.TriggerSchedule, ""
			if d.Status == domain.WebhookPending {
				b.insert(d)
			}
			if !slices.ContainsFunc(b.attempts[d.ID], func(a domain.WebhookAttempt) bool { return a.ID == o.Attempt.ID }) {
				b.attempts[d.ID] = append(b.attempts[d.ID], o.Attempt)
			}
		}
		return nil
	})
}

func (b *box) Disable(ctx context.Context, of domain.WebhookEndpoint, token string, _ domain.FeedEvent) error {
	return b.call(ctx, "Disable", func() error {
		e, err := b.owned(of.ID, token)
		if err != nil {
			return err
		}
		e.WebhookEndpoint = of
		b.hold(e)
		b.published = append(b.published, of.Disabled)
		return nil
	})
}

// pause is what people do.
func (b *box) pause(e domain.Environment, on bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.paused[e] = on
}

func (b *box) Pauses(ctx context.Context) (found []domain.SendingPause, err error) {
	err = b.call(ctx, "Pauses", func() error {
		for e, on := range b.paused {
			if on {
				found = append(found, domain.SendingPause{Environment: e})
			}
		}
		return nil
	})
	return found, err
}
