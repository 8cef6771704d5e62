package toystore

import (
	"cmp"
	"context"
	"slices"
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

func (s webhooks) Listeners(_ context.Context, t domain.Tenant) (all []domain.WebhookEndpoint, _ error) {
	at := func(e endpoint) domain.Position { return domain.Position{CreatedAt: e.CreatedAt, ID: e.ID} }
	for _, e := range s.now().endpoints.where(func(e endpoint) bool { return sameApplication(e.Tenant, t) && e.Listener }, by(at)) {
		all = append(all, e.WebhookEndpoint)
	}
	return all, nil
}

func (s webhooks) Recent(ctx context.Context, t domain.Tenant, to domain.ID, since time.Time, limit int) (recent []ports.OutgoingWebhook,
	_ error) {
	found, err := s.Deliveries(ctx, t, to, domain.WebhookDeliveryFilter{CreatedAfter: &since}, domain.PageRequest{Limit: limit})
	for _, d := range found[:min(len(found), limit)] {
		event, _ := s.now().feed.get(d.EventID)
		recent = append(recent, ports.OutgoingWebhook{WebhookDelivery: d, Payload: event.record.Payload})
	}
	return recent, err
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

func (s webhooks) EndpointOf(_ context.Context, business, id domain.ID) (domain.WebhookEndpoint, error) {
	e, err := s.now().endpoints.take(id)
	if err != nil || e.Tenant.BusinessID != business || e.Listener {
		return domain.WebhookEndpoint{}, domain.ErrNotFound
	}
	return e.WebhookEndpoint, nil
}

func (s webhooks) Unhealthy(_ context.Context, business domain.ID, since time.Time, after domain.ID, limit int) (
	all []domain.WebhookEndpoint, _ error) {
	found := s.now().endpoints.where(func(e endpoint) bool {
		failing := e.Enabled && e.Health.FailingSince != nil && !e.Health.FailingSince.After(since)
		return e.ID > after && !e.Listener && (business == "" || e.Tenant.BusinessID == business) &&
			(failing || !e.Enabled && e.Disabled != domain.DisabledByCaller)
	}, func(a, b endpoint) int { return cmp.Compare(a.ID, b.ID) })
	for _, e := range found[:min(len(found), limit)] {
		all = append(all, e.WebhookEndpoint)
	}
	return all, nil
}

func (s webhooks) Summary(ctx context.Context, t domain.Tenant, to domain.ID) (sum domain.WebhookSummary, err error) {
	if _, err := s.Endpoint(ctx, t, to); err != nil {
		return sum, err
	}
	newest := s.now().webhooks.where(func(d domain.WebhookDelivery) bool { return d.EndpointID == to }, by(positionOfWebhook))
	slices.Reverse(newest)
	for i, d := range newest {
		if pendingFor(to)(d) && sum.Waiting < domain.MaxWaitingCounted {
			sum.Waiting++
			if sum.NextAt == nil || d.DueAt.Before(*sum.NextAt) {
				sum.NextAt = d.DueAt
			}
		}
		if i < domain.WebhooksSummed && d.Attempts > 0 {
			sum.Tried++
		}
		if i < domain.WebhooksSummed && d.Status == domain.WebhookSucceeded {
			sum.Arrived++
		}
		made, _ := s.now().attempts.get(d.ID)
		for _, a := range made {
			if !a.Result.Succeeded() && (sum.LastFailure == nil || a.Result.StartedAt.After(sum.LastFailure.Result.StartedAt)) {
				sum.LastFailure = new(a)
			}
		}
	}
	return sum, nil
}

func (s session) toRecover(to domain.ID, r domain.Recovery) []domain.WebhookDelivery {
	return s.now().webhooks.where(func(d domain.WebhookDelivery) bool {
		return d.EndpointID == to && slices.Contains(r.Statuses(), d.Status) && within(d.CreatedAt, &r.Since, &r.Until)
	}, by(positionOfWebhook))
}

func (s webhooks) Recoverable(ctx context.Context, t domain.Tenant, to domain.ID, r domain.Recovery, limit int) (int, error) {
	if _, err := s.Endpoint(ctx, t, to); err != nil {
		return 0, err
	}
	return min(len(s.toRecover(to, r)), limit), nil
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
	named := s.toRecover(to, r)
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
