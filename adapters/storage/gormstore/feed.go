package gormstore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"waybill/domain"
	"waybill/ports"
)

// feed is ports.FeedReader, and the way into it.
type feed struct{ session }

func (s feed) Events(ctx context.Context, t domain.Tenant, f domain.FeedFilter, after domain.FeedPosition, limit int) ([]domain.FeedEvent, error) {
	ctx, done := s.forList(ctx)
	defer done()
	if !storable(string(f.Type)) {
		return nil, nil
	}
	query := s.ofApplication(ctx, t).Where("delivery_id IS NOT NULL" + s.engine.feedSettled)
	if after != (domain.FeedPosition{}) {
		query = query.Where("(position, sequence, id) > (?, ?, ?)", after.Commit, after.Sequence, rowIDOf(after.ID))
	}
	if f.Type != "" {
		query = query.Where("type = ?", string(f.Type))
	}
	if f.DeliveryID != "" {
		key, err := lookup(domain.PrefixDelivery, f.DeliveryID)
		if err != nil {
			return nil, nil // no such delivery, so no events
		}
		// By way of the timeline, which has an index of the delivery.
		query = query.Where("id IN (?)", s.with(ctx).Model(&eventRow{}).Select("id").Where("delivery_id = ?", key))
	}
	if f.CreatedAfter != nil {
		since := boundary(*f.CreatedAfter)
		query = query.Where("occurred_at >= ?", since)
		if first := firstIDAt(since.time.Add(-feedMargin)); first != "" && f.DeliveryID == "" && after == (domain.FeedPosition{}) {
			query = query.Where(feedStart, feedWitnesses, first, feedWitnesses)
		}
	}
	var rows []feedEventRow
	err := query.Order("position, sequence, id").Limit(limit + 1).Find(&rows).Error
	return all(rows, (*feedEventRow).domain), s.listFailed(ctx, "read the feed", err)
}

// feedStart begins at the least position that an event may have which occurred at
// some time or later: to walk there from the first event on would read all that
// came before. The place is found by witnesses, the last events whose IDs, which
// are in the order of time and have an index, are older than that time by more
// than the margin.
//
// It passes over nothing. The position of a witness is the number of a transaction
// that had begun when the witness was stored: of its own, or of that of an earlier
// event of its delivery. What is looked for got its ID in its transaction or
// before it, and so later than the witness by the margin. That is far more than
// a transaction lasts, which time-outs keep to seconds, and than clocks differ: its
// transaction began after the witness was stored, and has a higher number.
// Only what was held up between ID and transaction, on a machine that slept
// perhaps, is a false witness. So the lowest of many is believed, of more than a
// request makes; and where there are not so many, the feed is read from its
// beginning.
const feedStart = `position >= (SELECT CASE WHEN count(*) = ? THEN min(position) ELSE 0 END
	FROM (SELECT position FROM feed_events WHERE id < ? ORDER BY id DESC LIMIT ?) AS witnesses)`

const (
	feedMargin    = 10 * time.Minute
	feedWitnesses = 200
)

// firstIDAt is below every ID that was made then or later, and above all that were
// made before; empty: no ID is that old.
func firstIDAt(t time.Time) rowID {
	ms := t.UnixMilli()
	if ms < 0 {
		return ""
	}
	return rowID(fmt.Sprintf("%012x%020x", ms, 0))
}

// errNoPayload tells of an event that nobody rendered.
var errNoPayload = errors.New("gormstore: an event without the JSON that is published")

// publish stores an event of a delivery and makes it pending for all endpoints
// that take it.
func (s feed) publish(ctx context.Context, t domain.Tenant, e ports.EventWrite) error {
	return s.add(ctx, t, domain.FeedEvent{
		ID: e.ID, Type: e.Type, DeliveryID: e.DeliveryID, Sequence: e.Sequence, OccurredAt: e.OccurredAt, Payload: e.Payload,
	}, "")
}

// add stores an event and makes it pending for all endpoints that take it, but
// for one.
func (s feed) add(ctx context.Context, t domain.Tenant, e domain.FeedEvent, except domain.ID) error {
	if err := s.insert(ctx, t, e); err != nil {
		return err
	}
	return newFanOut(s)(ctx, t, e, except)
}

func (s feed) insert(ctx context.Context, t domain.Tenant, e domain.FeedEvent) error {
	if len(e.Payload) == 0 {
		return errNoPayload
	}
	statement, values := s.engine.insertFeed, []any{
		rowIDOf(e.ID), rowIDOf(t.ApplicationID), string(t.Environment), optionalRowID(e.DeliveryID),
		e.Sequence, string(e.Type), instantOf(e.OccurredAt), e.Payload,
	}
	if e.Sequence > 1 && s.engine.insertFeedBehind != "" {
		statement, values = s.engine.insertFeedBehind, append(values, rowIDOf(e.DeliveryID), e.Sequence-1)
	}
	return s.engine.failed("insert an event into the feed", s.with(ctx).Exec(statement, values...).Error)
}

// fanOut is one statement whatever the endpoints are. The ID of a row is made as
// domain.WebhookDeliveryID does. What comes for a disabled endpoint is held.
const fanOut = `INSERT INTO webhook_deliveries
	(id, endpoint_id, event_id, event_type, delivery_id, sequence, status, attempts, used, due_at, trigger, back, created_at)
SELECT $webhook_id, id, ?, ?, ?, ?, CASE WHEN enabled THEN 'pending' ELSE 'held' END, 0, 0,
	CASE WHEN enabled THEN $instant END, 'schedule', '', ?
FROM webhook_endpoints
WHERE application_id = ? AND environment = ? AND slot IS NOT NULL AND event_mask & ? <> 0 AND id <> ?
RETURNING endpoint_id, status`

// fanOutOf is fanOut of a session.
type fanOutOf func(ctx context.Context, t domain.Tenant, e domain.FeedEvent, except domain.ID) error

func (s feed) fanOut(ctx context.Context, t domain.Tenant, e domain.FeedEvent, except domain.ID) error {
	at, excluded := instantOf(e.OccurredAt), rowIDOf(e.ID) // an event's ID is no endpoint's
	if except != "" {
		excluded = rowIDOf(except)
	}
	var rows []webhookDeliveryRow
	err := s.with(ctx).Raw(s.engine.webhooks(fanOut), e.ID.Hex()[:31], rowIDOf(e.ID), string(e.Type), optionalRowID(e.DeliveryID), e.Sequence,
		at, at, rowIDOf(t.ApplicationID), string(t.Environment), int64(domain.MaskOf(e.Type)), excluded).Scan(&rows).Error
	if err != nil {
		return s.engine.failed("fan out an event", err)
	}
	for _, r := range rows {
		if r.Status == string(domain.WebhookPending) {
			s.fanned.add(r.EndpointID)
		}
	}
	return nil
}

// fanned collects, in a transaction, for which endpoints it has something.
type fanned struct{ endpoints []domain.ID }

func (f *fanned) add(endpoint rowID) {
	f.endpoints = append(f.endpoints, endpoint.as(domain.PrefixWebhookEndpoint))
}

// OnFanout makes the listener hear of every commit from now on. It is to be
// called before the store is used.
func (s *Store) OnFanout(l ports.FanoutListener) { s.onFanout = l }

// announce is for what was committed, or may have been.
func (s *Store) announce(f *fanned) {
	if len(f.endpoints) > 0 && s.onFanout != nil {
		s.onFanout(f.endpoints)
	}
}
