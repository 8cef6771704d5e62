package gormstore

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
	"gorm.io/gorm/logger"

	"waybill/domain"
)

// pgBatch holds one attempt to store some bookings on Postgres: a statement for each table, with
// all rows of it.
type pgBatch struct {
	entries []*entry
	begun   bool         // a transaction has begun, so the database responds
	missing map[int]bool // entries that were not stored
}

// statements adds the statements of all parts. They lock rows in the order of a single booking, and
// each statement in the order of its values. So no two transactions wait for each other.
func (b *pgBatch) statements(t *pgTry) error {
	for _, p := range parts {
		if of := b.chosen(p.needed, p.order); len(of) > 0 {
			if err := p.together(b, t, of); err != nil {
				return err
			}
		}
	}
	return nil
}

// store sends all statements together, in the open transaction, and reads their results.
func (b *pgBatch) store(ctx context.Context, sn session) error {
	b.begun = true
	t := &pgTry{ctx: ctx, session: sn, steps: []step{{statement: genericPlans, read: discarded}}}
	if err := b.statements(t); err != nil {
		return err
	}
	return onPgConn(sn.conn, func(conn *pgConn) (err error) {
		steps := t.steps
		if sn.dialect.sharded {
			if steps, err = b.onCitus(ctx, conn.pgx(), steps); err != nil {
				return err
			}
		}
		b.missing, err = runSteps(ctx, conn.pgx(), steps, sn.db.Logger)
		switch {
		case len(b.missing) > 0:
			return errIncomplete
		case err != nil:
			return fmt.Errorf("run a statement: %w", err)
		}
		return nil
	})
}

// genericPlans makes Postgres use one plan for a statement until the transaction ends. By default
// it plans each booking anew: a plan for one ID looks cheaper to it.
const genericPlans = "SELECT set_config('plan_cache_mode', 'force_generic_plan', true)"

// step is one statement of a batch.
type step struct {
	what      string // for errors
	statement string
	values    []any
	// wanted maps IDs to bookings. The statement must return each of these IDs. Bookings whose ID
	// is not returned are missing.
	wanted map[rowID][]int
	// read replaces wanted: it reads the rows and returns the missing bookings.
	read func(pgx.Rows) (missing []int, err error)
}

// runSteps sends all steps at once and reads their results up to the first failure. It returns the
// bookings that are missing in any step. After a missing one it ignores a later failure, which may
// be its consequence.
func runSteps(ctx context.Context, conn *pgx.Conn, steps []step, log logger.Interface) (missing map[int]bool, err error) {
	all := &pgx.Batch{}
	for _, s := range steps {
		all.Queue(s.statement, s.values...)
	}
	results := conn.SendBatch(ctx, all)
	defer func() { // the first error counts; none does after missing rows
		if closed := results.Close(); err == nil && len(missing) == 0 {
			err = closed
		}
	}()
	missing = map[int]bool{}
	for _, s := range steps {
		begun := time.Now()
		some, rows, err := s.result(results)
		log.Trace(ctx, begun, func() (string, int64) { return s.statement, rows }, err)
		for _, item := range some {
			missing[item] = true
		}
		switch {
		case err != nil && len(missing) > 0:
			return missing, nil
		case err != nil:
			return nil, fmt.Errorf("%s: %w", s.what, err)
		}
	}
	return missing, nil
}

// result reads the rows of a statement, and returns the missing bookings.
func (s step) result(from pgx.BatchResults) (missing []int, affected int64, err error) {
	rows, _ := from.Query() // rows.Err returns its error, too
	defer rows.Close()
	read := s.read
	if read == nil {
		read = s.returned
	}
	missing, err = read(rows)
	rows.Close()
	return missing, rows.CommandTag().RowsAffected(), errors.Join(rows.Err(), err)
}

// returned reads IDs and returns the bookings whose ID is not among them.
func (s step) returned(rows pgx.Rows) (missing []int, err error) {
	for rows.Next() {
		var id rowID
		if err := rows.Scan(&id); err != nil {
			return nil, err
		}
		delete(s.wanted, id)
	}
	if rows.Err() != nil {
		return nil, nil // nothing is known about them
	}
	for _, of := range s.wanted {
		missing = append(missing, of...)
	}
	return missing, nil
}

// discarded reads rows and ignores them.
func discarded(rows pgx.Rows) ([]int, error) {
	for rows.Next() {
	}
	return nil, nil
}

