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

// drain sends the webhooks of one endpoint for one owner. Only the goroutine of run changes its
// state. Sends and one write to the storage run in parallel.
type drain struct {
	*Drainer
	endpoint    domain.WebhookEndpoint
	owner       owner // never changes, though the endpoint may
	secrets     [][]byte
	lease       keptLease // its tries are reset to 0 by the first successful read
	lowPriority bool
	sure        time.Time // until then the lease is certainly ours
	abort       func()    // cancels all attempts and calls

	more    chan struct{} // holds one element: a notification came
	freed   chan struct{} // closed: the rest is done without a worker
	results chan sent
	writes  chan recorded

	queue    []*ports.OutgoingWebhook // read and not sent yet
	taken    map[domain.ID]bool       // read and not stored yet
	busy     map[domain.ID]bool       // deliveries of which an event is being sent
	began    map[domain.ID]time.Time  // of those being sent
	outcomes []ports.WebhookOutcome   // not stored yet
	health   domain.WebhookHealth     // after all results so far
	paused   *time.Time               // end of the pause that was logged
	reason   domain.DisabledReason    // why the endpoint must be disabled; empty: it must not

	phase   phase
	known   knowledge
	share   share
	writing time.Time // when the current write began; zero: there is none
}

func newDrain(d *Drainer, e domain.WebhookEndpoint, lease keptLease, lowPriority bool, leased time.Time) *drain {
	return &drain{
		Drainer: d, endpoint: e, owner: ownerOf(e), lease: lease, lowPriority: lowPriority, sure: leased.Add(leaseSure), health: e.Health,
		paused: e.Health.OpenUntil,
		more:   make(chan struct{}, 1), freed: make(chan struct{}), results: make(chan sent, inFlight), writes: make(chan recorded, 1),
		taken: map[domain.ID]bool{}, busy: map[domain.ID]bool{}, began: map[domain.ID]time.Time{}, share: share{fairShare: d.fair},
	}
}

// run sends until nothing is due, the slice is over or something fails. It returns the phase in
// which it ended, once nothing of it runs any more.
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
		case <-quiet.C: // the end of an attempt restarts it
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

// step enters the next phase. In some phases nothing is stored any more.
func (w *drain) step(s step) {
	w.phase = w.phase.on(s)
	if w.phase.stores() {
		return
	}
	w.abort()
	w.keep(w.outcomes)
	w.outcomes = nil
}

// idle reports whether no send and no write runs or waits.
func (w *drain) idle() bool {
	return len(w.began) == 0 && w.writing.IsZero() && len(w.outcomes) == 0
}

// waits reports whether the drain needs a storage permit.
func (w *drain) waits() bool {
	return w.share.load == behind && (w.mayRead() || w.writing.IsZero() && len(w.outcomes) > 0)
}

// mayRead reports whether to read due webhooks, before the last of those read is sent.
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

// fill reads the due webhooks.
func (w *drain) fill(ctx context.Context) {
	if !w.mayRead() {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	most, first := batch, w.known == unseen
	if first {
		most = much + 1 // enough to recognise a backlog, which is read in its turn
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
	// IDs of the same moment are in order only if one process made them.
	slices.SortStableFunc(w.queue, func(a, b *ports.OutgoingWebhook) int {
		return cmp.Or(a.DueAt.Compare(*b.DueAt), cmp.Compare(a.Sequence, b.Sequence))
	})
}

// adopt applies what is known of the endpoint and the lease now. It stops what must not be sent, or
// not here.
func (w *drain) adopt() {
	now := w.clock.Now()
	if !w.endpoint.Enabled || w.reason != "" || w.health.Open(now) || !w.lowPriority && w.health.Slow(now) || time.Now().After(w.sure) ||
		w.halted.has(w.endpoint.Tenant.Environment) {
		w.step(ended)
	}
}

// renew renews the lease and reads changes of the endpoint.
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
		w.step(unanswered) // outcomes of current attempts may still be stored
		return
	}
	w.sure = asked.Add(leaseSure)
	if !e.UpdatedAt.Equal(w.endpoint.UpdatedAt) {
		w.health, w.reason = e.Health, "" // enabling it, or another address, resets these
	}
	w.endpoint = e
	w.openSecrets(ctx)
}

// disable disables an endpoint that is gone, or failed for days.
func (w *drain) disable(ctx context.Context) {
	if w.reason == "" || !w.phase.stores() {
		return
	}
	w.renew(ctx) // a concurrent change of the endpoint wins
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
