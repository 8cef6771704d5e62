package dispatch_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"waybill/application/webhooks"
	"waybill/application/webhooks/dispatch"
	"waybill/domain"
	"waybill/ports"
	"waybill/test/stage"
)

// The times of dispatch, as its documents promise them.
const (
	leaseLasts   = 6 * time.Second
	looksEvery   = time.Second
	attemptLasts = 15 * time.Second
	lingers      = 10 * time.Millisecond
)

// shot is one request that was sent.
type shot struct {
	event   domain.ID
	url     string
	attempt string
	signed  string
	at      time.Duration // since the beginning
	aborted bool
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

// world is what a drainer lives in.
type world struct {
	*box
	queue  ports.Queue // answers notifications; nil: notifications are only noted
	clock  *shifted
	sealer plainSealer
	waits  domain.RetrySchedule // nil: those of the environments
	began  time.Time

	observer dispatch.Observer
	logged   stage.Log
	// answer is the receiver: nil takes everything at once.
	answer func(m ports.WebhookMessage) domain.WebhookResult

	smu           sync.Mutex
	shots         []shot
	flying        map[string]int // by URL, at this moment
	most          map[string]int // at a time
	notifications []string
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

// inWorlds plays each case in a bubble of its own.
func inWorlds[C any](t *testing.T, cases map[string]C, play func(t *testing.T, w *world, what string, c C)) {
	t.Helper()
	for what, c := range cases {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			inWorld(t, func(t *testing.T, w *world) { play(t, w, what, c) })
		})
	}
}

func newWorld() *world {
	return &world{box: newBox(), clock: &shifted{}, began: time.Now(), flying: map[string]int{}, most: map[string]int{}}
}

func (w *world) now() time.Duration { return time.Since(w.began) }

func (w *world) logger() *slog.Logger {
	return slog.New(slog.NewTextHandler(&w.logged, &slog.HandlerOptions{Level: slog.LevelInfo}))
}

func (w *world) drainer() *dispatch.Drainer { return w.drainerOver(w.box, w, &stage.IDs{}) }

func (w *world) drainerOver(o ports.WebhookOutbox, s ports.WebhookSender, ids ports.Identifiers) *dispatch.Drainer {
	schedules := webhooks.Schedules{domain.Sandbox: domain.DefaultRetrySchedule(domain.Sandbox),
		domain.Live: domain.DefaultRetrySchedule(domain.Live)}
	if w.waits != nil {
		schedules = webhooks.Schedules{domain.Sandbox: w.waits, domain.Live: w.waits}
	}
	return dispatch.NewDrainer(o, s, w.sealer, stage.Renderer{}, w, w.clock, ids, schedules, w.observer, w.logger())
}

func (w *world) sweeper() *dispatch.Sweeper {
	return dispatch.NewSweeper(w.box, w, w.clock, w.logger())
}

// running passes notifications through a real queue and, where it is asked for, a Sweeper.
func (w *world) running(t *testing.T, workers int, sweeps bool) (stop func()) {
	queue := newQueue(workers)
	w.queue = queue
	d := w.drainer()
	ctx, cancel := context.WithCancel(t.Context())
	var all sync.WaitGroup
	all.Go(func() { _ = queue.Run(ctx, d.Handlers()) })
	if sweeps {
		all.Go(func() { w.sweeper().Run(ctx) })
	}
	return func() {
		cancel()
		d.Close()
		all.Wait()
	}
}

// wake notifies the queue of an endpoint, as is done after a commit.
func (w *world) wake(t *testing.T, id domain.ID) {
	_ = w.queue.Notify(t.Context(), ports.JobWebhook, string(id))
}

// callHandler calls the handler of a kind, as a queue does.
func callHandler(t *testing.T, w *world, handlers map[ports.JobKind]ports.Handler, kind ports.JobKind, id domain.ID) (took time.Duration) {
	t.Helper()
	began := w.now()
	handlers[kind](t.Context(), string(id))
	return w.now() - began
}

// drained notifies a new drainer, and waits until it has ended.
func (w *world) drained(t *testing.T, kind ports.JobKind, id domain.ID) (took time.Duration) {
	t.Helper()
	d, began := w.drainer(), w.now()
	callHandler(t, w, d.Handlers(), kind, id)
	d.WaitForDrains()
	return w.now() - began
}

// always makes every receiver answer alike.
func (w *world) always(answer domain.WebhookResult) {
	w.answer = func(ports.WebhookMessage) domain.WebhookResult { return answer }
}

// backlog is an endpoint with an event of each of n deliveries, all of which
// its receiver answers alike.
func (w *world) backlog(n int, answer domain.WebhookResult) domain.ID {
	id := w.addEndpoint(1)
	w.addEvents(id, n)
	w.always(answer)
	return id
}

// wantArrived fails unless so many events have arrived.
func (w *world) wantArrived(t *testing.T, want int) {
	t.Helper()
	if n := w.statuses()[domain.WebhookSucceeded]; n != want {
		t.Errorf("%d arrived, want %d", n, want)
	}
}

// Notify notes it and passes it on.
func (w *world) Notify(ctx context.Context, kind ports.JobKind, id string) error {
	w.smu.Lock()
	w.notifications = append(w.notifications, fmt.Sprintf("%s %v", kind, w.now()))
	w.smu.Unlock()
	if w.queue != nil {
		return w.queue.Notify(ctx, kind, id)
	}
	return nil
}

func (w *world) Run(context.Context, map[ports.JobKind]ports.Handler) error {
	panic("not of the engine")
}

func (w *world) heard() []string {
	w.smu.Lock()
	defer w.smu.Unlock()
	return slices.Clone(w.notifications)
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

func isGone(after time.Duration) domain.WebhookResult {
	return domain.WebhookResult{StatusCode: 410, Error: domain.ErrorHTTP4xx, Duration: after}
}

func hangs() domain.WebhookResult {
	return domain.WebhookResult{Error: domain.ErrorTimeoutResponse, Duration: attemptLasts}
}

var errStorage = errors.New("the disk is on fire")

// queue is a queue: so many workers for each kind, and an ID waits once.
type queue struct {
	workers int

	mu      sync.Mutex
	some    *sync.Cond
	waiting map[ports.JobKind][]string
}

func newQueue(workers int) *queue {
	l := &queue{workers: workers, waiting: map[ports.JobKind][]string{}}
	l.some = sync.NewCond(&l.mu)
	return l
}

func (l *queue) Notify(_ context.Context, kind ports.JobKind, id string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !slices.Contains(l.waiting[kind], id) {
		l.waiting[kind] = append(l.waiting[kind], id)
		l.some.Broadcast()
	}
	return nil
}

func (l *queue) Run(ctx context.Context, handlers map[ports.JobKind]ports.Handler) error {
	var running sync.WaitGroup
	for kind, handle := range handlers {
		for range l.workers {
			running.Go(func() { l.work(ctx, kind, handle) })
		}
	}
	<-ctx.Done()
	l.mu.Lock()
	l.some.Broadcast()
	l.mu.Unlock()
	running.Wait()
	return nil
}

func (l *queue) work(ctx context.Context, kind ports.JobKind, handle ports.Handler) {
	for {
		l.mu.Lock()
		for len(l.waiting[kind]) == 0 && ctx.Err() == nil {
			l.some.Wait()
		}
		if ctx.Err() != nil {
			l.mu.Unlock()
			return
		}
		id := l.waiting[kind][0]
		l.waiting[kind] = l.waiting[kind][1:]
		l.mu.Unlock()
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
		handle(ctx, id)
		cancel()
	}
}
