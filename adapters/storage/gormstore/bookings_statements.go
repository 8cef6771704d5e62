package gormstore

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"gorm.io/gorm/logger"

	"waybill/adapters/storage/gormstore/pgfast"
	"waybill/domain"
)

// pgBatch is one try to store some bookings on Postgres: a statement for each table, with
// all rows of it.
type pgBatch struct {
	entries []*entry
	first   bool         // no try before this one has failed
	begun   bool         // a transaction has begun: the database answers
	missing map[int]bool // those that were not stored
}

// statements are those of all parts. Rows are locked in the order of a single booking, and
// within a statement in the order of their values: so no two transactions wait for each
// other.
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

// store sends all statements and reads their results.
func (b *pgBatch) store(ctx context.Context, sn session) error {
	b.begun = !sn.need.pipelined
	t := &pgTry{ctx: ctx, session: sn}
	if err := b.statements(t); err != nil {
		return err
	}
	return onPgConn(sn.conn, func(conn *pgConn) (err error) {
		steps := t.steps
		if sn.need.pipelined {
			steps = append(conn.beginning(func() { b.begun = true }), steps...)
		}
		if sn.dialect.sharded {
			if steps, err = b.onCitus(ctx, conn.pgx(), steps); err != nil {
				return err
			}
		}
		b.missing, err = conn.run(ctx, steps, sn.db.Logger)
		b.begun = b.begun || !conn.pgx().IsClosed() // it answers
		switch {
		case !b.begun && ctx.Err() == nil:
			return fmt.Errorf("%w: %w", errNotBegun, err)
		case len(b.missing) > 0:
			return errIncomplete
		case statementGone(err): // another connection prepares it anew
			return errors.Join(err, conn.pgx().Close(ctx))
		case err != nil:
			return fmt.Errorf("run a statement: %w", err)
		}
		return nil
	})
}

// run sends statements together and reads their results.
func (c *pgConn) run(ctx context.Context, steps []pgfast.Step, log logger.Interface) (missing map[int]bool, err error) {
	// Behind a pooler nothing is prepared; on Citus each number of rows is a text of its own.
	return pgfast.Run(ctx, c.pgx(), c.alone == "" && c.lockTimeout == "", steps, func(s pgfast.Step, begun time.Time, rows int64, err error) {
		log.Trace(ctx, begun, func() (string, int64) { return s.Statement, rows }, err)
	})
}

// pgTry is one try to store a batch: the statements that are sent together.
type pgTry struct {
	session
	ctx    context.Context //nolint:containedctx // of this try alone
	atOnce bool            // COMMIT goes with them
	steps  []pgfast.Step
}

// insertion is a statement that stores rows.
type insertion struct {
	plain   string // fails where one of them is there already
	checked string // leaves that one out, and returns IDs of the others
}

func insertionOf(statement, conflicts string) insertion {
	return insertion{statement, statement + conflicts}
}

// insert takes a statement that stores a row of each of some entries. id is what it
// returns of them.
func (t *pgTry) insert(what string, i insertion, b *pgBatch, of []int, id func(*entry) rowID, values ...pgfast.Value) {
	if t.atOnce {
		t.add(pgfast.Step{What: what, Read: pgfast.Discard}, i.plain, values...)
		return
	}
	t.add(pgfast.Step{What: what, Wanted: b.wants(of, id)}, i.checked, values...)
}

// add takes a statement with its values.
func (t *pgTry) add(s pgfast.Step, statement string, values ...pgfast.Value) {
	s.Statement, s.Values = statement, values
	t.steps = append(t.steps, s)
	if t.watch != nil {
		t.watch(statement, values)
	}
}

// chosen are the indexes of the entries that meet a condition, in an order.
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

// gathered is a value of each of some entries.
func gathered[T any](b *pgBatch, of []int, value func(*entry) T) []T {
	all := make([]T, len(of))
	for i, e := range of {
		all[i] = value(b.entries[e])
	}
	return all
}

// arrayOf is a column of some entries.
func arrayOf[T any](b *pgBatch, of []int, t pgfast.Type[T], value func(*entry) T) pgfast.Value {
	return t.Many(len(of), func(i int) T { return value(b.entries[of[i]]) })
}

