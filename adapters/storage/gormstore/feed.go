package gormstore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"gorm.io/gorm"

	"waybill/domain"
	"waybill/ports"
)

// feed implements ports.FeedReader, and adds events to the feed.
type feed struct{ session }

// feedWindow limits how many events a page of a filtered feed looks through.
const feedWindow = 5000

func (s feed) Events(ctx context.Context, t domain.Tenant, f domain.FeedFilter, after *domain.FeedPosition, limit int) (domain.FeedPage,
	error) {
	of := feedOf{
		tenant:     t,
		which:      "business_id = ? AND application_id = ? AND environment = ?",
		values:     []any{rowIDOf(t.BusinessID), rowIDOf(t.ApplicationID), string(t.Environment)},
		deliveryID: f.DeliveryID, createdAfter: f.CreatedAfter,
	}
	if f.Type != "" {
		of.types = []domain.EventType{f.Type}
	}
	rows, page, err := s.read(ctx, of, after, limit)
	page.Events = all(rows, (*feedEventRow).domain)
	return page, err
}

func (s feed) OfAll(ctx context.Context, f domain.PlatformFeedFilter, after *domain.FeedPosition, limit int) (found domain.PlatformFeedPage,
	err error) {
	of := feedOf{
		which: "environment = ?", values: []any{string(f.Environment)}, types: f.Types, businessID: f.BusinessID, createdAfter: f.CreatedAfter,
	}
	rows, page, err := s.read(ctx, of, after, limit)
	found.Next, found.More = page.Next, page.More
	found.Events = all(rows, func(r *feedEventRow) domain.PlatformEvent {
		return domain.PlatformEvent{FeedEvent: r.domain(), Tenant: domain.Tenant{
			BusinessID:    r.BusinessID.as(domain.PrefixBusiness),
			ApplicationID: r.ApplicationID.as(domain.PrefixApplication), Environment: f.Environment,
		}}
	})
	return found, err
}

// feedOf holds what a reader of the feed asks for: which events are in its feed at all, and a
// filter of those.
type feedOf struct {
	tenant domain.Tenant // whose turn it is read in; empty: the delivery company's
	which  string        // a condition on the columns of both feed_events and feed_horizons
	values []any

	types        []domain.EventType
	deliveryID   domain.ID
	businessID   domain.ID
	createdAfter *time.Time
}

// narrowed reports whether a page may have few of the events that it looks through.
func (f *feedOf) narrowed() bool {
	return len(f.types) > 0 || f.createdAfter != nil || f.businessID != ""
}

// none reports whether no event can match.
func (f *feedOf) none() bool {
	_, noDelivery := lookup(domain.PrefixDelivery, f.deliveryID)
	_, noBusiness := lookup(domain.PrefixBusiness, f.businessID)
	unknown := slices.ContainsFunc(f.types, func(t domain.EventType) bool { return !storable(string(t)) })
	return f.deliveryID != "" && noDelivery != nil || f.businessID != "" && noBusiness != nil || unknown
}

// narrow adds the filter to a query.
func (f *feedOf) narrow(query *gorm.DB) *gorm.DB {
	if len(f.types) > 0 {
		query = query.Where("f.type IN ?", f.types)
	}
	if f.createdAfter != nil {
		query = query.Where("f.occurred_at >= ?", boundary(*f.createdAfter))
	}
	if f.businessID != "" {
		query = query.Where("f.business_id = ?", rowIDOf(f.businessID))
	}
	return query
}

func (s feed) read(ctx context.Context, of feedOf, after *domain.FeedPosition, limit int) (rows []feedEventRow, page domain.FeedPage,
	err error) {
	ctx, done := s.forPrimaryList(ctx, of.tenant)
	defer done()
	rows, page, err = s.page(ctx, of, after, limit)
	if err == nil && after != nil {
		// This comes after the events, so it sees every deletion before that.
		var expired error
		if expired, err = s.expired(ctx, of, *after); err == nil && expired != nil {
			return nil, domain.FeedPage{}, expired
		}
	}
	return rows, page, s.listFailed(ctx, "read the feed", err)
}

