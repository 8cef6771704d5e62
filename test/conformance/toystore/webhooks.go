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

// endpoint is one with its lease.
type endpoint struct {
	domain.WebhookEndpoint
	token string
	until time.Time
}

// dead is a listener whose program has stopped fetching.
func (e endpoint) dead() bool { return e.Listener && !e.until.After(time.Now()) }

type feed struct{ session }

func (s feed) Events(_ context.Context, t domain.Tenant, f domain.FeedFilter, after *domain.FeedPosition, limit int) (page domain.FeedPage,
	_ error) {
	order := func(a, b domain.FeedPosition) int {
		return cmp.Or(cmp.Compare(a.Commit, b.Commit), cmp.Compare(a.Sequence, b.Sequence), cmp.Compare(a.ID, b.ID))
	}
	all := records(s.now().feed.where(
		func(e of[domain.FeedEvent]) bool { return sameApplication(e.tenant, t) && e.record.DeliveryID != "" },
		func(a, b of[domain.FeedEvent]) int { return order(a.record.Position, b.record.Position) }))
	if after != nil {
		at, known := slices.BinarySearchFunc(all, *after, func(e domain.FeedEvent, p domain.FeedPosition) int { return order(e.Position, p) })
		switch {
		case known:
			at++
		case after.ID != "" && len(all) == 0:
			return page, domain.CursorExpired(nil)
		case after.ID != "":
			return page, domain.CursorExpired(&all[0].OccurredAt)
		}
		all, page.Next = all[at:], *after
	}
	if f.DeliveryID != "" {
		all = slices.DeleteFunc(all, func(e domain.FeedEvent) bool { return e.DeliveryID != f.DeliveryID })
	}
	for _, e := range all {
		if (f.Type == "" || e.Type == f.Type) && within(e.OccurredAt, f.CreatedAfter, nil) {
			if len(page.Events) == limit {
				page.More = true
				page.Next = page.Events[limit-1].Position
				return page, nil
			}
			page.Events = append(page.Events, e)
		}
		page.Next = e.Position
	}
	return page, nil
}

var errNoPayload = errors.New("toystore: an event without the JSON that is published")

// publish stores an event and makes it pending for all endpoints that take it, but one.
func (s session) publish(t domain.Tenant, e domain.FeedEvent, except domain.ID) error {
	if err := s.keepEvent(t, e); err != nil {
		return err
	}
	mask := domain.MaskOf(e.Type)
	for _, to := range s.tx.endpoints.rows {
		wants, _ := domain.MaskOfPatterns(to.EventTypes)
		if !sameApplication(to.Tenant, t) || to.ID == except || wants&mask == 0 {
			continue
		}
		d := domain.WebhookDelivery{
			ID: domain.WebhookDeliveryID(e.ID, to.Slot), EndpointID: to.ID, EventID: e.ID, EventType: e.Type, DeliveryID: e.DeliveryID,
			Sequence: e.Sequence, Status: domain.WebhookHeld, Trigger: domain.TriggerSchedule, CreatedAt: e.OccurredAt,
		}
		if to.Enabled {
			d.Status, d.DueAt = domain.WebhookPending, &e.OccurredAt
			s.tx.fanned = append(s.tx.fanned, to.ID)
		}
		s.tx.webhooks.put(d.ID, d)
	}
	return nil
}

// keepEvent stores an event in the feed alone.
func (s session) keepEvent(t domain.Tenant, e domain.FeedEvent) error {
	if len(e.Payload) == 0 {
		return errNoPayload
	}
	e.Position = domain.FeedPosition{Commit: s.tx.commit, Sequence: e.Sequence, ID: e.ID}
	s.tx.feed.put(e.ID, of[domain.FeedEvent]{t, e})
	return nil
}

type webhooks struct{ session }

