package toystore

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"waybill/domain"
	"waybill/ports"
)

// Outbox is what is to be sent.
func (s *Store) Outbox() ports.WebhookOutbox { return outbox{s} }

// OnFanout makes the listener hear of every commit from now on.
func (s *Store) OnFanout(l ports.FanoutListener) { s.onFanout = l }

type outbox struct{ store *Store }

// due is what is due for an endpoint, the first first.
func (s *state) due(to domain.ID, now time.Time) []domain.WebhookDelivery {
	return s.webhooks.where(func(d domain.WebhookDelivery) bool { return pendingFor(to)(d) && !d.DueAt.After(now) },
		func(a, b domain.WebhookDelivery) int {
			return cmp.Or(a.DueAt.Compare(*b.DueAt), cmp.Compare(a.ID, b.ID))
		})
}

func (o outbox) waiting(now time.Time, ahead time.Duration, admits func(endpoint) bool) (waiting []ports.WaitingEndpoint) {
	at := o.store.committed.Load()
	since := map[domain.ID]time.Time{}
	for _, e := range at.endpoints.rows {
		due := at.due(e.ID, now.Add(ahead))
		if !admits(e) || !e.Enabled || e.Listener || at.paused(e.Tenant.Environment) || len(due) == 0 {
			continue
		}
		since[e.ID] = *due[0].DueAt
		from := since[e.ID]
		if e.token != "" && leased(e.until) {
			from = latest(from, now.Add(time.Until(e.until)))
		}
		if e.Health.OpenUntil != nil {
			from = latest(from, *e.Health.OpenUntil)
		}
		if !from.After(now.Add(ahead)) {
			waiting = append(waiting, ports.WaitingEndpoint{ID: e.ID, From: from, Slow: e.Health.Slow(latest(from, now))})
		}
	}
	slices.SortFunc(waiting, func(a, b ports.WaitingEndpoint) int {
		return cmp.Or(since[a.ID].Compare(since[b.ID]), cmp.Compare(a.ID, b.ID))
	})
	return waiting
}

// latest is the later of two times.
func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func (o outbox) Waiting(_ context.Context, now time.Time, ahead time.Duration, limit int) ([]ports.WaitingEndpoint, error) {
	all := o.waiting(now, ahead, func(endpoint) bool { return true })
	return all[:min(len(all), limit)], nil
}

func (o outbox) WaitingFor(_ context.Context, id domain.ID, now time.Time, ahead time.Duration) (*ports.WaitingEndpoint, error) {
	if found := o.waiting(now, ahead, func(e endpoint) bool { return e.ID == id }); len(found) > 0 {
		return &found[0], nil
	}
	return nil, nil
}

func (o outbox) Lease(ctx context.Context, id domain.ID, token string, lasting time.Duration) (domain.WebhookEndpoint, bool, error) {
	return o.lease(ctx, id, token, lasting, func(e endpoint) bool {
		free := e.token == "" || e.token == token || !leased(e.until)
		open := e.Health.OpenUntil != nil && leased(*e.Health.OpenUntil)
		return free && !e.Listener && (!e.Enabled || !open) && !o.store.committed.Load().paused(e.Tenant.Environment)
	})
}

func (o outbox) Renew(ctx context.Context, id domain.ID, token string, lasting time.Duration) (domain.WebhookEndpoint, error) {
	e, kept, err := o.lease(ctx, id, token, lasting, func(e endpoint) bool { return e.token == token })
	if err == nil && !kept {
		err = ports.ErrEndpointLost
	}
	return e, err
}

func (o outbox) lease(ctx context.Context, id domain.ID, token string, lasting time.Duration,
	admits func(endpoint) bool) (e domain.WebhookEndpoint, leased bool, err error) {
	err = o.store.transact(ctx, func(on session) error {
		known, ok := on.tx.endpoints.get(id)
		if !ok || !admits(known) {
			return nil
		}
		known.token, known.until = token, time.Now().Add(lasting)
		on.tx.endpoints.put(id, known)
		if !known.Enabled {
			on.hold(id) // what was made pending beside the disabling
		}
		e, leased = known.WebhookEndpoint, true
		return nil
	})
	return e, leased, err
}

