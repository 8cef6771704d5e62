package gormstore

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"waybill/domain"
	"waybill/ports"
)

// webhooks implements ports.WebhookStore.
type webhooks struct{ session }

// endpoints begins a query on the endpoints that are not deleted.
func (s webhooks) endpoints(ctx context.Context, t domain.Tenant) *gorm.DB {
	return s.ofApplication(ctx, t).Where("slot IS NOT NULL")
}

func (s webhooks) AllEndpoints(ctx context.Context, after domain.ID, limit int) ([]domain.WebhookEndpoint, error) {
	query := s.with(ctx).Where("slot IS NOT NULL")
	if after != "" {
		query = query.Where("id > ?", rowIDOf(after))
	}
	var rows []webhookEndpointRow
	err := query.Order("id").Limit(limit).Find(&rows).Error
	return all(rows, (*webhookEndpointRow).domain), s.dialect.failed("list all webhook endpoints", err)
}

func (s webhooks) Endpoint(ctx context.Context, t domain.Tenant, id domain.ID) (domain.WebhookEndpoint, error) {
	return s.takeEndpoint(s.endpoints(ctx, t), id)
}

func (s webhooks) LockEndpoint(ctx context.Context, t domain.Tenant, id domain.ID) (domain.WebhookEndpoint, error) {
	if err := s.reach(rowEndpoint, string(id)); err != nil {
		return domain.WebhookEndpoint{}, s.dialect.failed("lock a webhook endpoint", err)
	}
	return s.takeEndpoint(s.endpoints(ctx, t).Clauses(forUpdate), id)
}

func (s webhooks) takeEndpoint(query *gorm.DB, id domain.ID) (domain.WebhookEndpoint, error) {
	key, err := lookup(domain.PrefixWebhookEndpoint, id)
	if err != nil {
		return domain.WebhookEndpoint{}, err
	}
	var row webhookEndpointRow
	if err := query.Where("id = ?", key).Take(&row).Error; err != nil {
		return domain.WebhookEndpoint{}, s.dialect.failed("read a webhook endpoint", err)
	}
	return row.domain(), nil
}

func (s webhooks) Endpoints(ctx context.Context, t domain.Tenant, p domain.PageRequest) ([]domain.WebhookEndpoint, error) {
	ctx, done := s.forList(ctx, t)
	defer done()
	var rows []webhookEndpointRow
	err := page(s.endpoints(ctx, t), p, false).Where("NOT listener").Find(&rows).Error
	return all(rows, (*webhookEndpointRow).domain), s.listFailed(ctx, "list webhook endpoints", err)
}

func (s webhooks) Listeners(ctx context.Context, t domain.Tenant) ([]domain.WebhookEndpoint, error) {
	var rows []webhookEndpointRow
	err := s.endpoints(ctx, t).Where("listener").Order("created_at, id").Find(&rows).Error
	return all(rows, (*webhookEndpointRow).domain), s.dialect.failed("list webhook listeners", err)
}

const recentWebhooks = ` FROM webhook_deliveries d JOIN feed_events f ON f.id = d.event_id AND f.business_id = d.business_id
WHERE d.business_id = ? AND d.endpoint_id = ? AND d.created_at >= ? ORDER BY d.created_at DESC, d.id DESC LIMIT ?`

func (s webhooks) Recent(ctx context.Context, t domain.Tenant, endpoint domain.ID, since time.Time,
	limit int) (recent []ports.OutgoingWebhook, err error) {
	ctx, done := s.forList(ctx, t)
	defer done()
	e, err := s.Endpoint(ctx, t, endpoint)
	if domain.HasCode(err, domain.CodeNotFound) {
		return nil, nil // deleted, or another's
	}
	if err != nil {
		return nil, s.listFailed(ctx, "list recent webhooks", err)
	}
	rows, err := s.with(ctx).Raw("SELECT f.payload, "+webhookDeliveryTable.selectAs("d", "")+recentWebhooks, rowIDOf(t.BusinessID),
		rowIDOf(e.ID), boundary(since), limit).Rows()
	if err != nil {
		return nil, s.listFailed(ctx, "list recent webhooks", err)
	}
	defer rows.Close()
	for err == nil && rows.Next() {
		var row webhookDeliveryRow
		var payload []byte
		err = rows.Scan(webhookDeliveryTable.scanned(ctx, &row, &payload)...)
		recent = append(recent, ports.OutgoingWebhook{WebhookDelivery: row.domain(), Payload: payload})
	}
	return recent, s.listFailed(ctx, "list recent webhooks", errors.Join(err, rows.Err()))
}

