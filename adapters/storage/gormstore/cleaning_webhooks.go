package gormstore

import (
	"cmp"
	"context"
	"slices"
	"sort"
	"time"
)

const (
	// webhookRetention limits how long events and their webhooks are kept. An ID contains the time
	// of its creation, so a limit of age is a limit of IDs.
	webhookRetention = 30 * 24 * time.Hour
	// endpointGrace limits for how long after an endpoint's deletion a transaction that had read it
	// may add a pending webhook for it.
	endpointGrace = time.Hour
)

// purgeEndpoints deletes listeners without fetches, and deleted endpoints after all their webhooks.
// It also holds or deletes webhooks that became pending during a deletion or disabling, and those
// that were too many for it.
func (s *Store) purgeEndpoints(ctx context.Context, limit int) (removed int, err error) {
	sn := session{db: s.write.WithContext(ctx), dialect: s.dialect}
	if err := (webhooks{sn}).dropListeners(ctx, sn.with(ctx)); err != nil {
		return 0, err
	}
	var off []rowID
	pending := sn.with(ctx).Model(&webhookDeliveryRow{}).Select("min(due_at)").
		Where(sn.dialect.leases("endpoint_id = webhook_endpoints.id$with(webhook_deliveries,webhook_endpoints) AND status = 'pending'" +
			" AND due_at >= (SELECT due_since FROM $lease(webhook_endpoints.id) l)"))
	if err := sn.with(ctx).Model(&webhookEndpointRow{}).Where("slot IS NOT NULL AND NOT enabled AND (?) IS NOT NULL", pending).Pluck("id",
		&off).Error; err != nil {
		return 0, sn.dialect.failed("look for what is to be held", err)
	}
	for _, id := range off {
		held, err := webhooks{sn}.hold(ctx, id, limit-removed)
		if removed += held; err != nil || removed == limit {
			return removed, err
		}
	}

	var gone []struct {
		ID   rowID
		Aged bool
	}
	err = sn.with(ctx).Raw("SELECT id, updated_at <= "+sn.dialect.later+
		" AS aged FROM webhook_endpoints WHERE slot IS NULL ORDER BY id LIMIT ?",
		sn.dialect.laterBy(-endpointGrace), limit).Scan(&gone).Error
	for i := 0; err == nil && i < len(gone) && removed < limit; i++ {
		var n int
		if n, err = s.purgeLog(ctx, "endpoint_id = ?", "created_at, id", gone[i].ID, limit-removed); n == 0 && err == nil && gone[i].Aged {
			result := sn.with(ctx).Where("id = ? AND slot IS NULL", gone[i].ID).Delete(&webhookEndpointRow{})
			n, err = int(result.RowsAffected), result.Error
		}
		removed += n
	}
	return removed, sn.dialect.failed("delete what is left of webhook endpoints", err)
}

// purgeWebhooks deletes webhooks that were sent or given up long ago.
func (s *Store) purgeWebhooks(ctx context.Context, limit int) (int, error) {
	before, err := s.expired(ctx, "webhook_deliveries", webhookRetention)
	if err != nil {
		return 0, err
	}
	return s.purgeLog(ctx, "id < ? AND status <> 'pending'", "id", before, limit)
}

// purgeLog deletes webhook deliveries with their attempts. It skips a locked row: its transaction
// resends the webhook, or purges too.
func (s *Store) purgeLog(ctx context.Context, which, order string, value rowID, limit int) (removed int, err error) {
	err = s.transact(ctx, func(sn session) error {
		removed = 0
		var ids []rowID
		if err := sn.with(ctx).Model(&webhookDeliveryRow{}).Where(which, value).Order(order).Limit(limit).
			Clauses(sn.dialect.skipLocked()...).Pluck("id", &ids).Error; err != nil || len(ids) == 0 {
			return sn.dialect.failed("look for old webhook deliveries", err)
		}
		if err := sn.with(ctx).Where("webhook_delivery_id IN ?", ids).Delete(&webhookAttemptRow{}).Error; err != nil {
			return sn.dialect.failed("delete old attempts", err)
		}
		result := sn.with(ctx).Where("id IN ?", ids).Where(which, value).Delete(&webhookDeliveryRow{})
		removed = int(result.RowsAffected)
		return sn.dialect.failed("delete old webhook deliveries", result.Error)
	})
	return removed, err
}

// purgeFeed deletes old events, and records the last deleted position. It keeps an event while a
// webhook delivery needs it, which has the event's ID except for the last digit.
func (s *Store) purgeFeed(ctx context.Context, limit int) (removed int, err error) {
	before, err := s.expired(ctx, "feed_events", webhookRetention)
	if err != nil {
		return 0, err
	}
	needed := s.dialect.placed("NOT EXISTS (SELECT 1 FROM webhook_deliveries d WHERE d.id BETWEEN " +
		s.dialect.webhookIDOf("feed_events.id", "0") + " AND " + s.dialect.webhookIDOf("feed_events.id", "f") + "$with(d,feed_events))")
	err = s.transact(ctx, func(sn session) error {
		removed = 0
		var old []feedEventRow
		// Another process that purges holds a locked row.
		err := sn.with(ctx).Select("id", "business_id", "application_id", "environment", "delivery_id", "position").
			Where("id < ?", before).Where(needed).Order("id").Limit(limit).
			Clauses(sn.dialect.skipLocked()...).Find(&old).Error
		if err != nil || len(old) == 0 {
			return sn.dialect.failed("look for old events", err)
		}
		result := sn.with(ctx).Where("id IN ?", all(old, func(e *feedEventRow) rowID { return e.ID })).Delete(&feedEventRow{})
		if result.Error != nil {
			return sn.dialect.failed("delete old events", result.Error)
		}
		removed = int(result.RowsAffected)
		return feed{sn}.moveHorizons(ctx, old)
	})
	return removed, err
}

// moveHorizons records the last deleted position of each application, in the order
// of applications so that no two processes wait for each other.
func (s feed) moveHorizons(ctx context.Context, deleted []feedEventRow) error {
	sort.Slice(deleted, func(i, j int) bool {
		a, b := &deleted[i], &deleted[j]
		return cmp.Or(cmp.Compare(a.ApplicationID, b.ApplicationID), cmp.Compare(a.Environment, b.Environment),
			cmp.Compare(b.Position, a.Position)) < 0
	})
	deleted = slices.DeleteFunc(deleted, func(e feedEventRow) bool { return e.DeliveryID == nil })
	for i, e := range deleted {
		if i > 0 && e.ApplicationID == deleted[i-1].ApplicationID && e.Environment == deleted[i-1].Environment {
			continue
		}
		if err := s.with(ctx).Exec(s.dialect.keyed("INSERT INTO feed_horizons (business_id, application_id, environment, position)"+
			" VALUES (?, ?, ?, ?) ON CONFLICT ON CONSTRAINT feed_horizons_pkey DO UPDATE SET position = excluded.position"+
			" WHERE feed_horizons.position < excluded.position"),
			e.BusinessID, e.ApplicationID, e.Environment, e.Position).Error; err != nil {
			return s.dialect.failed("keep up to where events were deleted", err)
		}
	}
	return nil
}