// wants maps an ID to the bookings that need its row.
func (b *pgBatch) wants(of []int, id func(*entry) rowID) map[[16]byte][]int {
	wanted := make(map[[16]byte][]int, len(of))
	for _, e := range of {
		u, _ := pgfast.UUIDBytes(id(b.entries[e])) // a malformed one is never stored
		wanted[u] = append(wanted[u], e)
	}
	return wanted
}

// storeKeys does not store a booking whose key has an expired record: that one is stored
// by itself.
var storeKeys = insertionOf(`INSERT INTO idempotency_keys
	(business_id, application_id, environment, key, fingerprint, claim_id, status, location, body, created_at, expires_at)
SELECT o, a, e, k, f, c, s, l, b, t, now() + make_interval(secs => r)
FROM unnest($1::uuid[], $2::uuid[], $3::text[], $4::text[], $5::bytea[], $6::uuid[], $7::integer[], $8::text[], $9::bytea[], $10::timestamptz[],
	$11::double precision[]) AS u (o, a, e, k, f, c, s, l, b, t, r)`, " ON CONFLICT DO NOTHING RETURNING claim_id")

func (b *pgBatch) addKeys(t *pgTry, of []int) error {
	claim := func(e *entry) rowID { return rowID(e.Key.ClaimID) }
	t.insert("claim idempotency keys", storeKeys, b, of, claim,
		arrayOf(b, of, pgUUID, businessOf),
		arrayOf(b, of, pgUUID, func(e *entry) rowID { return e.row.ApplicationID }),
		arrayOf(b, of, pgfast.Text, func(e *entry) string { return e.row.Environment }),
		arrayOf(b, of, pgfast.Text, func(e *entry) string { return e.Key.Key }),
		arrayOf(b, of, pgfast.Bytes, func(e *entry) []byte { return e.Key.Fingerprint[:] }),
		arrayOf(b, of, pgUUID, func(e *entry) rowID { return claim(e) }),
		arrayOf(b, of, pgfast.Integer, func(e *entry) int { return e.Key.Answer.Status }),
		arrayOf(b, of, pgfast.Text, func(e *entry) string { return e.Key.Answer.Location }),
		arrayOf(b, of, pgfast.Bytes, func(e *entry) []byte { return e.Key.Answer.Body }),
		arrayOf(b, of, pgfast.Time, func(e *entry) time.Time { return e.Key.CreatedAt }),
		arrayOf(b, of, pgfast.Double, func(e *entry) float64 { return e.Retention.Seconds() }))
	return nil
}

// storeItems takes their expiry from the record they belong to.
const storeItems = `INSERT INTO bulk_items (business_id, claim_id, item_index, created, result, expires_at)
SELECT k.business_id, k.claim_id, u.i, u.c, u.r, k.expires_at FROM unnest($1::integer[], $2::boolean[], $3::bytea[]) AS u (i, c, r)
JOIN idempotency_keys k ON k.business_id = $4 AND k.application_id = $5 AND k.environment = $6 AND k.key = $7 AND k.claim_id = $8
ON CONFLICT DO NOTHING RETURNING item_index`

// extendLease is for all of the batch at once, which are of one bulk. It is sent first.
func (b *pgBatch) extendLease(t *pgTry, of []int) error {
	first := b.entries[of[0]]
	return bulks{t.session}.Extend(t.ctx, first.Delivery.Tenant, first.Bulk.Hold)
}

// addItems records the outcomes of the items of a bulk, whose lease is held.
func (b *pgBatch) addItems(t *pgTry, of []int) error {
	first := b.entries[0]
	recorded := func(rows *pgconn.ResultReader) (missing []int, err error) {
		left := make(map[int]int, len(of))
		for _, e := range of {
			left[b.entries[e].Bulk.Item.Index] = e
		}
		for rows.NextRow() {
			delete(left, int(binary.BigEndian.Uint16(rows.Values()[0]))) // a smallint
		}
		if _, err := rows.Close(); err != nil {
			return nil, err
		}
		return slices.Collect(maps.Values(left)), nil
	}
	t.add(pgfast.Step{What: "record items of a bulk", Read: recorded}, storeItems,
		arrayOf(b, of, pgfast.Integer, func(e *entry) int { return e.Bulk.Item.Index }),
		arrayOf(b, of, pgfast.Boolean, func(e *entry) bool { return e.Bulk.Item.Created }),
		arrayOf(b, of, pgfast.Bytes, func(e *entry) []byte { return e.Bulk.Item.Result }),
		pgUUID.One(first.row.BusinessID), pgUUID.One(first.row.ApplicationID), pgfast.Text.One(first.row.Environment),
		pgfast.Text.One(first.Bulk.Hold.Key), pgUUID.One(rowID(first.Bulk.Hold.ClaimID)))
	return nil
}

