package dispatch

import (
	"cmp"
	"context"
	"errors"
	"math/rand/v2"
	"runtime/debug"
	"slices"
	"time"

	"waybill/application/webhooks"
	"waybill/domain"
	"waybill/ports"
)

// sent is a webhook and how its attempt ended.
type sent struct {
	webhook *ports.OutgoingWebhook
	result  domain.WebhookResult
}

// recorded is how storing a batch of outcomes went.
type recorded struct {
	outcomes []ports.WebhookOutcome
	health   domain.WebhookHealth
	err      error
}

// drain is the work of one owner of one endpoint. All of it is the business of
// the goroutine of run; sends and one write to the storage go on beside it.
type drain struct {
	*Drainer
	endpoint    domain.WebhookEndpoint
	secrets     [][]byte
	lease       keptLease // its tries are 0 as soon as something was read
	lowPriority bool
	sure        time.Time // until then the lease is ours for sure
	abort       func()    // ends what is on its way

	more    chan struct{} // one: a notification came
	freed   chan struct{} // closed: the rest is done without a worker
	results chan sent
	writes  chan recorded

	queue    []*ports.OutgoingWebhook // read and not sent yet
	taken    map[domain.ID]bool       // read and not stored yet
	busy     map[domain.ID]bool       // deliveries of which an event is on its way
	began    map[domain.ID]time.Time  // of those on their way
	outcomes []ports.WebhookOutcome   // not stored yet
	health   domain.WebhookHealth     // after all results so far
	paused   *time.Time               // until then, as the log was told
	reason   domain.DisabledReason    // for which the endpoint is to be disabled; empty: none

	phase   phase
	known   knowledge
	share   share
	writing time.Time // when the write under way began; zero: none is
}

func newDrain(d *Drainer, e domain.WebhookEndpoint, lease keptLease, lowPriority bool, leased time.Time) *drain {
	return &drain{
		Drainer: d, endpoint: e, lease: lease, lowPriority: lowPriority, sure: leased.Add(leaseSure), health: e.Health,
		paused: e.Health.OpenUntil,
		more:   make(chan struct{}, 1), freed: make(chan struct{}), results: make(chan sent, inFlight), writes: make(chan recorded, 1),
		taken: map[domain.ID]bool{}, busy: map[domain.ID]bool{}, began: map[domain.ID]time.Time{}, share: share{fairShare: d.fair},
	}
}

// run sends until nothing is due, the slice is over or something fails. Nothing
// of it is under way when it returns the phase in which it ended.
func (w *drain) run(ctx context.Context) phase {
	ctx, w.abort = context.WithCancel(ctx)
	defer w.abort()
	defer w.share.leave()
	w.openSecrets(ctx)
	end, quiet, watch := time.NewTimer(slice), time.NewTimer(linger), time.NewTimer(holds)
	defer end.Stop()
	defer quiet.Stop()
	defer watch.Stop()
	renew := time.NewTicker(renewEvery)
	defer renew.Stop()
	over, closed := ctx.Done(), w.closed
	w.adopt()
	for {
		if w.share.load != behind {
			w.fill(ctx)
		}
		w.adopt()
		w.start(ctx)
		if w.share.load != behind {
			w.store(ctx, func() {})
		}
		if w.phase.ends() && w.idle() {
			w.disable(ctx)
			return w.phase
		}
		var storagePermit chan<- struct{}
		if w.waits() {
			storagePermit = w.share.storagePermits
		}
		select {
		case w.share.queue() <- struct{}{}:
			w.share.permit = w.share.permit.on(granted)
		case storagePermit <- struct{}{}:
			end := w.share.holdStorage()
			w.fill(ctx)
			w.store(ctx, end)
			quiet.Reset(linger)
		case s := <-w.results:
			w.settle(s)
			quiet.Reset(linger)
		case r := <-w.writes:
			w.stored(ctx, r)
			quiet.Reset(linger)
		case <-w.more:
			w.known = w.known.on(changed)
			quiet.Reset(linger)
		case <-quiet.C: // what is on its way sets it anew when it ends
			if w.idle() && !w.waits() && w.share.permit != wanted {
				w.step(ended)
			}
		case <-watch.C:
			watch.Reset(w.watchAttempts())
		case <-renew.C:
			w.renew(ctx)
		case <-end.C:
			w.step(ended)
		case <-closed:
			w.step(ended)
			closed = nil
		case <-over: // far beyond the slice: the storage or the sender hangs
			w.step(stuck)
			over = nil
		}
	}
}

