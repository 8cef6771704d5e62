package gormstore

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"strings"
	"time"

	"waybill/domain"
	"waybill/ports"
)

var _ ports.WebhookOutbox = outbox{}

// outbox implements ports.WebhookOutbox.
type outbox struct{ store *Store }

// Outbox returns the outbox of webhooks.
func (s *Store) Outbox() ports.WebhookOutbox { return outbox{store: s} }

func (o outbox) read() session  { return session{db: o.store.read, dialect: o.store.dialect} }
func (o outbox) write() session { return session{db: o.store.write, dialect: o.store.dialect} }

// pendingEndpoints walks the index of pending webhooks from one endpoint to the next. So it reads
// neither the pending webhooks nor the endpoints without any.
const pendingEndpoints = `WITH RECURSIVE pending (id) AS (
	SELECT (SELECT endpoint_id FROM webhook_deliveries WHERE status = 'pending' ORDER BY endpoint_id LIMIT 1)
	UNION ALL
	SELECT (SELECT d.endpoint_id FROM webhook_deliveries d WHERE d.status = 'pending' AND d.endpoint_id > p.id ORDER BY d.endpoint_id LIMIT 1)
	FROM pending p WHERE p.id IS NOT NULL
) `

// waitingEndpoints takes the parameters of waiting; $which takes its own before the last ones. An
// endpoint's turn is its place among the waiting endpoints of its owner.
const waitingEndpoints = `SELECT id, slow_until, open_until, due, leased_until, $now AS read_at,
	row_number() OVER (PARTITION BY business_id, environment ORDER BY due, id) AS turn FROM (
	SELECT e.id, e.business_id, e.environment, e.slow_until, e.open_until, (SELECT leased_until FROM $lease(e.id) l) AS leased_until,
		(SELECT min(d.due_at) FROM webhook_deliveries d WHERE d.endpoint_id = e.id$with(d,e) AND d.status = 'pending' AND d.due_at >= ` +
	dueSinceOf + `) AS due
	FROM webhook_endpoints e
	WHERE $which AND e.slot IS NOT NULL AND e.enabled AND NOT e.listener AND (e.open_until IS NULL OR e.open_until <= ?) AND ` + unpaused + `
) AS waiting WHERE due <= ? AND COALESCE(leased_until NOT BETWEEN $later AND $far, TRUE) ORDER BY turn, due, id LIMIT ?`

const (
	// skipLimit ends the walk of pendingEndpoints. A walk longer than skipSlow counts as slow: the
	// index holds many dead entries that could not be cleaned up. For skipFor after that each
	// endpoint is looked up instead.
	skipLimit = 250 * time.Millisecond
	skipSlow  = 50 * time.Millisecond
	skipFor   = 30 * time.Second
)

func (o outbox) Waiting(ctx context.Context, now time.Time, ahead time.Duration, limit int) ([]ports.WaitingEndpoint, error) {
	if begun := time.Now(); begun.UnixNano() >= o.store.skipFrom.Load() && !o.store.dialect.sharded {
		within, cancel := context.WithTimeout(ctx, skipLimit)
		found, err := o.waiting(within, now, pendingEndpoints, "e.id IN (SELECT id FROM pending)", nil, ahead, limit)
		tooLong := within.Err() != nil && ctx.Err() == nil
		cancel()
		if tooLong || time.Since(begun) > o.store.skipSlow {
			o.store.skipFrom.Store(time.Now().Add(skipFor).UnixNano())
		}
		if err == nil || !tooLong {
			return found, err
		}
	}
	return o.waiting(ctx, now, "", "TRUE", nil, ahead, limit)
}

func (o outbox) WaitingFor(ctx context.Context, endpoint domain.ID, now time.Time, ahead time.Duration) (*ports.WaitingEndpoint,
	error) {
	key, err := lookup(domain.PrefixWebhookEndpoint, endpoint)
	if err != nil {
		return nil, nil // no such endpoint, so it does not wait
	}
	of, err := o.read().placeOf(ctx, key)
	if err != nil {
		return nil, err
	}
	found, err := o.waiting(ctx, now, "", "e.id = ?$node(e)", of, ahead, 1)
	if err != nil || len(found) == 0 {
		return nil, err
	}
	return &found[0], nil
}