func (s webhooks) Delivery(ctx context.Context, t domain.Tenant, id domain.ID) (domain.WebhookDelivery, error) {
	return s.takeDelivery(s.deliveriesOf(ctx, t), id)
}

func (s webhooks) LockDelivery(ctx context.Context, t domain.Tenant, id domain.ID) (domain.WebhookDelivery, error) {
	if err := s.reach(rowWebhook, string(id)); err != nil {
		return domain.WebhookDelivery{}, s.dialect.failed("lock a webhook delivery", err)
	}
	return s.takeDelivery(s.deliveriesOf(ctx, t).Clauses(forUpdate), id)
}

// deliveriesOf begins a query on the webhook deliveries of the application's
// endpoints, except deleted ones.
func (s webhooks) deliveriesOf(ctx context.Context, t domain.Tenant) *gorm.DB {
	return s.with(ctx).Where("business_id = ? AND endpoint_id IN (?)", rowIDOf(t.BusinessID),
		s.endpoints(ctx, t).Model(&webhookEndpointRow{}).Select("id"))
}

func (s webhooks) takeDelivery(query *gorm.DB, id domain.ID) (domain.WebhookDelivery, error) {
	key, err := lookup(domain.PrefixWebhookDelivery, id)
	if err != nil {
		return domain.WebhookDelivery{}, err
	}
	var row webhookDeliveryRow
	if err := query.Where("id = ?", key).Take(&row).Error; err != nil {
		return domain.WebhookDelivery{}, s.dialect.failed("read a webhook delivery", err)
	}
	return row.domain(), nil
}

func (s webhooks) Deliveries(ctx context.Context, t domain.Tenant, endpoint domain.ID, f domain.WebhookDeliveryFilter,
	p domain.PageRequest) ([]domain.WebhookDelivery, error) {
	ctx, done := s.forList(ctx, t)
	defer done()
	if !storable(string(f.Status), string(f.EventType)) {
		return nil, nil
	}
	key, _ := lookup(domain.PrefixWebhookEndpoint, endpoint)
	if key == "" {
		return nil, nil // no such endpoint, so nothing was sent to it
	}
	query := page(s.deliveriesOf(ctx, t), p, true).Where("endpoint_id = ?", key)
	switch f.Status {
	case "":
	case domain.WebhookPending:
		query = query.Where("status = 'pending'")
	case domain.WebhookFailed, domain.WebhookHeld:
		query = query.Where("status = ?"+recoverable, string(f.Status))
	default:
		query = query.Where("status = ?", string(f.Status))
	}
	if f.EventType != "" {
		query = query.Where("event_type = ?", string(f.EventType))
	}
	if f.DeliveryID != "" {
		ids, err := s.idsFor(ctx, t, endpoint, f.DeliveryID)
		if err != nil || ids == nil {
			return nil, err
		}
		query = query.Where("id IN (?)", ids)
	}
	if f.CreatedAfter != nil {
		query = query.Where("created_at >= ?", boundary(*f.CreatedAfter))
	}
	if f.CreatedBefore != nil {
		query = query.Where("created_at < ?", boundary(*f.CreatedBefore))
	}
	var rows []webhookDeliveryRow
	err := query.Find(&rows).Error
	return all(rows, (*webhookDeliveryRow).domain), s.listFailed(ctx, "list webhook deliveries", err)
}

// recoverable repeats the condition of the index of recoverable rows. With a parameter the planner
// would not use the index.
const recoverable = " AND status IN ('failed', 'held')"

// idsFor begins a query for the IDs of webhook deliveries that a delivery's events have in a slot.
// It uses the timeline, which has an index of the delivery. It returns nil where there is no such
// delivery or endpoint.
func (s webhooks) idsFor(ctx context.Context, t domain.Tenant, endpoint, delivery domain.ID) (*gorm.DB, error) {
	e, err := s.Endpoint(ctx, t, endpoint)
	if domain.HasCode(err, domain.CodeNotFound) {
		return nil, nil // deleted, or another's
	}
	key, _ := lookup(domain.PrefixDelivery, delivery)
	if err != nil || key == "" {
		return nil, err
	}
	return s.with(ctx).Model(&eventRow{}).Select(s.dialect.webhookIDOf("id", strconv.FormatInt(int64(e.Slot), 16))).
		Where("business_id = ? AND delivery_id = ?", rowIDOf(t.BusinessID), key), nil
}

