package dispatch

import (
	"context"
	"errors"
	"time"

	"waybill/domain"
	"waybill/ports"
)

// recorded holds a batch of outcomes and the error of storing it.
type recorded struct {
	outcomes []ports.WebhookOutcome
	health   domain.WebhookHealth
	err      error
}

// keep leaves outcomes to the next owner in this process, if the lease is kept.
func (w *drain) keep(outcomes []ports.WebhookOutcome) {
	if w.phase.keepsToken() {
		w.lease.outcomes, w.lease.health = append(w.lease.outcomes, outcomes...), w.health
	}
}

// silent reports whether the storage does not respond to writes. It may be cut off, and everything
// sent in the meantime is sent again. An outcome that waits for a storage permit counts as
// unanswered if the calls that hold the permits hang.
func (w *drain) silent() bool {
	if !w.writing.IsZero() {
		return time.Since(w.writing) > stalled
	}
	return len(w.outcomes) > 0 && w.share.load == behind && w.share.stuck()
}

// store writes all waiting outcomes at once, in parallel to the sends, and then calls done.
func (w *drain) store(ctx context.Context, done func()) {
	if !w.writing.IsZero() || len(w.outcomes) == 0 {
		done()
		return
	}
	endpoint, token, batch, health := w.endpoint.ID, w.lease.token, w.outcomes, w.health
	w.outcomes, w.writing = nil, time.Now()
	go func() {
		defer done()
		err := domain.Safely(func() error {
			return insist(ctx, func(ctx context.Context) error { return w.outbox.Record(ctx, endpoint, token, batch, health) })
		})
		w.writes <- recorded{outcomes: batch, health: health, err: err}
	}()
}

func (w *drain) stored(ctx context.Context, r recorded) {
	w.writing = time.Time{}
	if r.err != nil {
		w.log.WarnContext(ctx, "webhook attempts not recorded", "endpoint", w.endpoint.ID, "attempts", len(r.outcomes), "error", r.err)
		if errors.Is(r.err, ports.ErrEndpointLost) {
			w.step(taken) // the sent webhooks are still due, and the new owner resends them
			return
		}
		w.step(stuck)
		w.keep(r.outcomes)
		return
	}
	for _, o := range r.outcomes {
		delete(w.taken, o.Delivery.ID)
	}
	w.known = w.known.on(stored)
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