// waiting returns the endpoints selected by which that wait soon. with comes before the SELECT.
func (o outbox) waiting(ctx context.Context, now time.Time, with, which string, of []any, ahead time.Duration, limit int) (
	[]ports.WaitingEndpoint, error) {
	sn, begun := o.read(), time.Now()
	settled, until := instantOf(now.Add(-dueMargin)), instantOf(now.Add(ahead))
	values := append(append([]any{settled, settled}, of...), until, until, sn.dialect.laterBy(ahead), limit)
	var rows []waitingRow
	err := sn.with(ctx).Raw(sn.dialect.leases(with+strings.Replace(waitingEndpoints, "$which", which, 1)), values...).Scan(&rows).Error
	if err != nil {
		return nil, sn.dialect.failed("look for webhooks that are due", err)
	}
	waiting := make([]ports.WaitingEndpoint, len(rows))
	for i, r := range rows {
		// The database's clock was read before now, so no lease ends later than this says.
		waiting[i] = r.waiting(now.Add(time.Since(begun)), ahead)
	}
	return waiting, nil
}

// waitingRow is an endpoint that waits soon.
type waitingRow struct {
	ID                                rowID
	SlowUntil, OpenUntil, LeasedUntil *instant
	Due, ReadAt                       instant // the second by the database's clock
}

func (r waitingRow) waiting(now time.Time, ahead time.Duration) ports.WaitingEndpoint {
	from := r.Due.time
	if r.OpenUntil != nil {
		from = later(from, r.OpenUntil.time)
	}
	if r.LeasedUntil != nil {
		if rest := r.LeasedUntil.time.Sub(r.ReadAt.time); rest >= 0 && rest <= ahead {
			from = later(from, now.Add(rest))
		}
	}
	health := domain.WebhookHealth{SlowUntil: optionalTime(r.SlowUntil)}
	return ports.WaitingEndpoint{ID: r.ID.as(domain.PrefixWebhookEndpoint), From: from, Slow: health.Slow(later(from, now))}
}

func (o outbox) Lease(ctx context.Context, endpoint domain.ID, token string, lasting time.Duration) (domain.WebhookEndpoint, bool, error) {
	return o.lease(ctx, endpoint, token, lasting, "(token IS NULL OR token = ? OR leased_until NOT BETWEEN $now AND $far)",
		"NOT e.listener AND (NOT e.enabled OR e.open_until IS NULL OR e.open_until NOT BETWEEN $now AND $far) AND "+unpaused)
}

func (o outbox) Renew(ctx context.Context, endpoint domain.ID, token string, lasting time.Duration) (domain.WebhookEndpoint, error) {
	e, kept, err := o.lease(ctx, endpoint, token, lasting, "token = ?", "TRUE")
	if err == nil && !kept {
		err = ports.ErrEndpointLost
	}
	return e, err
}

// lease takes or renews the lease, if it and the endpoint e meet the conditions.
func (o outbox) lease(ctx context.Context, endpoint domain.ID, token string, lasting time.Duration, lease,
	of string) (e domain.WebhookEndpoint, leased bool, err error) {
	sn := o.write()
	key, err := lookup(domain.PrefixWebhookEndpoint, endpoint)
	if err != nil {
		return e, false, nil
	}
	at, err := sn.placeOf(ctx, key)
	if err != nil {
		return e, false, err
	}
	change := "UPDATE webhook_leases SET number = number + 1, token = ?, leased_until = $later" +
		" WHERE endpoint_id = ?$node AND number >= (SELECT number FROM $lease(?) l) AND " + lease +
		" AND EXISTS (SELECT 1 FROM webhook_endpoints e WHERE e.id = ?$node(e) AND e.slot IS NOT NULL AND " + of + ")"
	values := slices.Concat([]any{rowID(token), sn.dialect.laterBy(lasting)}, at, at, []any{rowID(token)}, at)
	read := "SELECT " + webhookEndpointTable.list() + " FROM webhook_endpoints WHERE id = ?$node AND slot IS NOT NULL"
	if sn.dialect.changesInWith {
		change, values = "WITH leased AS ("+change+" RETURNING 1) "+read+" AND EXISTS (SELECT 1 FROM leased)", append(values, at...)
	} else {
		changed := sn.with(ctx).Exec(sn.dialect.leases(change), values...)
		if changed.Error != nil || changed.RowsAffected == 0 {
			return e, false, sn.dialect.failed("lease a webhook endpoint", changed.Error)
		}
		change, values = read, at
	}
	var row webhookEndpointRow
	found := sn.with(ctx).Raw(sn.dialect.leases(change), values...).Scan(&row)
	if found.Error != nil || found.RowsAffected == 0 { // another has it, or it was just deleted
		return e, false, sn.dialect.failed("lease a webhook endpoint", found.Error)
	}
	if e = row.domain(); !e.Enabled {
		// Webhooks that became pending in a transaction concurrent to the disabling.
		_, err = webhooks{sn}.hold(ctx, key, heldAtOnce)
	}
	return e, true, err
}