func (s webhooks) Attempts(ctx context.Context, t domain.Tenant, delivery domain.ID) ([]domain.WebhookAttempt, error) {
	key, _ := lookup(domain.PrefixWebhookDelivery, delivery)
	if key == "" {
		return nil, nil // no such webhook delivery, so no attempts
	}
	var rows []webhookAttemptRow
	err := s.with(ctx).Where("business_id = ? AND webhook_delivery_id IN (?)", rowIDOf(t.BusinessID),
		s.deliveriesOf(ctx, t).Model(&webhookDeliveryRow{}).Select("id").Where("id = ?", key)).
		Order("number DESC").Limit(domain.MaxAttemptsListed).Find(&rows).Error
	slices.Reverse(rows)
	return all(rows, (*webhookAttemptRow).domain), s.dialect.failed("read attempts", err)
}

func (s webhooks) Tests(ctx context.Context, endpoint domain.ID, since time.Time) (int, error) {
	key, err := lookup(domain.PrefixWebhookEndpoint, endpoint)
	if err != nil {
		return 0, err
	}
	var n int64
	err = s.at(ctx, s.with(ctx).Model(&webhookDeliveryRow{}), key).
		Where("endpoint_id = ? AND created_at >= ? AND event_type = ?", key, boundary(since), string(domain.EventEndpointTest)).
		Count(&n).Error
	return int(n), s.dialect.failed("count test events", err)
}

// InsertEndpoint inserts an endpoint in the first free slot.
func (s webhooks) InsertEndpoint(ctx context.Context, e domain.WebhookEndpoint) (domain.WebhookEndpoint, error) {
	if err := s.dropListeners(ctx, s.ofApplication(ctx, e.Tenant)); err != nil {
		return domain.WebhookEndpoint{}, err
	}
	// A concurrent insert of an endpoint waits here; bookings do not.
	if err := s.reach(rowApplication, string(e.Tenant.ApplicationID)); err != nil {
		return domain.WebhookEndpoint{}, s.dialect.failed("lock an application", err)
	}
	lock := s.with(ctx).Clauses(clause.Locking{Strength: "NO KEY UPDATE"}).Where("id = ?", rowIDOf(e.Tenant.ApplicationID))
	if err := lock.Take(&applicationRow{}).Error; err != nil {
		return domain.WebhookEndpoint{}, s.dialect.failed("lock an application", err)
	}
	var taken []int
	if err := s.endpoints(ctx, e.Tenant).Model(&webhookEndpointRow{}).Pluck("slot", &taken).Error; err != nil {
		return domain.WebhookEndpoint{}, s.dialect.failed("count webhook endpoints", err)
	}
	used := map[int]bool{}
	for _, slot := range taken {
		used[slot] = true
	}
	for e.Slot = 0; used[e.Slot]; e.Slot++ {
	}
	if e.Slot >= domain.MaxWebhookEndpoints {
		return domain.WebhookEndpoint{}, ports.ErrEndpointLimit
	}
	row, err := newWebhookEndpointRow(e)
	if err != nil {
		return domain.WebhookEndpoint{}, err
	}
	if err := s.unused(ctx, "webhook_endpoints", row.ID); err != nil {
		return domain.WebhookEndpoint{}, err
	}
	if err := s.with(ctx).Create(&row).Error; err != nil {
		return domain.WebhookEndpoint{}, s.dialect.inserted("webhook_endpoints", "insert a webhook endpoint", err)
	}
	if err := s.addLease(ctx, row); err != nil {
		return domain.WebhookEndpoint{}, err
	}
	if e.Listener {
		// It holds its own lease, by its ID, for as long as it fetches.
		if _, err := s.changeLease(ctx, "begin the life of a listener", row.ID, "token = ?, leased_until = $later",
			[]any{row.ID, s.dialect.laterBy(domain.ListenerLife)}, "token IS NULL"); err != nil {
			return domain.WebhookEndpoint{}, err
		}
	}
	return e, nil
}