func (s webhooks) AllEndpoints(_ context.Context, after domain.ID, limit int) (all []domain.WebhookEndpoint, _ error) {
	found := s.now().endpoints.where(func(e endpoint) bool { return e.ID > after },
		func(a, b endpoint) int { return cmp.Compare(a.ID, b.ID) })
	for _, e := range found[:min(len(found), limit)] {
		all = append(all, e.WebhookEndpoint)
	}
	return all, nil
}

func (s webhooks) Endpoint(_ context.Context, t domain.Tenant, id domain.ID) (domain.WebhookEndpoint, error) {
	e, err := s.now().endpoints.take(id)
	if err != nil || !sameApplication(e.Tenant, t) {
		return domain.WebhookEndpoint{}, domain.ErrNotFound
	}
	return e.WebhookEndpoint, nil
}

func (s webhooks) LockEndpoint(ctx context.Context, t domain.Tenant, id domain.ID) (domain.WebhookEndpoint, error) {
	return s.Endpoint(ctx, t, id)
}

func (s webhooks) Endpoints(_ context.Context, t domain.Tenant, p domain.PageRequest) (all []domain.WebhookEndpoint, _ error) {
	at := func(e endpoint) domain.Position { return domain.Position{CreatedAt: e.CreatedAt, ID: e.ID} }
	for _, e := range page(s.now().endpoints.where(
		func(e endpoint) bool { return sameApplication(e.Tenant, t) && !e.Listener }, by(at)), p, false, at) {
		all = append(all, e.WebhookEndpoint)
	}
	return all, nil
}

func (s webhooks) Delivery(ctx context.Context, t domain.Tenant, id domain.ID) (domain.WebhookDelivery, error) {
	d, err := s.now().webhooks.take(id)
	if err == nil {
		_, err = s.Endpoint(ctx, t, d.EndpointID)
	}
	if err != nil {
		return domain.WebhookDelivery{}, err
	}
	return d, nil
}

func (s webhooks) LockDelivery(ctx context.Context, t domain.Tenant, id domain.ID) (domain.WebhookDelivery, error) {
	return s.Delivery(ctx, t, id)
}

func positionOfWebhook(d domain.WebhookDelivery) domain.Position {
	return domain.Position{CreatedAt: d.CreatedAt, ID: d.ID}
}

func (s webhooks) Deliveries(ctx context.Context, t domain.Tenant, to domain.ID, f domain.WebhookDeliveryFilter,
	p domain.PageRequest) ([]domain.WebhookDelivery, error) {
	if _, err := s.Endpoint(ctx, t, to); err != nil {
		return nil, nil //nolint:nilerr // no such endpoint, so nothing was sent to it
	}
	return page(s.now().webhooks.where(func(d domain.WebhookDelivery) bool {
		return d.EndpointID == to && (f.Status == "" || d.Status == f.Status) && (f.EventType == "" || d.EventType == f.EventType) &&
			(f.DeliveryID == "" || d.DeliveryID == f.DeliveryID) && within(d.CreatedAt, f.CreatedAfter, f.CreatedBefore)
	}, by(positionOfWebhook)), p, true, positionOfWebhook), nil
}

func (s webhooks) Attempts(ctx context.Context, t domain.Tenant, id domain.ID) ([]domain.WebhookAttempt, error) {
	if _, err := s.Delivery(ctx, t, id); err != nil {
		return nil, nil //nolint:nilerr // no such webhook delivery, so no attempts
	}
	all, _ := s.now().attempts.get(id)
	return slices.Clone(all[max(0, len(all)-domain.MaxAttemptsListed):]), nil
}

func (s webhooks) Tests(_ context.Context, to domain.ID, since time.Time) (n int, _ error) {
	for _, d := range s.now().webhooks.rows {
		if d.EndpointID == to && d.EventType == domain.EventEndpointTest && !d.CreatedAt.Before(since) {
			n++
		}
	}
	return n, nil
}

