package gormstore

import (
	"context"
	"slices"
	"time"

	"gorm.io/gorm"

	"waybill/domain"
)

func (s webhooks) EndpointOf(ctx context.Context, business, id domain.ID) (domain.WebhookEndpoint, error) {
	key, err := lookup(domain.PrefixBusiness, business)
	if err != nil {
		return domain.WebhookEndpoint{}, err
	}
	return s.takeEndpoint(s.with(ctx).Where("business_id = ? AND slot IS NOT NULL AND NOT listener", key), id)
}

func (s webhooks) Unhealthy(ctx context.Context, business domain.ID, since time.Time, after domain.ID, limit int) ([]domain.WebhookEndpoint,
	error) {
	query := s.with(ctx).Where("slot IS NOT NULL AND NOT listener").
		Where("enabled AND failing_since <= ? OR NOT enabled AND disabled_reason <> ?", instantOf(since), string(domain.DisabledByCaller))
	if business != "" {
		key, err := lookup(domain.PrefixBusiness, business)
		if err != nil {
			return nil, nil // no such business, so it has no endpoints
		}
		query = query.Where("application_id IN (?)", s.with(ctx).Model(&applicationRow{}).Select("id").Where("business_id = ?", key))
	}
	if after != "" {
		query = query.Where("id > ?", rowIDOf(after))
	}
	var rows []webhookEndpointRow
	err := query.Order("id").Limit(limit).Find(&rows).Error
	return all(rows, (*webhookEndpointRow).domain), s.dialect.failed("look for webhook endpoints that fail", err)
}

// failuresSought limits the waiting webhooks, the first ones, that are searched for the last
// failure of an endpoint. Where many wait, the last events were not attempted at all.
const failuresSought = 50

func (s webhooks) Summary(ctx context.Context, t domain.Tenant, endpoint domain.ID) (domain.WebhookSummary, error) {
	ctx, done := s.forList(ctx, t)
	defer done()
	var sum domain.WebhookSummary
	e, err := s.Endpoint(ctx, t, endpoint)
	if err != nil {
		return sum, err
	}
	key := rowIDOf(e.ID)
	var recent []webhookDeliveryRow
	err = s.with(ctx).Select("id", "status", "attempts").Where("business_id = ? AND endpoint_id = ?", rowIDOf(t.BusinessID), key).
		Order("created_at DESC, id DESC").Limit(domain.WebhooksSummed).Find(&recent).Error
	if err != nil {
		return sum, s.listFailed(ctx, "read the last webhook deliveries", err)
	}
	var failed []rowID
	for _, r := range recent {
		arrived := r.Status == string(domain.WebhookSucceeded)
		if r.Attempts > 0 {
			sum.Tried++
		}
		if arrived {
			sum.Arrived++
		}
		if r.Attempts > 1 || r.Attempts == 1 && !arrived {
			failed = append(failed, r.ID)
		}
	}
	if err := s.sumWaiting(ctx, key, &sum); err != nil {
		return sum, err
	}
	if sum.Waiting > 0 {
		var waiting []rowID
		err := s.pendingFor(ctx, key).Where("attempts > 0").Order("due_at, id").Limit(failuresSought).Pluck("id", &waiting).Error
		if err != nil {
			return sum, s.listFailed(ctx, "read webhooks that wait", err)
		}
		failed = slices.Concat(failed, waiting)
	}
	if len(failed) == 0 {
		return sum, nil
	}
	var last []webhookAttemptRow
	err = s.with(ctx).Where("business_id = ? AND webhook_delivery_id IN ? AND error_class <> ''", rowIDOf(t.BusinessID), padded(failed)).
		Order("started_at DESC, id DESC").Limit(1).Find(&last).Error
	if len(last) > 0 {
		sum.LastFailure = new(last[0].domain())
	}
	return sum, s.listFailed(ctx, "read the last failed attempt", err)
}

func (s webhooks) sumWaiting(ctx context.Context, endpoint rowID, sum *domain.WebhookSummary) error {
	var row struct {
		N     int
		First *instant
	}
	counted := s.pendingFor(ctx, endpoint).Select("due_at").Order("due_at").Limit(domain.MaxWaitingCounted)
	err := s.with(ctx).Table("(?) AS waiting", counted).Select("count(*) AS n, min(due_at) AS first").Scan(&row).Error
	sum.Waiting, sum.NextAt = row.N, optionalTime(row.First)
	return s.listFailed(ctx, "count webhooks that wait", err)
}

// toRecover begins a query on the webhooks that a recovery names.
func (s webhooks) toRecover(ctx context.Context, endpoint rowID, r domain.Recovery) *gorm.DB {
	statuses := make([]string, 0, 2)
	for _, status := range r.Statuses() {
		statuses = append(statuses, string(status))
	}
	return s.at(ctx, s.with(ctx), endpoint).Model(&webhookDeliveryRow{}).
		Where("endpoint_id = ?"+recoverable+" AND status IN ? AND created_at >= ? AND created_at < ?", endpoint, statuses, boundary(r.Since),
			boundary(r.Until)).
		// Without its event, which may have been purged meanwhile, a webhook cannot be resent.
		Where("event_id IN (?)", s.with(ctx).Model(&feedEventRow{}).Select("id").
			Where(s.dialect.placed("feed_events.id = webhook_deliveries.event_id$with(feed_events,webhook_deliveries)")))
}

func (s webhooks) Recoverable(ctx context.Context, t domain.Tenant, endpoint domain.ID, r domain.Recovery, limit int) (int, error) {
	ctx, done := s.forList(ctx, t)
	defer done()
	e, err := s.Endpoint(ctx, t, endpoint)
	if err != nil {
		return 0, err
	}
	var n int64
	counted := s.toRecover(ctx, rowIDOf(e.ID), r).Select("id").Limit(limit)
	err = s.with(ctx).Table("(?) AS named", counted).Count(&n).Error
	return int(n), s.listFailed(ctx, "count what can be recovered", err)
}

func (s feed) Event(ctx context.Context, t domain.Tenant, id domain.ID) (domain.FeedEvent, error) {
	key, err := lookup(domain.PrefixEvent, id)
	if err != nil {
		return domain.FeedEvent{}, err
	}
	var row feedEventRow
	if err := s.ofApplication(ctx, t).Where("id = ?", key).Take(&row).Error; err != nil {
		return domain.FeedEvent{}, s.dialect.failed("read an event of the feed", err)
	}
	return row.domain(), nil
}