const countSimulations = `INSERT INTO simulation_counts (business_id, application_id, running)
SELECT b, a, count(*) FROM unnest($1::uuid[], $2::uuid[]) AS u (b, a) GROUP BY b, a ORDER BY a
ON CONFLICT ON CONSTRAINT simulation_counts_pkey DO UPDATE SET running = simulation_counts.running + excluded.running
WHERE simulation_counts.running + excluded.running <= $3 RETURNING application_id`

// addSimulations counts them. Where an application's limit does not allow all of
// them, each is stored by itself, up to the limit.
func (b *pgBatch) addSimulations(t *pgTry, of []int) error {
	application := func(e *entry) rowID { return e.row.ApplicationID }
	t.add(pgfast.Step{What: "count simulations", Wanted: b.wants(of, application)}, countSimulations,
		arrayOf(b, of, pgUUID, businessOf), arrayOf(b, of, pgUUID, application), pgfast.Integer.One(domain.MaxRunningSimulations))
	return nil
}

// pgUUID is how IDs are sent, and pgKinds how the fields of rows are.
var (
	pgUUID  = pgfast.UUID[rowID]()
	pgTime  = pgfast.As(pgfast.Time, func(i instant) time.Time { return i.time })
	pgKinds = pgfast.StandardKinds().
		With(reflect.TypeFor[rowID](), pgfast.KindOf(pgUUID)).
		With(reflect.TypeFor[*rowID](), pgfast.KindOf(pgfast.Optional(pgUUID))).
		With(reflect.TypeFor[instant](), pgfast.KindOf(pgTime)).
		With(reflect.TypeFor[*instant](), pgfast.KindOf(pgfast.Optional(pgTime)))
)

var (
	recipientColumns = recipientTable.columnar()
	addressColumns   = addressTable.columnar()
	deliveryColumns  = deliveryTable.columnar()
	eventColumns     = eventTable.columnar()

	storeRecipients = insertionOf(recipientColumns.Statement, onKnownRecipient+" RETURNING id")
	storeAddresses  = insertionOf(addressColumns.Statement, onKnownAddress+" RETURNING id")
	storeDeliveries = insertionOf(deliveryColumns.Statement, " ON CONFLICT DO NOTHING RETURNING id")
)

// columnar stores many rows of the table.
func (t table) columnar() pgfast.Columns {
	fields := make([]pgfast.Field, len(t.fields))
	for i, f := range t.fields {
		fields[i] = pgfast.Field{StructField: f.StructField, Column: f.DBName}
	}
	return pgfast.ColumnsOf(t.name, fields, pgKinds)
}

const (
	fillNames = `UPDATE recipients r SET name = u.name, search_text = u.search_text, updated_at = u.at
FROM (SELECT r.id, u.name, u.search_text, u.at FROM unnest($1::uuid[], $2::text[], $3::text[], $4::timestamptz[]) AS u (id, name, search_text, at)
	JOIN recipients r ON r.id = u.id ORDER BY r.id FOR NO KEY UPDATE OF r) u
WHERE r.id = u.id AND r.name = ''`

	// A tenant's recipient by its ID alone: where it is another's, the foreign key
	// of the delivery tells.
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
	t.insert("insert recipients", storeRecipients, b, of, recipientIDOf, recipientColumns.Values(b.recipientRows(of))...)
	return nil
}

func (b *pgBatch) addNames(t *pgTry, of []int) error {
	rows := b.recipientRows(of)
	t.add(pgfast.Step{What: "fill in names of recipients", Read: pgfast.Discard}, fillNames,
		arrayOf(b, of, pgUUID, recipientIDOf),
		pgfast.Text.Many(len(rows), func(i int) string { return rows[i].Name }), pgfast.Text.Many(len(rows), func(i int) string {
			return rows[i].SearchText
		}),
		arrayOf(b, of, pgfast.Time, func(e *entry) time.Time { return e.Recipient.UpdatedAt }))
	return nil
}

func (b *pgBatch) addAddressCounts(t *pgTry, of []int) error {
	t.add(pgfast.Step{What: "count addresses", Wanted: b.wants(of, recipientIDOf)}, countAddresses,
		arrayOf(b, of, pgUUID, recipientIDOf), pgfast.Integer.One(domain.MaxAddressesPerRecipient))
	return nil
}

