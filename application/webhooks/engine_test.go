package webhooks_test

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"waybill/application/webhooks"
	"waybill/domain"
	"waybill/ports"
	"waybill/test/stage"
)

// The times of the engine, as its documents promise them.
const (
	leaseLasts   = 6 * time.Second
	sweepsEvery  = 100 * time.Millisecond
	attemptLasts = 15 * time.Second
	lingers      = 10 * time.Millisecond
)

// box is an outbox in memory. Its leases go by the time of the bubble, which is
// the database's.
type box struct {
	ports.WebhookOutbox // nil: what is not of the engine
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
		attempts: map[domain.ID][]domain.WebhookAttempt{}, calls: map[string]int{},
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

// plainSealer leaves secrets as they are. It fails to open all, or one.
type plainSealer struct {
	fails error
	lost  string
}

func (plainSealer) Derive(string) (secret [domain.SigningSecretBytes]byte, err error) {
	return secret, nil
}
func (plainSealer) Current([]byte) bool                         { return true }
func (plainSealer) Seal(_ string, plain []byte) ([]byte, error) { return plain, nil }
func (s plainSealer) Open(_ string, sealed []byte) ([]byte, error) {
	if s.lost != "" && s.lost == string(sealed) {
		return nil, errStorage
	}
	return sealed, s.fails
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

func (b *box) waits(e *boxed, now time.Time) bool {
	return !e.gone && e.Enabled && !e.leased() && !e.Health.Open(now) && len(e.pending) > 0 && !e.pending[0].DueAt.After(now)
}

func (e *boxed) leased() bool { return e.token != "" && e.until.After(time.Now()) }

func (b *box) Waiting(ctx context.Context, now time.Time, limit int) (waiting []ports.WaitingEndpoint, err error) {
	err = b.call(ctx, "Waiting", func() error {
		for _, e := range b.endpoints {
			if b.waits(e, now) {
				waiting = append(waiting, ports.WaitingEndpoint{ID: e.ID, Slow: e.Health.Slow(now)})
			}
		}
		slices.SortFunc(waiting, func(x, y ports.WaitingEndpoint) int {
			return inOrder(b.endpoints[x.ID].pending[0], b.endpoints[y.ID].pending[0])
		})
		waiting = waiting[:min(len(waiting), limit)]
		return nil
	})
	return waiting, err
}

func (b *box) WaitingFor(ctx context.Context, id domain.ID, now time.Time) (waiting *ports.WaitingEndpoint, err error) {
	err = b.call(ctx, "WaitingFor", func() error {
		if e := b.endpoints[id]; b.waits(e, now) {
			waiting = &ports.WaitingEndpoint{ID: id, Slow: e.Health.Slow(now)}
		}
		return nil
	})
	return waiting, err
}

func (b *box) Lease(ctx context.Context, id domain.ID, token string, lasting time.Duration) (e domain.WebhookEndpoint, leased bool, err error) {
	err = b.call(ctx, "Lease", func() error {
		at := b.endpoints[id]
		if !at.gone && (!at.leased() || at.token == token) && (!at.Enabled || !at.Health.Open(time.Now())) {
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

func (b *box) Due(ctx context.Context, id domain.ID, now time.Time, limit int) (due []ports.OutgoingWebhook, err error) {
	err = b.call(ctx, "Due", func() error {
		for _, d := range b.endpoints[id].pending {
			if d.DueAt.After(now) || len(due) == limit {
				break
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

// shot is one request that was sent.
type shot struct {
	event   domain.ID
	url     string
	attempt string
	signed  string
	at      time.Duration // since the beginning
	aborted bool
}

// world is what a drainer lives in.
type world struct {
	*box
	bell   ports.Queue // answers rings; nil: rings are only noted
	clock  *shifted
	sealer plainSealer
	began  time.Time

	observer webhooks.Observer
	logged   lockedBuffer
	// answer is the receiver: nil takes everything at once.
	answer func(m ports.WebhookMessage) domain.WebhookResult

	smu    sync.Mutex
	shots  []shot
	flying map[string]int // by URL, at this moment
	most   map[string]int // at a time
	rings  []string
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// shifted is a clock that may be set while it runs.
type shifted struct {
	mu sync.Mutex
	by time.Duration
}

func (s *shifted) Now() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return domain.Millis(time.Now().Add(s.by))
}

func (s *shifted) set(by time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.by = by
}

// inWorld plays in a bubble, in which times are exact and a goroutine that is
// left fails the test.
func inWorld(t *testing.T, play func(t *testing.T, w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { play(t, newWorld()) })
}

func newWorld() *world {
	return &world{box: newBox(), clock: &shifted{}, began: time.Now(), flying: map[string]int{}, most: map[string]int{}}
}

func (w *world) now() time.Duration { return time.Since(w.began) }

func (w *world) logger() *slog.Logger {
	return slog.New(slog.NewTextHandler(&w.logged, &slog.HandlerOptions{Level: slog.LevelInfo}))
}

func (w *world) drainer() *webhooks.Drainer { return w.drainerOver(w.box, w, &stage.IDs{}) }

func (w *world) drainerOver(o ports.WebhookOutbox, s ports.WebhookSender, ids ports.Identifiers) *webhooks.Drainer {
	schedules := webhooks.Schedules{domain.Sandbox: domain.DefaultRetrySchedule(domain.Sandbox), domain.Live: domain.DefaultRetrySchedule(domain.Live)}
	return webhooks.NewDrainer(o, s, w.sealer, stage.Renderer{}, w, w.clock, ids, schedules, w.observer, w.logger())
}

func (w *world) sweeper() *webhooks.Sweeper {
	return webhooks.NewSweeper(w.box, w, w.clock, w.logger())
}

// Ring notes it and passes it on.
func (w *world) Ring(ctx context.Context, lane ports.Lane, id string) error {
	w.smu.Lock()
	w.rings = append(w.rings, fmt.Sprintf("%s %v", lane, w.now()))
	w.smu.Unlock()
	if w.bell != nil {
		return w.bell.Ring(ctx, lane, id)
	}
	return nil
}

func (w *world) Run(context.Context, map[ports.Lane]ports.Handler) error { panic("not of the engine") }

func (w *world) heard() []string {
	w.smu.Lock()
	defer w.smu.Unlock()
	return slices.Clone(w.rings)
}

func (w *world) Resolvable(context.Context, string) error { panic("not of the engine") }

// Send is the receiver with what a sender adds: times, and an end at the latest.
func (w *world) Send(ctx context.Context, m ports.WebhookMessage) domain.WebhookResult {
	w.smu.Lock()
	i := len(w.shots)
	w.shots = append(w.shots, shot{
		event: domain.ID(m.Header[domain.HeaderWebhookID]), url: m.URL, attempt: m.Header[domain.HeaderWebhookAttempt],
		signed: m.Header[domain.HeaderWebhookSignature], at: w.now(),
	})
	w.flying[m.URL]++
	w.most[m.URL] = max(w.most[m.URL], w.flying[m.URL])
	w.smu.Unlock()
	defer func() {
		w.smu.Lock()
		defer w.smu.Unlock()
		w.flying[m.URL]--
	}()
	began := time.Now()
	result := domain.WebhookResult{StatusCode: 204}
	if w.answer != nil {
		result = w.answer(m)
	}
	// An answer with a duration takes so long to come.
	select {
	case <-time.After(min(result.Duration, attemptLasts)):
	case <-ctx.Done():
		w.smu.Lock()
		w.shots[i].aborted = true
		w.smu.Unlock()
		result = domain.WebhookResult{Error: domain.ErrorTimeoutResponse}
	}
	result.StartedAt, result.Duration = domain.Millis(began), time.Since(began)
	return result
}

// sent is every shot so far.
func (w *world) sent() []shot {
	w.smu.Lock()
	defer w.smu.Unlock()
	return slices.Clone(w.shots)
}

func (w *world) mostAtOnce(url string) int {
	w.smu.Lock()
	defer w.smu.Unlock()
	return w.most[url]
}

// times is when shots began.
func times(shots []shot) []time.Duration {
	at := make([]time.Duration, len(shots))
	for i, s := range shots {
		at[i] = s.at
	}
	return at
}

func events(shots []shot) []domain.ID {
	ids := make([]domain.ID, len(shots))
	for i, s := range shots {
		ids[i] = s.event
	}
	return ids
}

// Answers of receivers.
func takes(after time.Duration) domain.WebhookResult {
	return domain.WebhookResult{StatusCode: 204, Duration: after}
}

func refuses(status int) domain.WebhookResult {
	return domain.WebhookResult{StatusCode: status, Error: domain.ErrorHTTP5xx}
}

func hangs() domain.WebhookResult {
	return domain.WebhookResult{Error: domain.ErrorTimeoutResponse, Duration: attemptLasts}
}

var errStorage = errors.New("the disk is on fire")

// failing makes calls of the storage fail from one time to another.
func (w *world) failing(call string, from, to time.Duration) {
	w.around = func(_ context.Context, name string, make func() error) error {
		if now := w.now(); name == call && now >= from && now < to {
			return errStorage
		}
		return make()
	}
}

// slowed makes a call of the storage slow from one time to another.
func (w *world) slowed(call string, by time.Duration, from, to time.Duration) {
	w.around = func(ctx context.Context, name string, make func() error) error {
		if now := w.now(); name == call && now >= from && now < to {
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(by):
			}
		}
		return make()
	}
}

// lanes is a queue: so many workers on each lane, and an ID waits once.
type lanes struct {
	workers int

	mu      sync.Mutex
	some    *sync.Cond
	waiting map[ports.Lane][]string
}

func newLanes(workers int) *lanes {
	l := &lanes{workers: workers, waiting: map[ports.Lane][]string{}}
	l.some = sync.NewCond(&l.mu)
	return l
}

func (l *lanes) Ring(_ context.Context, lane ports.Lane, id string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !slices.Contains(l.waiting[lane], id) {
		l.waiting[lane] = append(l.waiting[lane], id)
		l.some.Broadcast()
	}
	return nil
}

func (l *lanes) Run(ctx context.Context, handlers map[ports.Lane]ports.Handler) error {
	var running sync.WaitGroup
	for lane, handle := range handlers {
		for range l.workers {
			running.Go(func() { l.work(ctx, lane, handle) })
		}
	}
	<-ctx.Done()
	l.mu.Lock()
	l.some.Broadcast()
	l.mu.Unlock()
	running.Wait()
	return nil
}

func (l *lanes) work(ctx context.Context, lane ports.Lane, handle ports.Handler) {
	for {
		l.mu.Lock()
		for len(l.waiting[lane]) == 0 && ctx.Err() == nil {
			l.some.Wait()
		}
		if ctx.Err() != nil {
			l.mu.Unlock()
			return
		}
		id := l.waiting[lane][0]
		l.waiting[lane] = l.waiting[lane][1:]
		l.mu.Unlock()
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
		handle(ctx, id)
		cancel()
	}
}