func (s webhooks) InsertEndpoint(_ context.Context, e domain.WebhookEndpoint) (domain.WebhookEndpoint, error) {
	if _, err := s.tx.applications.take(e.Tenant.ApplicationID); err != nil {
		return domain.WebhookEndpoint{}, err
	}
	taken := map[int]bool{}
	for _, other := range s.tx.endpoints.rows {
		switch {
		case !sameApplication(other.Tenant, e.Tenant):
		case other.dead():
			s.drop(other.ID)
		default:
			taken[other.Slot] = true
		}
	}
	for e.Slot = 0; taken[e.Slot]; e.Slot++ {
	}
	if e.Slot >= domain.MaxWebhookEndpoints {
		return domain.WebhookEndpoint{}, ports.ErrEndpointLimit
	}
	stored := endpoint{WebhookEndpoint: e}
	if e.Listener {
		stored.token, stored.until = e.ID.Hex(), time.Now().Add(domain.ListenerLife)
	}
	s.tx.endpoints.put(e.ID, stored)
	return e, nil
}

func (s webhooks) UpdateEndpoint(ctx context.Context, e domain.WebhookEndpoint) error {
	if _, err := s.Endpoint(ctx, e.Tenant, e.ID); err != nil {
		return err
	}
	if !e.Enabled {
		s.hold(e.ID)
	}
	return update(&s.tx.endpoints, e.ID, func(stored *endpoint) {
		e.Slot, e.Listener, e.CreatedAt = stored.Slot, stored.Listener, stored.CreatedAt
		stored.WebhookEndpoint = e
	})
}

// each changes the webhook deliveries that a condition admits.
func (s session) each(admits func(domain.WebhookDelivery) bool, change func(*domain.WebhookDelivery)) {
	for id, d := range s.tx.webhooks.rows {
		if admits(d) {
			change(&d)
			s.tx.webhooks.put(id, d)
		}
	}
}

func pendingFor(to domain.ID) func(domain.WebhookDelivery) bool {
	return func(d domain.WebhookDelivery) bool { return d.EndpointID == to && d.Status == domain.WebhookPending }
}

// hold holds what is pending for an endpoint that is disabled.
func (s session) hold(to domain.ID) {
	s.each(pendingFor(to), func(d *domain.WebhookDelivery) {
		d.Status, d.DueAt, d.Trigger, d.Back = domain.WebhookHeld, nil, domain.TriggerSchedule, ""
	})
}

func (s webhooks) DeleteEndpoint(ctx context.Context, t domain.Tenant, id domain.ID) error {
	if _, err := s.Endpoint(ctx, t, id); err != nil {
		return err
	}
	s.drop(id)
	return nil
}

// drop deletes an endpoint with all that is its own.
func (s session) drop(id domain.ID) {
	s.tx.endpoints.remove(id)
	for webhook, d := range s.tx.webhooks.rows {
		if d.EndpointID == id {
			s.tx.webhooks.remove(webhook)
			s.tx.attempts.remove(webhook)
		}
	}
}

func (s webhooks) UpdateDelivery(_ context.Context, d domain.WebhookDelivery) error {
	if d.Status == domain.WebhookPending {
		s.tx.fanned = append(s.tx.fanned, d.EndpointID)
	}
	return update(&s.tx.webhooks, d.ID, func(stored *domain.WebhookDelivery) {
		stored.Status, stored.Attempts, stored.Used, stored.DueAt = d.Status, d.Attempts, d.Used, d.DueAt
		stored.Trigger, stored.Back = d.Trigger, d.Back
	})
}

func (s webhooks) Recover(_ context.Context, to domain.ID, r domain.Recovery, now time.Time, limit int) (queued int, running bool,
	_ error) {
	for _, d := range s.tx.webhooks.rows {
		if pendingFor(to)(d) && d.Trigger == domain.TriggerRecover {
			return 0, true, nil
		}
	}
	named := s.tx.webhooks.where(func(d domain.WebhookDelivery) bool {
		return d.EndpointID == to && slices.Contains(r.Statuses(), d.Status) && within(d.CreatedAt, &r.Since, &r.Until)
	}, by(positionOfWebhook))
	for _, d := range named[:min(len(named), limit)] {
		d.Status, d.DueAt, d.Used, d.Trigger, d.Back = domain.WebhookPending, &now, 0, domain.TriggerRecover, ""
		s.tx.webhooks.put(d.ID, d)
		queued++
	}
	if queued > 0 {
		s.tx.fanned = append(s.tx.fanned, to)
	}
	return queued, false, nil
}