// pgTry collects the statements that are sent together in one try to store a batch.
type pgTry struct {
	session
	ctx   context.Context //nolint:containedctx // of this try alone
	steps []step
}

// add appends a statement with its values.
func (t *pgTry) add(s step, values ...any) {
	s.values = values
	t.steps = append(t.steps, s)
	if t.watch != nil {
		t.watch(s.statement, values)
	}
}

// chosen returns the indexes of the entries that meet a condition, sorted by order.
func (b *pgBatch) chosen(is func(*entry) bool, order func(a, b *entry) int) []int {
	var some []int
	for i := range b.entries {
		if is(b.entries[i]) {
			some = append(some, i)
		}
	}
	slices.SortStableFunc(some, func(one, other int) int { return order(b.entries[one], b.entries[other]) })
	return some
}

// gathered returns one value of each of some entries.
func gathered[T any](b *pgBatch, of []int, value func(*entry) T) []T {
	all := make([]T, len(of))
	for i, e := range of {
		all[i] = value(b.entries[e])
	}
	return all
}

// uuids returns one ID of each of some entries.
func uuids(b *pgBatch, of []int, id func(*entry) rowID) []pgtype.UUID {
	return gathered(b, of, func(e *entry) pgtype.UUID { return uuidOf(id(e)) })
}

// wants maps an ID to the bookings that need its row.
func (b *pgBatch) wants(of []int, id func(*entry) rowID) map[rowID][]int {
	wanted := make(map[rowID][]int, len(of))
	for _, e := range of {
		wanted[id(b.entries[e])] = append(wanted[id(b.entries[e])], e)
	}
	return wanted
}

// storeKeys skips a booking whose key has an expired record. That one is stored alone.
const storeKeys = `INSERT INTO idempotency_keys
	(business_id, application_id, environment, key, fingerprint, claim_id, status, location, body, created_at, expires_at)
SELECT o, a, e, k, f, c, s, l, b, t, now() + make_interval(secs => r)
FROM unnest($1::uuid[], $2::uuid[], $3::text[], $4::text[], $5::bytea[], $6::uuid[], $7::integer[], $8::text[], $9::bytea[], $10::timestamptz[],
	$11::double precision[]) AS u (o, a, e, k, f, c, s, l, b, t, r) ON CONFLICT DO NOTHING RETURNING claim_id`

func (b *pgBatch) addKeys(t *pgTry, of []int) error {
	claim := func(e *entry) rowID { return rowID(e.Key.ClaimID) }
	t.add(step{what: "claim idempotency keys", statement: storeKeys, wanted: b.wants(of, claim)},
		uuids(b, of, businessOf),
		uuids(b, of, func(e *entry) rowID { return e.row.ApplicationID }),
		gathered(b, of, func(e *entry) string { return e.row.Environment }),
		gathered(b, of, func(e *entry) string { return e.Key.Key }),
		gathered(b, of, func(e *entry) []byte { return e.Key.Fingerprint[:] }),
		uuids(b, of, func(e *entry) rowID { return claim(e) }),
		gathered(b, of, func(e *entry) int32 { return int32Of(e.Key.Answer.Status) }),
		gathered(b, of, func(e *entry) string { return e.Key.Answer.Location }),
		gathered(b, of, func(e *entry) []byte { return e.Key.Answer.Body }),
		gathered(b, of, func(e *entry) time.Time { return e.Key.CreatedAt }),
		gathered(b, of, func(e *entry) float64 { return e.Retention.Seconds() }))
	return nil
}

// storeItems inserts items with the expiry of the record they belong to.
const storeItems = `INSERT INTO bulk_items (business_id, claim_id, item_index, created, result, expires_at)
SELECT k.business_id, k.claim_id, u.i, u.c, u.r, k.expires_at FROM unnest($1::integer[], $2::boolean[], $3::bytea[]) AS u (i, c, r)
JOIN idempotency_keys k ON k.business_id = $4 AND k.application_id = $5 AND k.environment = $6 AND k.key = $7 AND k.claim_id = $8
ON CONFLICT DO NOTHING RETURNING item_index`

// extendLease extends the lease once for all of the batch, which is of one bulk. It is sent first.
func (b *pgBatch) extendLease(t *pgTry, of []int) error {
	first := b.entries[of[0]]
	return bulks{t.session}.Extend(t.ctx, first.Delivery.Tenant, first.Bulk.Hold)
}