// dropListeners deletes those listeners of a query whose programs have stopped
// fetching.
func (s webhooks) dropListeners(ctx context.Context, of *gorm.DB) error {
	var gone []rowID
	err := of.Model(&webhookEndpointRow{}).Where("slot IS NOT NULL AND "+s.dialect.dead()).Pluck("id", &gone).Error
	if err != nil {
		return s.dialect.failed("look for dead listeners", err)
	}
	for _, id := range gone {
		if err := s.drop(ctx, s.at(ctx, s.with(ctx), id).Where("id = ? AND "+s.dialect.dead(), id), id); err != nil {
			return err
		}
	}
	return nil
}

// dead returns the condition on a listener whose program has stopped fetching.
func (e *dialect) dead() string {
	return e.leases("listener AND (SELECT l.leased_until FROM $lease(webhook_endpoints.id) l) <= $now")
}

func (s webhooks) UpdateEndpoint(ctx context.Context, e domain.WebhookEndpoint) error {
	row, err := newWebhookEndpointRow(e)
	if err != nil {
		return err
	}
	changes := row.health()
	for column, value := range map[string]any{
		"url": row.URL, "event_types": row.EventTypes, "event_mask": row.EventMask, "description": row.Description,
		"enabled": row.Enabled, "disabled_reason": row.DisabledReason, "secret": row.Secret,
		"previous_secret": row.PreviousSecret, "previous_until": row.PreviousUntil, "updated_at": row.UpdatedAt,
	} {
		changes[column] = value
	}
	result := s.endpoints(ctx, e.Tenant).Model(&webhookEndpointRow{}).Where("id = ?", row.ID).Updates(changes)
	if err := s.dialect.changed("update a webhook endpoint", result); err != nil || e.Enabled {
		return err
	}
	_, err = s.hold(ctx, row.ID, heldAtOnce)
	return err
}

// pendingFor begins a query on the pending webhooks of an endpoint.
func (s webhooks) pendingFor(ctx context.Context, endpoint rowID) *gorm.DB {
	key, err := s.placeOf(ctx, endpoint)
	query := s.with(ctx).Model(&webhookDeliveryRow{}).
		Where(s.dialect.leases("endpoint_id = ?$node AND status = 'pending' AND due_at >= (SELECT due_since FROM $lease(?) l)"),
			slices.Concat(key, key)...)
	_ = query.AddError(err) // the query returns it
	return query
}

// heldAtOnce limits the pending webhooks that are held, or deleted, together with the change of an
// endpoint. All those of a long outage would take longer than a statement may. The cleaning does
// the rest, none of which is sent meanwhile.
const heldAtOnce = 10_000

// firstPending begins a query on the first pending webhooks of an endpoint.
func (s webhooks) firstPending(ctx context.Context, endpoint rowID, most int) (*gorm.DB, error) {
	var last webhookDeliveryRow
	result := s.pendingFor(ctx, endpoint).Select("due_at", "id").Order("due_at, id").Offset(most - 1).Limit(1).Find(&last)
	if result.Error != nil || result.RowsAffected == 0 {
		return s.pendingFor(ctx, endpoint), s.dialect.failed("look for what is pending", result.Error)
	}
	// A range of the index: with their IDs Postgres might compare each with all.
	return s.pendingFor(ctx, endpoint).Where("(due_at, id) <= (?, ?)", *last.DueAt, last.ID), nil
}

// hold changes pending webhooks of a disabled endpoint to held, at most so many.
func (s webhooks) hold(ctx context.Context, endpoint rowID, most int) (held int, err error) {
	first, err := s.firstPending(ctx, endpoint, most)
	if err != nil {
		return 0, err
	}
	off := s.at(ctx, s.with(ctx), endpoint).Model(&webhookEndpointRow{}).Select("id").Where("id = ? AND NOT enabled", endpoint)
	result := first.Where("endpoint_id IN (?)", off).Updates(holding)
	return int(result.RowsAffected), s.dialect.failed("hold what is pending", result.Error)
}

// holding lists the columns that change when a webhook delivery is held.
var holding = map[string]any{"status": string(domain.WebhookHeld), "due_at": nil, "trigger": string(domain.TriggerSchedule), "back": ""}

func (s webhooks) DeleteEndpoint(ctx context.Context, t domain.Tenant, id domain.ID) error {
	e, err := s.LockEndpoint(ctx, t, id)
	if err != nil {
		return err
	}
	return s.drop(ctx, s.with(ctx).Where("id = ? AND business_id = ?", rowIDOf(e.ID), rowIDOf(t.BusinessID)), rowIDOf(e.ID))
}