// step goes on to the next phase, in some of which nothing is stored any more.
func (w *drain) step(s step) {
	w.phase = w.phase.on(s)
	if w.phase.stores() {
		return
	}
	w.abort()
	w.keep(w.outcomes)
	w.outcomes = nil
}

// keep leaves outcomes to the next owner in this process, where the lease is kept.
func (w *drain) keep(outcomes []ports.WebhookOutcome) {
	if w.phase.keepsToken() {
		w.lease.outcomes, w.lease.health = append(w.lease.outcomes, outcomes...), w.health
	}
}

// idle reports whether nothing is on its way anywhere.
func (w *drain) idle() bool {
	return len(w.began) == 0 && w.writing.IsZero() && len(w.outcomes) == 0
}

// waits reports whether a storage permit is wanted.
func (w *drain) waits() bool {
	return w.share.load == behind && (w.mayRead() || w.writing.IsZero() && len(w.outcomes) > 0)
}

// mayRead reports whether what is due is to be read, before the last of what was
// read is sent.
func (w *drain) mayRead() bool {
	return !w.phase.ends() && w.known != current && len(w.queue) < inFlight
}

// silent reports whether the storage says nothing to what has to be stored: it may be
// cut off, and all that is sent meanwhile is sent again. An outcome that waits for a
// storage permit counts as unanswered where the calls that hold the permits hang.
func (w *drain) silent() bool {
	if !w.writing.IsZero() {
		return time.Since(w.writing) > stalled
	}
	return len(w.outcomes) > 0 && w.share.load == behind && w.share.stuck()
}

func (w *drain) openSecrets(ctx context.Context) {
	secrets, err := webhooks.OpenSecrets(w.sealer, w.endpoint, w.clock.Now())
	if err != nil {
		w.log.ErrorContext(ctx, "webhooks wait: the signing secret cannot be opened; the secret key may be another one now",
			"endpoint", w.endpoint.ID, "error", err)
		w.step(refused)
		return
	}
	w.secrets = secrets
}