func (o outbox) Release(ctx context.Context, id domain.ID, token string) error {
	err := o.owned(ctx, id, token, func(_ session, e *endpoint) error {
		e.token, e.until = "", time.Time{}
		return nil
	})
	if errors.Is(err, ports.ErrEndpointLost) {
		return nil
	}
	return err
}

// owned changes an endpoint whose lease is the token's.
func (o outbox) owned(ctx context.Context, id domain.ID, token string, change func(session, *endpoint) error) error {
	return o.store.transact(ctx, func(on session) error {
		e, ok := on.tx.endpoints.get(id)
		if !ok || e.token != token {
			return ports.ErrEndpointLost
		}
		err := change(on, &e)
		on.tx.endpoints.put(id, e)
		return err
	})
}

func (o outbox) Due(_ context.Context, id domain.ID, now time.Time, limit int,
	except ...domain.ID) (out []ports.OutgoingWebhook, _ error) {
	at := o.store.committed.Load()
	due := slices.DeleteFunc(at.due(id, now), func(d domain.WebhookDelivery) bool { return slices.Contains(except, d.ID) })
	for _, d := range due[:min(len(due), limit)] {
		event, _ := at.feed.get(d.EventID)
		out = append(out, ports.OutgoingWebhook{WebhookDelivery: d, Payload: event.record.Payload})
	}
	return out, nil
}

func (o outbox) Record(ctx context.Context, id domain.ID, token string, outcomes []ports.WebhookOutcome,
	health domain.WebhookHealth) error {
	return o.owned(ctx, id, token, func(on session, e *endpoint) error {
		var at time.Time // when the last of them ended
		for _, w := range outcomes {
			on.settle(w)
			at = w.Attempt.Result.StartedAt.Add(w.Attempt.Result.Duration)
		}
		n, told := domain.RecoveredNotice(e.WebhookEndpoint, health, at)
		e.Health = health
		if told {
			return mails{on}.Tell(ctx, n)
		}
		return nil
	})
}

// settle counts an attempt that is not counted yet.
func (s session) settle(w ports.WebhookOutcome) {
	d, ok := s.tx.webhooks.get(w.Delivery.ID)
	if !ok || d.Attempts >= w.Attempt.Number {
		return
	}
	trigger := w.Attempt.Trigger
	if trigger == domain.TriggerProbe {
		trigger = domain.TriggerSchedule
	}
	d.Attempts = w.Delivery.Attempts
	if w.Delivery.Status == domain.WebhookSucceeded || d.Status == domain.WebhookPending && d.Trigger == trigger {
		d.Status, d.DueAt, d.Used, d.Trigger, d.Back = w.Delivery.Status, w.Delivery.DueAt, w.Delivery.Used, domain.TriggerSchedule, ""
	}
	s.tx.webhooks.put(d.ID, d)
	a := w.Attempt
	a.Result.Excerpt = strings.ToValidUTF8(strings.ReplaceAll(a.Result.Excerpt, "\x00", "\uFFFD"), "\uFFFD")
	a.Result.RetryAfter = 0 // it is in NextAt
	log, _ := s.tx.attempts.get(d.ID)
	s.tx.attempts.put(d.ID, append(slices.Clone(log), a))
}

func (o outbox) Disable(ctx context.Context, e domain.WebhookEndpoint, token string, event domain.FeedEvent) error {
	return o.owned(ctx, e.ID, token, func(on session, stored *endpoint) error {
		stored.Health, stored.Enabled, stored.Disabled, stored.UpdatedAt = e.Health, false, e.Disabled, e.UpdatedAt
		on.hold(e.ID)
		if err := (mails{on}).Tell(ctx, domain.DisabledNotice(e, event.ID)); err != nil {
			return err
		}
		return on.publish(e.Tenant, event, e.ID)
	})
}

func (o outbox) Backlog(_ context.Context, now time.Time) (n int, since time.Time, _ error) {
	at := o.store.committed.Load()
	for _, e := range at.endpoints.rows {
		if due := at.due(e.ID, now); e.Enabled && !e.Listener && len(due) > 0 {
			if n += len(due); since.IsZero() || due[0].DueAt.Before(since) {
				since = *due[0].DueAt
			}
		}
	}
	return n, since, nil
}

func (o outbox) Disabled(context.Context) (n int, _ error) {
	for _, e := range o.store.committed.Load().endpoints.rows {
		if !e.Enabled {
			n++
		}
	}
	return n, nil
}