func (b *pgBatch) addAddresses(t *pgTry, of []int) error {
	rows := gathered(b, of, func(e *entry) addressRow { return newAddressRow(e.Delivery.Tenant, e.Address) })
	t.insert("insert addresses", storeAddresses, b, of, func(e *entry) rowID { return rowIDOf(e.Address.ID) }, addressColumns.Values(rows)...)
	return nil
}

const storeInFeed = `INSERT INTO feed_events (id, business_id, application_id, environment, delivery_id, sequence, type, occurred_at, payload, position)
SELECT *, ` + pgPosition +
	` FROM unnest($1::uuid[], $2::uuid[], $3::uuid[], $4::text[], $5::uuid[], $6::integer[], $7::text[], $8::timestamptz[], $9::bytea[])`

// fanOutAll takes the events of feedValues, with their masks in the place of the payloads.
var fanOutAll = fanOutBy(map[string]string{
	"$from": `FROM unnest($1::uuid[], $2::uuid[], $3::uuid[], $4::text[], $5::uuid[], $6::integer[], $7::text[], $8::timestamptz[], $9::bigint[])
	AS u (id, business_id, application_id, environment, delivery_id, sequence, type, at, mask), webhook_endpoints w`,
	"$webhook_id": "CAST(substr(CAST(u.id AS text), 1, 35) || to_hex(CAST(w.slot AS integer)) AS uuid)",
	"$event":      "u.id", "$type": "u.type", "$delivery": "u.delivery_id", "$sequence": "u.sequence", "$at": "u.at", "$created": "u.at",
	"$business": "u.business_id", "$application": "u.application_id", "$environment": "u.environment", "$mask": "u.mask",
})

func (b *pgBatch) addDeliveries(t *pgTry, of []int) error {
	rows := gathered(b, of, func(e *entry) deliveryRow { return e.row })
	t.insert("insert deliveries", storeDeliveries, b, of, func(e *entry) rowID { return e.row.ID }, deliveryColumns.Values(rows)...)
	return nil
}

// addEvents stores first events in the timeline and in the feed, and makes them pending.
func (b *pgBatch) addEvents(t *pgTry, of []int) error {
	events := gathered(b, of, func(e *entry) eventRow { return newEventRow(e.Delivery.Tenant, e.Event.Event) })
	t.add(pgfast.Step{What: "insert events", Read: pgfast.Discard}, eventColumns.Statement, eventColumns.Values(events)...)

	published := []pgfast.Value{
		arrayOf(b, of, pgUUID, func(e *entry) rowID { return rowIDOf(e.Event.ID) }),
		arrayOf(b, of, pgUUID, businessOf),
		arrayOf(b, of, pgUUID, func(e *entry) rowID { return e.row.ApplicationID }),
		arrayOf(b, of, pgfast.Text, func(e *entry) string { return e.row.Environment }),
		arrayOf(b, of, pgUUID, func(e *entry) rowID { return e.row.ID }),
		arrayOf(b, of, pgfast.Integer, func(e *entry) int { return e.Event.Sequence }),
		arrayOf(b, of, pgfast.Text, func(e *entry) string { return string(e.Event.Type) }),
		arrayOf(b, of, pgfast.Time, func(e *entry) time.Time { return e.Event.OccurredAt }),
	}
	payloads := arrayOf(b, of, pgfast.Bytes, func(e *entry) []byte { return e.Event.Payload })
	t.add(pgfast.Step{What: "insert events into the feed", Read: pgfast.Discard}, storeInFeed, append(slices.Clone(published), payloads)...)
	masks := arrayOf(b, of, pgfast.Bigint, func(e *entry) int64 { return int64(domain.MaskOf(e.Event.Type)) })
	t.add(pgfast.Step{What: "fan out events", Read: t.fannedOut}, fanOutAll, append(slices.Clone(published), masks)...)
	return nil
}

// fannedOut notes the endpoints that have a pending webhook now.
func (s session) fannedOut(rows *pgconn.ResultReader) ([]int, error) {
	for rows.NextRow() {
		if columns := rows.Values(); string(columns[1]) == string(domain.WebhookPending) {
			s.fanned.add(rowID(hex.EncodeToString(columns[0])))
		}
	}
	return nil, nil
}