func (s webhooks) PublishTo(_ context.Context, e domain.WebhookEndpoint, event domain.FeedEvent) (domain.WebhookDelivery, error) {
	if err := s.keepEvent(e.Tenant, event); err != nil {
		return domain.WebhookDelivery{}, err
	}
	d := domain.WebhookDelivery{
		ID: domain.WebhookDeliveryID(event.ID, e.Slot), EndpointID: e.ID, EventID: event.ID, EventType: event.Type,
		Status: domain.WebhookPending, DueAt: &event.OccurredAt, Trigger: domain.TriggerTest, Back: domain.WebhookFailed,
		CreatedAt: event.OccurredAt,
	}
	s.tx.webhooks.put(d.ID, d)
	s.tx.fanned = append(s.tx.fanned, e.ID)
	return d, nil
}

func (s webhooks) Publish(_ context.Context, except domain.WebhookEndpoint, event domain.FeedEvent) error {
	return s.publish(except.Tenant, event, except.ID)
}

func (s webhooks) AddKeyCheck(_ context.Context, sealed []byte) ([]byte, error) {
	if s.tx.keyCheck == nil {
		s.tx.keyCheck = sealed
	}
	return s.tx.keyCheck, nil
}

func (s webhooks) SetKeyCheck(_ context.Context, sealed []byte) error {
	s.tx.keyCheck = sealed
	return nil
}

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

func (o outbox) waiting(now time.Time, admits func(endpoint) bool) (waiting []ports.WaitingEndpoint) {
	at := o.store.committed.Load()
	since := map[domain.ID]time.Time{}
	for _, e := range at.endpoints.rows {
		if !admits(e) || !e.Enabled || e.Listener || e.Health.Open(now) || e.token != "" && leased(e.until) {
			continue
		}
		if due := at.due(e.ID, now); len(due) > 0 {
			since[e.ID] = *due[0].DueAt
			waiting = append(waiting, ports.WaitingEndpoint{ID: e.ID, Slow: e.Health.Slow(now)})
		}
	}
	slices.SortFunc(waiting, func(a, b ports.WaitingEndpoint) int {
		return cmp.Or(since[a.ID].Compare(since[b.ID]), cmp.Compare(a.ID, b.ID))
	})
	return waiting
}

func (o outbox) Waiting(_ context.Context, now time.Time, limit int) ([]ports.WaitingEndpoint, error) {
	all := o.waiting(now, func(endpoint) bool { return true })
	return all[:min(len(all), limit)], nil
}

func (o outbox) WaitingFor(_ context.Context, id domain.ID, now time.Time) (*ports.WaitingEndpoint, error) {
	if found := o.waiting(now, func(e endpoint) bool { return e.ID == id }); len(found) > 0 {
		return &found[0], nil
	}
	return nil, nil
}

func (o outbox) Lease(ctx context.Context, id domain.ID, token string, lasting time.Duration) (domain.WebhookEndpoint, bool, error) {
	return o.lease(ctx, id, token, lasting, func(e endpoint) bool {
		free := e.token == "" || e.token == token || !leased(e.until)
		open := e.Health.OpenUntil != nil && leased(*e.Health.OpenUntil)
		return free && !e.Listener && (!e.Enabled || !open)
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

func (o outbox) Due(_ context.Context, id domain.ID, now time.Time, limit int) (out []ports.OutgoingWebhook, _ error) {
	at := o.store.committed.Load()
	due := at.due(id, now)
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