// addItems records the results of the items of a bulk whose lease is held.
func (b *pgBatch) addItems(t *pgTry, of []int) error {
	first := b.entries[0]
	recorded := func(rows pgx.Rows) (missing []int, err error) {
		left := make(map[int]int, len(of))
		for _, e := range of {
			left[b.entries[e].Bulk.Item.Index] = e
		}
		for rows.Next() {
			var index int
			if err := rows.Scan(&index); err != nil {
				return nil, err
			}
			delete(left, index)
		}
		if rows.Err() != nil {
			return nil, nil // nothing is known of them
		}
		return slices.Collect(maps.Values(left)), nil
	}
	t.add(step{what: "record items of a bulk", statement: storeItems, read: recorded},
		gathered(b, of, func(e *entry) int32 { return int32Of(e.Bulk.Item.Index) }),
		gathered(b, of, func(e *entry) bool { return e.Bulk.Item.Created }),
		gathered(b, of, func(e *entry) []byte { return e.Bulk.Item.Result }),
		uuidOf(first.row.BusinessID), uuidOf(first.row.ApplicationID), first.row.Environment,
		first.Bulk.Hold.Key, uuidOf(rowID(first.Bulk.Hold.ClaimID)))
	return nil
}

const countSimulations = `INSERT INTO simulation_counts (business_id, application_id, running)
SELECT b, a, count(*) FROM unnest($1::uuid[], $2::uuid[]) AS u (b, a) GROUP BY b, a ORDER BY a
ON CONFLICT ON CONSTRAINT simulation_counts_pkey DO UPDATE SET running = simulation_counts.running + excluded.running
WHERE simulation_counts.running + excluded.running <= $3 RETURNING application_id`

// addSimulations counts simulations. Where an application's limit does not allow all of them, each
// booking is stored alone, up to the limit.
func (b *pgBatch) addSimulations(t *pgTry, of []int) error {
	application := func(e *entry) rowID { return e.row.ApplicationID }
	t.add(step{what: "count simulations", statement: countSimulations, wanted: b.wants(of, application)},
		uuids(b, of, businessOf), uuids(b, of, application), domain.MaxRunningSimulations)
	return nil
}

var (
	recipientColumns = columnsOf(recipientTable, onKnownRecipient+" RETURNING id")
	addressColumns   = columnsOf(addressTable, onKnownAddress+" RETURNING id")
	deliveryColumns  = columnsOf(deliveryTable, " ON CONFLICT DO NOTHING RETURNING id")
	eventColumns     = columnsOf(eventTable, "")
)

const (
	fillNames = `UPDATE recipients r SET name = u.name, search_text = u.search_text, updated_at = u.at
FROM (SELECT r.id, u.name, u.search_text, u.at FROM unnest($1::uuid[], $2::text[], $3::text[], $4::timestamptz[]) AS u (id, name, search_text, at)
	JOIN recipients r ON r.id = u.id ORDER BY r.id FOR NO KEY UPDATE OF r) u
WHERE r.id = u.id AND r.name = ''`

	// A tenant's recipient is found by its ID alone. If it is another tenant's, the foreign key of
	// the delivery fails.
	countAddresses = `UPDATE recipients r SET address_count = r.address_count + 1
FROM (SELECT id FROM recipients WHERE id = ANY ($1::uuid[]) ORDER BY id FOR NO KEY UPDATE) u
WHERE r.id = u.id AND r.address_count < $2 RETURNING r.id`
)

func businessOf(e *entry) rowID    { return e.row.BusinessID }
func recipientIDOf(e *entry) rowID { return rowIDOf(e.Recipient.ID) }

func (b *pgBatch) recipientRows(of []int) []recipientRow {
	return gathered(b, of, func(e *entry) recipientRow { return firstRecipientRow(e.BookingWrite) })
}

func (b *pgBatch) addRecipients(t *pgTry, of []int) error {
	t.add(step{what: "insert recipients", statement: recipientColumns.statement, wanted: b.wants(of, recipientIDOf)},
		recipientColumns.values(b.recipientRows(of))...)
	return nil
}

func (b *pgBatch) addNames(t *pgTry, of []int) error {
	var names, texts []string
	for _, row := range b.recipientRows(of) {
		names, texts = append(names, row.Name), append(texts, row.SearchText)
	}
	t.add(step{what: "fill in names of recipients", statement: fillNames, read: discarded},
		uuids(b, of, recipientIDOf),
		names, texts,
		gathered(b, of, func(e *entry) time.Time { return e.Recipient.UpdatedAt }))
	return nil
}