func (s feed) page(ctx context.Context, of feedOf, after *domain.FeedPosition, limit int) (rows []feedEventRow, page domain.FeedPage,
	err error) {
	scope := feedScope{session: s.session, of: of, after: after}
	if err := scope.begin(ctx); err != nil {
		return nil, page, err
	}
	page.Next = domain.FeedPosition{Commit: scope.horizon}
	if after != nil {
		page.Next = *after
	}
	if of.none() {
		return nil, page, nil
	}
	query := scope.rows(ctx, feedEventTable.selectAs("f", ""))
	var last domain.FeedPosition
	if of.narrowed() {
		var some bool
		if last, some, page.More, err = scope.last(ctx); err != nil || !some {
			return nil, page, err
		}
		page.Next = last
		query = of.narrow(query.Where("(f.position, f.sequence, f.id) <= (?, ?, ?)", last.Commit, last.Sequence, rowIDOf(last.ID)))
	}
	if err := query.Order(scope.order("")).Limit(limit + 1).Find(&rows).Error; err != nil {
		return nil, page, err
	}
	full := len(rows) > limit
	rows, page.More = rows[:min(len(rows), limit)], page.More || full
	if n := len(rows); n > 0 && (full || !of.narrowed()) {
		page.Next = rows[n-1].domain().Position
	}
	return rows, page, nil
}

// feedScope is the part of a feed that a page may look through. No event can be added there any
// more, so all statements find the same events in it.
type feedScope struct {
	session
	of           feedOf
	after        *domain.FeedPosition
	horizon      int64 // the last deleted position
	above, bound int64 // the part is behind above, up to bound
}

// begin finds the two ends of the part. They must be known before events are read: of a transaction
// that adds events meanwhile, either this sees the lock, or a later statement sees the events.
func (s *feedScope) begin(ctx context.Context) error {
	var found struct{ Bound, Horizon int64 }
	err := s.with(ctx).Raw("SELECT "+s.dialect.feedBound+" AS bound, COALESCE("+s.of.horizon()+", 0) AS horizon",
		s.of.values...).Scan(&found).Error
	s.bound, s.horizon, s.above = found.Bound, found.Horizon, found.Horizon
	switch {
	case s.after != nil:
		s.above = max(s.above, s.after.Commit-1) // others may have the same position
	case s.of.createdAfter != nil && s.of.deliveryID == "":
		first := firstIDAt(boundary(*s.of.createdAfter).time.Add(-feedMargin))
		if err != nil || first == "" {
			return err
		}
		var start int64
		err = s.with(ctx).Raw(feedStart, feedWitnesses, first, feedWitnesses).Scan(&start).Error
		s.above = max(s.above, start-1)
	}
	return err
}

// horizon returns the SQL for the last position of the feed that was deleted.
func (f *feedOf) horizon() string {
	return "(SELECT max(position) FROM feed_horizons WHERE " + f.which + ")"
}

// rows returns a query for the events of the part.
func (s *feedScope) rows(ctx context.Context, columns string) *gorm.DB {
	query := s.with(ctx).Table("feed_events f").Select(columns).
		Where("f."+strings.ReplaceAll(s.of.which, "AND ", "AND f."), s.of.values...).
		Where("f.delivery_id IS NOT NULL AND f.position <= ? AND f.position > ?", s.bound, s.above)
	if s.after != nil && s.after.ID != "" {
		query = query.Where("(f.position, f.sequence, f.id) > (?, ?, ?)", s.after.Commit, s.after.Sequence, rowIDOf(s.after.ID))
	}
	if s.of.deliveryID != "" { // by way of the timeline, which has an index of the delivery
		sequence := 0
		if s.after != nil { // of one of its events: the cursor is of this filter
			sequence = s.after.Sequence
		}
		return query.Joins("JOIN delivery_events e ON e.id = f.id AND e.business_id = f.business_id").
			Where("e.delivery_id = ? AND e.sequence > ?", rowIDOf(s.of.deliveryID), sequence)
	}
	return query
}

func (s *feedScope) order(direction string) string {
	if s.of.deliveryID != "" {
		return "e.sequence" + direction
	}
	return "f.position" + direction + ", f.sequence" + direction + ", f.id" + direction
}