// drop deletes an endpoint if the query still finds it.
func (s webhooks) drop(ctx context.Context, query *gorm.DB, endpoint rowID) error {
	result := query.Model(&webhookEndpointRow{}).Updates(map[string]any{
		"slot": nil, "updated_at": gorm.Expr(s.dialect.now),
	})
	if result.Error != nil || result.RowsAffected == 0 {
		return s.dialect.failed("delete a webhook endpoint", result.Error)
	}
	first, err := s.firstPending(ctx, endpoint, heldAtOnce)
	if err != nil {
		return err
	}
	return s.dialect.failed("delete what is pending", first.Delete(&webhookDeliveryRow{}).Error)
}

func (s webhooks) UpdateDelivery(ctx context.Context, d domain.WebhookDelivery) error {
	result := s.at(ctx, s.with(ctx), rowIDOf(d.EndpointID)).Model(&webhookDeliveryRow{}).Where("id = ?", rowIDOf(d.ID)).
		Updates(webhookDeliveryChanges(d))
	if err := s.dialect.changed("update a webhook delivery", result); err != nil {
		return err
	}
	if d.Status != domain.WebhookPending {
		return nil
	}
	s.fanned.add(rowIDOf(d.EndpointID))
	return s.dueFrom(ctx, rowIDOf(d.EndpointID), *d.DueAt)
}

func (s webhooks) Recover(ctx context.Context, endpoint domain.ID, r domain.Recovery, now time.Time, limit int) (queued int, running bool,
	err error) {
	key := rowIDOf(endpoint)
	var first []rowID
	err = s.pendingFor(ctx, key).Where("trigger = ?", string(domain.TriggerRecover)).Limit(1).Pluck("id", &first).Error
	if err != nil || len(first) > 0 {
		return 0, len(first) > 0, s.dialect.failed("look for a recovery under way", err)
	}
	named := func() *gorm.DB { return s.toRecover(ctx, key, r) }
	var last webhookDeliveryRow
	found := named().Select("created_at", "id").Order("created_at, id").Offset(limit - 1).Limit(1).Find(&last)
	if found.Error != nil {
		return 0, false, s.dialect.failed("look for what is to be recovered", found.Error)
	}
	query := named()
	if found.RowsAffected > 0 { // a range, as firstPending
		query = query.Where("(created_at, id) <= (?, ?)", last.CreatedAt, last.ID)
	}
	result := query.Updates(map[string]any{
		"status": string(domain.WebhookPending), "due_at": instantOf(now), "used": 0,
		"trigger": string(domain.TriggerRecover), "back": "",
	})
	if result.Error != nil || result.RowsAffected == 0 {
		return 0, false, s.dialect.failed("recover webhook deliveries", result.Error)
	}
	s.fanned.add(key)
	return int(result.RowsAffected), false, s.dueFrom(ctx, key, now)
}

func (s webhooks) PublishTo(ctx context.Context, e domain.WebhookEndpoint, event domain.FeedEvent) (domain.WebhookDelivery, error) {
	if err := feed(s).insert(ctx, e.Tenant, event); err != nil {
		return domain.WebhookDelivery{}, err
	}
	row := webhookDeliveryRow{
		ID: rowIDOf(domain.WebhookDeliveryID(event.ID, e.Slot)), BusinessID: rowIDOf(e.Tenant.BusinessID),
		EndpointID: rowIDOf(e.ID), EventID: rowIDOf(event.ID),
		EventType: string(event.Type), Status: string(domain.WebhookPending), DueAt: optionalInstant(&event.OccurredAt),
		Trigger: string(domain.TriggerTest), Back: string(domain.WebhookFailed), CreatedAt: instantOf(event.OccurredAt),
	}
	if err := s.with(ctx).Create(&row).Error; err != nil {
		return domain.WebhookDelivery{}, s.dialect.failed("insert a webhook delivery", err)
	}
	s.fanned.add(row.EndpointID)
	return row.domain(), s.dueFrom(ctx, row.EndpointID, event.OccurredAt)
}

func (s webhooks) Publish(ctx context.Context, except domain.WebhookEndpoint, event domain.FeedEvent) error {
	return feed(s).add(ctx, except.Tenant, event, except.ID)
}