// ownedEndpoint selects an endpoint e and its lease l that a token holds.
const ownedEndpoint = "FROM webhook_endpoints e JOIN webhook_leases l ON l.endpoint_id = e.id AND l.business_id = e.business_id" +
	" WHERE e.id = ?$node(e) AND e.slot IS NOT NULL AND l.token = ? AND l.number >= (SELECT number FROM $lease(?) n)"

// owned reads the endpoint whose lease the token holds. It locks both until the transaction ends:
// the endpoint first, as every change of it does.
func (s session) owned(ctx context.Context, endpoint domain.ID, token string) (row webhookEndpointRow, err error) {
	key, err := s.placeOf(ctx, rowIDOf(endpoint))
	if err != nil {
		return row, err
	}
	found := s.with(ctx).Raw(s.dialect.leases("SELECT "+webhookEndpointTable.selectAs("e", "")+" "+ownedEndpoint+s.dialect.rowLock),
		slices.Concat(key, []any{rowID(token)}, key)...).Scan(&row)
	if found.Error == nil && found.RowsAffected == 0 {
		return row, ports.ErrEndpointLost
	}
	return row, s.dialect.failed("lock a webhook endpoint", found.Error)
}

func (o outbox) Release(ctx context.Context, endpoint domain.ID, token string) error {
	_, err := o.write().changeLease(ctx, "release a webhook endpoint", rowIDOf(endpoint), "token = NULL, leased_until = NULL", nil,
		"token = ?", rowID(token))
	return err
}

// pendingFrom selects the webhooks d of an endpoint that became due in a period.
const pendingFrom = "d.endpoint_id = ?$node(d) AND d.status = 'pending' AND d.due_at >= ? AND d.due_at <= ?"

func (o outbox) Due(ctx context.Context, endpoint domain.ID, now time.Time, limit int, except ...domain.ID) ([]ports.OutgoingWebhook,
	error) {
	key, err := lookup(domain.PrefixWebhookEndpoint, endpoint)
	if err != nil {
		return nil, nil // no such endpoint, so nothing is due
	}
	sn, settled := o.read(), instantOf(now.Add(-dueMargin))
	at, err := sn.placeOf(ctx, key)
	if err != nil {
		return nil, err
	}
	query := "SELECT (SELECT number FROM $lease(?) l), (SELECT due_since FROM $lease(?) l), f.payload, " +
		webhookDeliveryTable.selectAs("d", "") +
		" FROM webhook_deliveries d JOIN feed_events f ON f.id = d.event_id AND f.business_id = d.business_id" +
		" WHERE d.endpoint_id = ?$node(d) AND d.status = 'pending' AND d.due_at >= " + strings.Replace(dueSinceOf, "e.id", "?", 1) +
		" AND d.due_at <= ?"
	values := slices.Concat(at, at, at, []any{settled, settled}, at, []any{instantOf(now)})
	if len(except) > 0 {
		query, values = query+" AND "+sn.dialect.notAmong("d.id"), append(values, sn.dialect.idList(except))
	}
	rows, err := sn.with(ctx).Raw(sn.dialect.leases(query+" ORDER BY d.due_at, d.id LIMIT ?"), append(values, limit)...).Rows()
	if err != nil {
		return nil, sn.dialect.failed("read webhooks that are due", err)
	}
	defer rows.Close()
	// Row by row: gorm's Scan would cost as much as all the sending.
	var due []ports.OutgoingWebhook
	var seen dueSince
	var row webhookDeliveryRow
	var payload []byte
	into := webhookDeliveryTable.scanned(ctx, &row, &seen.Number, &seen.DueSince, &payload)
	for err == nil && rows.Next() {
		err = rows.Scan(into...)
		due = append(due, ports.OutgoingWebhook{WebhookDelivery: row.domain(), Payload: payload})
	}
	if err = errors.Join(err, rows.Err(), rows.Close()); err != nil {
		return nil, sn.dialect.failed("read webhooks that are due", err)
	}
	if len(due) == 0 {
		var found bool
		if seen, found, err = sn.dueSince(ctx, key); err != nil || !found {
			return nil, err
		}
	}
	return due, o.raiseDueSince(ctx, key, seen, now, due, len(except) > 0)
}