// last returns the last of the events that a page looks through, whether there is one, and whether
// there may be more behind it.
func (s *feedScope) last(ctx context.Context) (last domain.FeedPosition, some, more bool, err error) {
	var rows []feedEventRow
	rest := s.rows(ctx, "f.position, f.sequence, f.id").Session(&gorm.Session{})
	err = rest.Order(s.order("")).Offset(feedWindow - 1).Limit(1).Find(&rows).Error
	if more = len(rows) > 0; err == nil && !more {
		err = rest.Order(s.order(" DESC")).Limit(1).Find(&rows).Error
	}
	if err != nil || len(rows) == 0 {
		return last, false, false, err
	}
	return domain.FeedPosition{Commit: rows[0].Position, Sequence: rows[0].Sequence, ID: rows[0].ID.as(domain.PrefixEvent)}, true, more, nil
}

// expired reports whether events behind a position were deleted, or the database was restored to a
// state before that event. After a restore other events may have its position, and earlier ones.
func (s feed) expired(ctx context.Context, of feedOf, at domain.FeedPosition) (expired error, err error) {
	var found struct {
		Horizon int64
		Known   bool
	}
	id := rowIDOf(at.ID)
	if at.ID == "" {
		id = noRow
	}
	err = s.with(ctx).Raw("SELECT COALESCE("+of.horizon()+", 0) AS horizon,"+
		" EXISTS (SELECT 1 FROM feed_events WHERE id = ? AND position = ? AND "+of.which+") AS known",
		slices.Concat(of.values, []any{id, at.Commit}, of.values)...).Scan(&found).Error
	if err != nil || at.Commit >= found.Horizon && (found.Known || at.ID == "" || at.Commit == found.Horizon) {
		return nil, err
	}
	var oldest []instant
	err = s.with(ctx).Table("feed_events").Where(of.which, of.values...).Where("delivery_id IS NOT NULL AND position > ?", found.Horizon).
		Order("position, sequence, id").Limit(1).Pluck("occurred_at", &oldest).Error
	if err != nil {
		return nil, err
	}
	if len(oldest) == 0 {
		return domain.CursorExpired(nil), nil
	}
	return domain.CursorExpired(&oldest[0].time), nil
}

// noRow is an ID that no record has.
const noRow rowID = "00000000000000000000000000000000"

// FeedLag returns for how long a transaction has held back events that were committed after it had
// taken its place in the feed. It returns 0 if none does.
func (s *Store) FeedLag(ctx context.Context) (time.Duration, error) {
	if s.dialect.feedLag == "" {
		return 0, nil
	}
	var seconds float64
	err := s.read.WithContext(ctx).Raw(s.dialect.feedLag).Scan(&seconds).Error
	return time.Duration(seconds * float64(time.Second)), s.dialect.failed("look for what holds the feed back", err)
}

// feedStart returns the lowest possible position of an event that occurred at some time or later. A
// search from the first event would read all that came before. Witnesses lead to the position: the
// last events whose IDs are older than that time by more than the margin. IDs are in the order of
// time and have an index.
//
// No event is missed. An event gets its ID first, and its position when it is stored. An event that
// is searched for got its ID later than a witness by the margin. The margin is far longer than a
// transaction lasts (time-outs keep it to seconds) and than clocks differ. So the event was stored
// after the witness, and has a higher position. Only an event that was delayed between ID and
// transaction, perhaps on a machine that slept, is a false witness. So the lowest of many counts,
// of more than one request makes. Where there are fewer, the feed is read from its beginning.
const feedStart = `SELECT CASE WHEN count(*) = ? THEN min(position) ELSE 0 END
	FROM (SELECT position FROM feed_events WHERE id < ? ORDER BY id DESC LIMIT ?) AS witnesses`

const (
	feedMargin    = 10 * time.Minute
	feedWitnesses = 200
)

// firstIDAt returns an ID below all that were made at that time or later, and above all that were
// made before. It returns an empty ID for a time before 1970, which no ID has.
func firstIDAt(t time.Time) rowID {
	ms := t.UnixMilli()
	if ms < 0 {
		return ""
	}
	return rowID(fmt.Sprintf("%012x%020x", ms, 0))
}

// errNoPayload means that an event has no payload.
var errNoPayload = errors.New("an event without the JSON that is published")

// publish stores an event of a delivery and makes it pending for all endpoints that subscribe to
// it.
func (s feed) publish(ctx context.Context, t domain.Tenant, e ports.EventWrite) error {
	return s.add(ctx, t, domain.FeedEvent{
		ID: e.ID, Type: e.Type, DeliveryID: e.DeliveryID, Sequence: e.Sequence, OccurredAt: e.OccurredAt, Payload: e.Payload,
	}, "")
}