// fill reads what is due.
func (w *drain) fill(ctx context.Context) {
	if !w.mayRead() {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	most := batch + len(w.taken) // the taken ones come first
	if w.known == unseen {
		most = much + 1 // enough to tell a backlog, which is read in turn
	}
	due, err := w.outbox.Due(ctx, w.endpoint.ID, w.clock.Now(), most)
	if err != nil {
		w.log.WarnContext(ctx, "due webhooks not read", "endpoint", w.endpoint.ID, "error", err)
		w.step(unanswered)
		return
	}
	w.lease.tries = 0
	w.share.found(len(due))
	if w.share.load == behind {
		w.known = w.known.on(readBacklog)
	} else {
		w.known = w.known.on(readFew)
	}
	for i := range due {
		if webhook := &due[i]; !w.taken[webhook.ID] {
			w.taken[webhook.ID] = true
			w.queue = append(w.queue, webhook)
		}
	}
	// IDs of one moment are in order only where one process made them.
	slices.SortStableFunc(w.queue, func(a, b *ports.OutgoingWebhook) int {
		return cmp.Or(a.DueAt.Compare(*b.DueAt), cmp.Compare(a.Sequence, b.Sequence))
	})
}

// adopt goes by what is known of the endpoint and the lease by now, and stops what
// must not be sent, or not here.
func (w *drain) adopt() {
	now := w.clock.Now()
	if !w.endpoint.Enabled || w.reason != "" || w.health.Open(now) || !w.lowPriority && w.health.Slow(now) || time.Now().After(w.sure) {
		w.step(ended)
	}
}

// start sends as much as may be on its way, one event of a delivery at a time.
func (w *drain) start(ctx context.Context) {
	now, most := w.clock.Now(), inFlight
	w.share.permit = w.share.permit.on(looked)
	defer w.share.returnPermit()
	if w.phase.ends() {
		w.queue = nil
		return
	}
	if w.health.Probing(now) {
		most = 1
		// An attempt that a caller asked for is the probe.
		slices.SortStableFunc(w.queue, func(a, b *ports.OutgoingWebhook) int { return cmp.Compare(asked(b), asked(a)) })
	}
	kept, unstored := w.queue[:0], len(w.taken)-len(w.queue)
	for i, webhook := range w.queue {
		if len(w.began) >= most || unstored >= mostUnstored || w.silent() {
			kept = append(kept, w.queue[i:]...)
			break
		}
		if w.busy[webhook.DeliveryID] {
			kept = append(kept, webhook)
			continue
		}
		if !w.share.admit() {
			kept = append(kept, w.queue[i:]...)
			break
		}
		w.send(ctx, webhook, now)
		unstored++
	}
	clear(w.queue[len(kept):])
	w.queue = kept
}

func asked(w *ports.OutgoingWebhook) int {
	if w.Trigger == domain.TriggerSchedule {
		return 0
	}
	return 1
}

func (w *drain) send(ctx context.Context, webhook *ports.OutgoingWebhook, now time.Time) {
	w.began[webhook.ID] = time.Now()
	if webhook.DeliveryID != "" {
		w.busy[webhook.DeliveryID] = true
	}
	url, secrets, ended := w.endpoint.URL, w.secrets, w.share.begin()
	go func() {
		result := w.attempt(ctx, url, secrets, webhook, now)
		ended()
		w.results <- sent{webhook, result}
	}()
}

// attempt sends once. A webhook that makes the sender panic uses up its schedule
// like one that the endpoint refuses.
func (d *Drainer) attempt(ctx context.Context, url string, secrets [][]byte, webhook *ports.OutgoingWebhook,
	now time.Time) (r domain.WebhookResult) {
	defer func() {
		if why := recover(); why != nil {
			d.log.ErrorContext(ctx, "the sender of webhooks panicked", "webhook", webhook.ID, "panic", why, "stack", string(debug.Stack()))
			r = domain.WebhookResult{Error: domain.ErrorReset, StartedAt: now}
		}
	}()
	r = d.sender.Send(ctx, webhooks.Message(url, secrets, *webhook, now))
	r.StartedAt = now // by the clock that all other times are of
	return r
}

// watchAttempts looks at how old the oldest attempt on its way is. Past holds the
// worker is freed, since all there is to do is to wait; past hangs, where this is
// not of low priority, no other attempt follows. It returns when to look again.
func (w *drain) watchAttempts() time.Duration {
	var oldest time.Duration
	for _, at := range w.began {
		oldest = max(oldest, time.Since(at))
	}
	if oldest >= holds && !w.isFreed() {
		w.freeWorker()
	}
	if oldest >= hangs && !w.lowPriority {
		w.step(ended)
	}
	if oldest < holds {
		return holds - oldest
	}
	return max(hangs-oldest, holds)
}

// freeWorker lets the rest of the drain do without a worker, unless too many do.
func (w *drain) freeWorker() {
	select {
	case w.unattended <- struct{}{}:
		close(w.freed)
	default:
	}
}

func (w *drain) isFreed() bool {
	select {
	case <-w.freed:
		return true
	default:
		return false
	}
}

// settle decides what comes of a result.
func (w *drain) settle(s sent) {
	now := w.clock.Now()
	delete(w.began, s.webhook.ID)
	delete(w.busy, s.webhook.DeliveryID)
	if !w.phase.stores() {
		return
	}
	probe := w.health.Probing(now)
	w.health = w.health.After(s.result, now)
	if w.reason != domain.DisabledGone {
		w.reason = w.health.DisabledReason(s.result, now)
	}
	first := s.webhook.Back != domain.WebhookSucceeded
	attempt := s.webhook.Record(w.ids.ID(domain.PrefixWebhookAttempt), s.result, w.schedules[w.endpoint.Tenant.Environment], probe,
		rand.Float64(), now) //nolint:gosec // spreads retries
	if w.reason != "" {
		attempt.NextAt = nil // it will be held
	}
	w.outcomes = append(w.outcomes, ports.WebhookOutcome{Delivery: s.webhook.WebhookDelivery, Attempt: attempt})
	if w.observer.Attempted != nil {
		w.observer.Attempted(s.result)
	}
	if w.observer.Delayed != nil && first && s.result.Succeeded() {
		w.observer.Delayed(now.Sub(s.webhook.CreatedAt))
	}
}

// store writes what has come in, all of it at once, beside the sends, and then
// calls done.
func (w *drain) store(ctx context.Context, done func()) {
	if !w.writing.IsZero() || len(w.outcomes) == 0 {
		done()
		return
	}
	endpoint, token, batch, health := w.endpoint.ID, w.lease.token, w.outcomes, w.health
	w.outcomes, w.writing = nil, time.Now()
	go func() {
		defer done()
		w.writes <- recorded{outcomes: batch, health: health, err: insist(ctx, func(ctx context.Context) error {
			return w.outbox.Record(ctx, endpoint, token, batch, health)
		})}
	}()
}

func (w *drain) stored(ctx context.Context, r recorded) {
	w.writing = time.Time{}
	if r.err != nil {
		w.log.WarnContext(ctx, "webhook attempts not recorded", "endpoint", w.endpoint.ID, "attempts", len(r.outcomes), "error", r.err)
		if errors.Is(r.err, ports.ErrEndpointLost) {
			w.step(taken) // what was sent is still due, and its owner sends it again
			return
		}
		w.step(stuck)
		w.keep(r.outcomes)
		return
	}
	for _, o := range r.outcomes {
		delete(w.taken, o.Delivery.ID)
	}
	w.known = w.known.on(changed)
	w.tellPause(ctx, r)
}

// tellPause logs that the circuit opened, once each time.
func (w *drain) tellPause(ctx context.Context, r recorded) {
	until := r.health.OpenUntil
	if until != nil && (w.paused == nil || until.After(*w.paused)) {
		w.log.InfoContext(ctx, "webhook endpoint paused", "endpoint", w.endpoint.ID, "application_id", w.endpoint.Tenant.ApplicationID,
			"reason", r.outcomes[len(r.outcomes)-1].Attempt.Result.Error, "failures", r.health.Failures, "until", domain.FormatTime(*until))
	}
	w.paused = until
}

// renew gives a sign of life and learns what was changed at the endpoint.
func (w *drain) renew(ctx context.Context) {
	if !w.phase.stores() {
		return
	}
	asked := time.Now()
	within, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	e, err := w.outbox.Renew(within, w.endpoint.ID, w.lease.token, leaseFor)
	switch {
	case errors.Is(err, ports.ErrEndpointLost):
		w.log.InfoContext(ctx, "webhook endpoint taken over, or deleted", "endpoint", w.endpoint.ID)
		w.step(taken)
		return
	case err != nil:
		w.renewals.note(err)
		w.log.WarnContext(ctx, "webhook endpoint not renewed", "endpoint", w.endpoint.ID, "error", err)
		w.step(unanswered) // what is on its way may still be recorded
		return
	}
	w.sure = asked.Add(leaseSure)
	if !e.UpdatedAt.Equal(w.endpoint.UpdatedAt) {
		w.health, w.reason = e.Health, "" // enabling it, or another address, starts afresh
	}
	w.endpoint = e
	w.openSecrets(ctx)
}

// disable ends the deliveries to an endpoint that is gone, or failed for days.
func (w *drain) disable(ctx context.Context) {
	if w.reason == "" || !w.phase.stores() {
		return
	}
	w.renew(ctx) // a concurrent change of the endpoint stands
	if w.reason == "" || !w.phase.releases() {
		return
	}
	now, e := w.clock.Now(), w.endpoint
	e.Enabled, e.Disabled, e.Health, e.UpdatedAt = false, w.reason, w.health, now
	err := insist(ctx, func(ctx context.Context) error {
		event, err := webhooks.EndpointEvent(w.renderer, e, w.ids.ID(domain.PrefixEvent), domain.EventEndpointDisabled, now)
		if err != nil {
			return err
		}
		return w.outbox.Disable(ctx, e, w.lease.token, event)
	})
	if err != nil {
		w.log.WarnContext(ctx, "webhook endpoint not disabled", "endpoint", e.ID, "reason", w.reason, "error", err)
		w.step(refused)
		return
	}
	w.log.WarnContext(ctx, "webhook endpoint disabled", "endpoint", e.ID, "application_id", e.Tenant.ApplicationID, "reason", w.reason,
		"until", "its application enables it")
}