// raiseDueSince makes the next search begin where this one found the oldest webhook. Webhooks that
// the search left out are still pending, and older.
func (o outbox) raiseDueSince(ctx context.Context, endpoint rowID, seen dueSince, now time.Time, due []ports.OutgoingWebhook,
	leftOut bool) error {
	var first *time.Time
	if len(due) > 0 {
		first = due[0].DueAt
	}
	if !seen.below(settledBefore(now, first)) {
		return nil
	}
	if leftOut {
		// min() would read the whole backlog wherever Postgres expects a short one.
		sn, oldest := o.read(), []instant{}
		at, err := sn.placeOf(ctx, endpoint)
		if err != nil {
			return err
		}
		if err := sn.with(ctx).Raw(sn.dialect.placed("SELECT d.due_at FROM webhook_deliveries d WHERE "+pendingFrom+
			" ORDER BY d.due_at, d.id LIMIT 1"), append(at, instantOf(seen.from(now)), instantOf(now))...).Scan(&oldest).Error; err != nil {
			return sn.dialect.failed("read since when webhooks are due", err)
		}
		if len(oldest) > 0 {
			first = &oldest[0].time
		}
	}
	return o.write().raiseDueSince(ctx, endpoint, seen, now, first)
}

// scanned returns the targets of a Scan: first, and then the fields of a row in the table's order.
func (t table) scanned(ctx context.Context, row any, first ...any) []any {
	value := reflect.ValueOf(row)
	into := make([]any, len(first)+len(t.fields))
	behind := into[copy(into, first):]
	for i, f := range t.fields {
		behind[i] = f.ReflectValueOf(ctx, value).Addr().Interface()
	}
	return into
}

func (o outbox) Disable(ctx context.Context, e domain.WebhookEndpoint, token string, event domain.FeedEvent) error {
	return o.store.transact(ctx, func(sn session) error {
		row, err := sn.owned(ctx, e.ID, token)
		if err != nil {
			return err
		}
		row.setHealth(e.Health)
		changes := row.health()
		changes["enabled"], changes["disabled_reason"], changes["updated_at"] = false, string(e.Disabled), instantOf(e.UpdatedAt)
		if err := sn.dialect.changed("disable a webhook endpoint", sn.with(ctx).Model(&webhookEndpointRow{}).Where(
			"id = ? AND business_id = ?", row.ID, row.BusinessID).Updates(changes)); err != nil {
			return err
		}
		w := webhooks{sn}
		if _, err := w.hold(ctx, rowIDOf(e.ID), heldAtOnce); err != nil {
			return err
		}
		if err := w.Publish(ctx, e, event); err != nil {
			return err
		}
		return mails{sn}.Tell(ctx, domain.DisabledNotice(e, event.ID))
	})
}

// backlog counts for each endpoint, so that it enters the index where webhooks may be due.
const backlog = `SELECT COALESCE(sum(n), 0) AS n, min(since) AS since FROM (
	SELECT (SELECT count(*) $due) AS n, (SELECT min(d.due_at) $due) AS since
	FROM webhook_endpoints e WHERE e.slot IS NOT NULL AND e.enabled AND NOT e.listener
) AS backlogs`

const backlogDue = `FROM webhook_deliveries d WHERE d.endpoint_id = e.id$with(d,e) AND d.status = 'pending' AND d.due_at >= ` + dueSinceOf +
	` AND d.due_at <= ?`

func (o outbox) Backlog(ctx context.Context, now time.Time) (int, time.Time, error) {
	var row struct {
		N     int
		Since *instant
	}
	sn := o.read()
	settled, at := instantOf(now.Add(-dueMargin)), instantOf(now)
	err := sn.with(ctx).Raw(sn.dialect.leases(strings.ReplaceAll(backlog, "$due", backlogDue)), settled, settled, at, settled, settled,
		at).Scan(&row).Error
	if err != nil || row.Since == nil {
		return row.N, time.Time{}, sn.dialect.failed("count webhooks that are due", err)
	}
	return row.N, row.Since.time, nil
}

func (o outbox) Disabled(ctx context.Context) (int, error) {
	var n int64
	sn := o.read()
	err := sn.with(ctx).Model(&webhookEndpointRow{}).Where("slot IS NOT NULL AND NOT enabled").Count(&n).Error
	return int(n), sn.dialect.failed("count disabled webhook endpoints", err)
}
