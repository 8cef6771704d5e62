package dispatch

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"waybill/application/webhooks"
	"waybill/domain"
	"waybill/ports"
)

// drain is the work of one owner of one endpoint. All of it is the business of
// the goroutine of run; sends and one write to the storage go on beside it.
type drain struct {
	*Drainer
	endpoint    domain.WebhookEndpoint
	owner       owner // never changes, as the endpoint may
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
		Drainer: d, endpoint: e, owner: ownerOf(e), lease: lease, lowPriority: lowPriority, sure: leased.Add(leaseSure), health: e.Health,
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
		case <-quiet.C: // the end of an attempt sets it anew
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
	return !w.phase.ends() && w.known != current && w.known != partial && len(w.queue) < inFlight
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
	most, first := batch, w.known == unseen
	if first {
		most = much + 1 // enough to tell a backlog, which is read in turn
	}
	due, err := w.outbox.Due(ctx, w.endpoint.ID, w.clock.Now(), most, slices.Collect(maps.Keys(w.taken))...)
	if err != nil {
		w.log.WarnContext(ctx, "due webhooks not read", "endpoint", w.endpoint.ID, "error", err)
		w.step(unanswered)
		return
	}
	w.lease.tries = 0
	w.share.found(len(w.taken) + len(due))
	switch {
	case first && w.share.load == behind:
		w.known = w.known.on(readBacklog)
	case len(due) == most || len(w.taken) > 0:
		w.known = w.known.on(readPart)
	default:
		w.known = w.known.on(readAll)
	}
	for i := range due {
		w.taken[due[i].ID] = true
		w.queue = append(w.queue, &due[i])
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
	if !w.endpoint.Enabled || w.reason != "" || w.health.Open(now) || !w.lowPriority && w.health.Slow(now) || time.Now().After(w.sure) ||
		w.halted.has(w.endpoint.Tenant.Environment) {
		w.step(ended)
	}
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
		w.step(unanswered) // attempts under way may still be recorded
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
