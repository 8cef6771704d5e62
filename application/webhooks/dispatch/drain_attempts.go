package dispatch

import (
	"cmp"
	"context"
	"math/rand/v2"
	"runtime/debug"
	"slices"
	"time"

	"waybill/application/webhooks"
	"waybill/domain"
	"waybill/ports"
)

// sent holds a webhook and the result of its attempt.
type sent struct {
	webhook *ports.OutgoingWebhook
	result  domain.WebhookResult
}

// start sends as much as is allowed at once, one event of a delivery at a time.
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
		// An attempt that a caller requested is the probe.
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
	endpoint, secrets, ended := w.endpoint, w.secrets, w.share.begin()
	go func() {
		result := w.attempt(ctx, endpoint, secrets, webhook, now)
		ended()
		w.results <- sent{webhook, result}
	}()
}

// attempt sends once. A webhook that makes the sender panic uses up its schedule like one that the
// endpoint refuses.
func (d *Drainer) attempt(ctx context.Context, e domain.WebhookEndpoint, secrets [][]byte, webhook *ports.OutgoingWebhook,
	now time.Time) (r domain.WebhookResult) {
	defer func() {
		if why := recover(); why != nil {
			d.log.ErrorContext(ctx, "the sender of webhooks panicked", "webhook", webhook.ID, "panic", why, "stack", string(debug.Stack()))
			r = domain.WebhookResult{Error: domain.ErrorReset, StartedAt: now}
		}
	}()
	r = d.sender.Send(ctx, webhooks.Message(e, secrets, *webhook, now))
	r.StartedAt = now // by the same clock as all other times
	return r
}

// watchAttempts checks the age of the oldest current attempt. Past holds it frees the worker, since
// the drain only waits. Past hangs no other attempt follows, unless the drain has low priority. It
// returns the time until the next check.
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

// freeWorker lets the rest of the drain run without a worker, unless too many do.
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

// settle handles a result.
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
		attempt.NextAt = nil // the webhook will be held
	}
	w.outcomes = append(w.outcomes, ports.WebhookOutcome{Delivery: s.webhook.WebhookDelivery, Attempt: attempt})
	if w.observer.Attempted != nil {
		w.observer.Attempted(s.result)
	}
	if w.observer.Delayed != nil && first && s.result.Succeeded() {
		w.observer.Delayed(now.Sub(s.webhook.CreatedAt))
	}
}