func (b *pgBatch) addAddressCounts(t *pgTry, of []int) error {
	t.add(step{what: "count addresses", statement: countAddresses, wanted: b.wants(of, recipientIDOf)},
		uuids(b, of, recipientIDOf), domain.MaxAddressesPerRecipient)
	return nil
}

func (b *pgBatch) addAddresses(t *pgTry, of []int) error {
	rows := gathered(b, of, func(e *entry) addressRow { return newAddressRow(e.Delivery.Tenant, e.Address) })
	wanted := b.wants(of, func(e *entry) rowID { return rowIDOf(e.Address.ID) })
	t.add(step{what: "insert addresses", statement: addressColumns.statement, wanted: wanted}, addressColumns.values(rows)...)
	return nil
}

const storeInFeed = `INSERT INTO feed_events (id, business_id, application_id, environment, delivery_id, sequence, type, occurred_at, payload, position)
SELECT *, ` + pgPosition +
	` FROM unnest($1::uuid[], $2::uuid[], $3::uuid[], $4::text[], $5::uuid[], $6::integer[], $7::text[], $8::timestamptz[], $9::bytea[])`

// fanOutAll fans out the events of addEvents, with their masks in the place of the payloads.
var fanOutAll = fanOutBy(map[string]string{
	"$from": `FROM unnest($1::uuid[], $2::uuid[], $3::uuid[], $4::text[], $5::uuid[], $6::integer[], $7::text[], $8::timestamptz[], $9::bigint[])
	AS u (id, business_id, application_id, environment, delivery_id, sequence, type, at, mask), webhook_endpoints w`,
	"$webhook_id": "CAST(substr(CAST(u.id AS text), 1, 35) || to_hex(CAST(w.slot AS integer)) AS uuid)",
	"$event":      "u.id", "$type": "u.type", "$delivery": "u.delivery_id", "$sequence": "u.sequence", "$at": "u.at", "$created": "u.at",
	"$business": "u.business_id", "$application": "u.application_id", "$environment": "u.environment", "$mask": "u.mask",
})

func (b *pgBatch) addDeliveries(t *pgTry, of []int) error {
	rows := gathered(b, of, func(e *entry) deliveryRow { return e.row })
	wanted := b.wants(of, func(e *entry) rowID { return e.row.ID })
	t.add(step{what: "insert deliveries", statement: deliveryColumns.statement, wanted: wanted}, deliveryColumns.values(rows)...)
	return nil
}

// addEvents stores first events in the timeline and in the feed, and adds their pending webhooks.
func (b *pgBatch) addEvents(t *pgTry, of []int) error {
	events := gathered(b, of, func(e *entry) eventRow { return newEventRow(e.Delivery.Tenant, e.Event.Event) })
	t.add(step{what: "insert events", statement: eventColumns.statement, read: discarded}, eventColumns.values(events)...)

	published := []any{
		uuids(b, of, func(e *entry) rowID { return rowIDOf(e.Event.ID) }),
		uuids(b, of, businessOf),
		uuids(b, of, func(e *entry) rowID { return e.row.ApplicationID }),
		gathered(b, of, func(e *entry) string { return e.row.Environment }),
		uuids(b, of, func(e *entry) rowID { return e.row.ID }),
		gathered(b, of, func(e *entry) int32 { return int32Of(e.Event.Sequence) }),
		gathered(b, of, func(e *entry) string { return string(e.Event.Type) }),
		gathered(b, of, func(e *entry) time.Time { return e.Event.OccurredAt }),
	}
	payloads := gathered(b, of, func(e *entry) []byte { return e.Event.Payload })
	t.add(step{what: "insert events into the feed", statement: storeInFeed, read: discarded}, append(slices.Clone(published), payloads)...)
	masks := gathered(b, of, func(e *entry) int64 { return int64(domain.MaskOf(e.Event.Type)) })
	t.add(step{what: "fan out events", statement: fanOutAll, read: t.fannedOut}, append(slices.Clone(published), masks)...)
	return nil
}

// fannedOut collects the endpoints that now have a pending webhook.
func (s session) fannedOut(rows pgx.Rows) ([]int, error) {
	for rows.Next() {
		var endpoint rowID
		var status string
		if err := rows.Scan(&endpoint, &status); err != nil {
			return nil, err
		}
		if status == string(domain.WebhookPending) {
			s.fanned.add(endpoint)
		}
	}
	return nil, nil
}