// add stores an event and makes it pending for all endpoints that subscribe to it, except one.
func (s feed) add(ctx context.Context, t domain.Tenant, e domain.FeedEvent, except domain.ID) error {
	if err := s.insert(ctx, t, e); err != nil {
		return err
	}
	return s.fanOut(ctx, t, e, except)
}

func (s feed) insert(ctx context.Context, t domain.Tenant, e domain.FeedEvent) error {
	if len(e.Payload) == 0 {
		return errNoPayload
	}
	return s.dialect.failed("insert an event into the feed", s.with(ctx).Exec(s.dialect.insertFeed,
		rowIDOf(e.ID), rowIDOf(t.BusinessID), rowIDOf(t.ApplicationID), string(t.Environment), optionalRowID(e.DeliveryID),
		e.Sequence, string(e.Type), instantOf(e.OccurredAt), e.Payload).Error)
}

// fanOutInto adds a webhook for each endpoint that subscribes to the event: pending, or held where
// the endpoint is disabled.
const fanOutInto = `INSERT INTO webhook_deliveries
	(id, business_id, endpoint_id, event_id, event_type, delivery_id, sequence, status, attempts, used, due_at, trigger, back, created_at)
SELECT $webhook_id, w.business_id, w.id, $event, $type, $delivery, $sequence, CASE WHEN w.enabled THEN 'pending' ELSE 'held' END, 0, 0,
	CASE WHEN w.enabled THEN $at END, 'schedule', '', $created
$from WHERE w.business_id = $business AND w.application_id = $application AND w.environment = $environment AND w.slot IS NOT NULL
	AND w.event_mask & $mask <> 0$but
RETURNING endpoint_id, status`

// fanOutBy returns fanOutInto with the SQL for the values of its events.
func fanOutBy(values map[string]string) string {
	all := []string{"$but", values["$but"]}
	for name, value := range values {
		all = append(all, name, value)
	}
	return strings.NewReplacer(all...).Replace(fanOutInto)
}

// fanOut adds the webhooks of an event by one statement for any number of endpoints. It makes the
// ID of a row as domain.WebhookDeliveryID does.
var fanOut = fanOutBy(map[string]string{
	"$from": "FROM webhook_endpoints w", "$event": "?", "$type": "?", "$delivery": "?", "$sequence": "?", "$at": "$instant", "$created": "?",
	"$webhook_id": "$webhook_id", "$business": "?", "$application": "?", "$environment": "?", "$mask": "?", "$but": " AND w.id <> ?",
})

func (s feed) fanOut(ctx context.Context, t domain.Tenant, e domain.FeedEvent, except domain.ID) error {
	at, excluded := instantOf(e.OccurredAt), rowIDOf(e.ID) // an event's ID is no endpoint's
	if except != "" {
		excluded = rowIDOf(except)
	}
	var rows []webhookDeliveryRow
	err := s.with(ctx).Raw(s.dialect.webhooks(fanOut), e.ID.Hex()[:31], rowIDOf(e.ID), string(e.Type), optionalRowID(e.DeliveryID), e.Sequence,
		at, at, rowIDOf(t.BusinessID), rowIDOf(t.ApplicationID), string(t.Environment), int64(domain.MaskOf(e.Type)), excluded).Scan(&rows).Error
	if err != nil {
		return s.dialect.failed("fan out an event", err)
	}
	for _, r := range rows {
		if r.Status == string(domain.WebhookPending) {
			s.fanned.add(r.EndpointID)
		}
	}
	return nil
}

// fanned collects the endpoints for which a transaction adds a webhook.
type fanned struct{ endpoints []domain.ID }

func (f *fanned) add(endpoint rowID) {
	f.endpoints = append(f.endpoints, endpoint.as(domain.PrefixWebhookEndpoint))
}

// OnFanout sets the listener for every commit that adds webhooks. Call it before the store is used.
func (s *Store) OnFanout(l ports.FanoutListener) { s.onFanout = l }

// announce notifies the listener of webhooks that were committed, or may have been.
func (s *Store) announce(f *fanned) {
	if len(f.endpoints) > 0 && s.onFanout != nil {
		s.onFanout(f.endpoints)
	}
}
