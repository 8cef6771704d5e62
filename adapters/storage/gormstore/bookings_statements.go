package gormstore

import (
	"cmp"
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"waybill/adapters/storage/gormstore/pgfast"
	"waybill/domain"
)

// pgBatch is one try to store some bookings on Postgres: a statement for each table, with
// all rows of it.
type pgBatch struct {
	entries []*entry
	begun   bool         // a transaction did: the database is there
	missing map[int]bool // those that did not come through
}

// store sends all statements and reads what came of them. The order in which
// rows are taken is that of a booking that is stored by itself, and within a
// statement that of their values: so no two transactions wait for each other.
func (b *pgBatch) store(ctx context.Context, sn session) error {
	b.begun = true
	var steps []pgfast.Step
	add := func(s pgfast.Step, statement string, values ...pgfast.Value) {
		s.Statement, s.Values = statement, values
		steps = append(steps, s)
		if sn.watch != nil {
			sn.watch(statement, values)
		}
	}
	if hold := b.entries[0].Bulk; hold != nil {
		if err := (bulks{sn}).Extend(ctx, b.entries[0].Delivery.Tenant, hold.Hold); err != nil {
			return err
		}
		b.addItems(add)
	} else {
		b.addKeys(add)
	}
	b.addSimulations(add)
	b.addDirectory(add)
	b.addDeliveries(add, sn)

	trace := func(s pgfast.Step, begun time.Time, rows int64, err error) {
		sn.db.Logger.Trace(ctx, begun, func() (string, int64) { return s.Statement, rows }, err)
	}
	return onPgConn(sn.conn, func(conn *pgConn) (err error) {
		// Behind a pooler nothing is prepared.
		b.missing, err = pgfast.Run(ctx, conn.pgx(), conn.alone == "", steps, trace)
		switch {
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

// adding takes a statement with its values.
type adding func(s pgfast.Step, statement string, values ...pgfast.Value)

// chosen are the entries that meet a condition, in an order.
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

func everyone(*entry) bool { return true }

// gathered is something of each of some entries.
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

// wants is who has to be told by which ID.
func (b *pgBatch) wants(of []int, id func(*entry) rowID) map[[16]byte][]int {
	wanted := make(map[[16]byte][]int, len(of))
	for _, e := range of {
		u, _ := pgfast.UUIDBytes(id(b.entries[e])) // a malformed one is never stored
		wanted[u] = append(wanted[u], e)
	}
	return wanted
}

// storeKeys leaves a record that has expired to who comes by itself.
const storeKeys = `INSERT INTO idempotency_keys
	(application_id, environment, key, fingerprint, claim_id, status, location, body, created_at, expires_at)
SELECT a, e, k, f, c, s, l, b, t, now() + make_interval(secs => r)
FROM unnest($1::uuid[], $2::text[], $3::text[], $4::bytea[], $5::uuid[], $6::integer[], $7::text[], $8::bytea[], $9::timestamptz[], $10::double precision[])
	AS u (a, e, k, f, c, s, l, b, t, r)
ON CONFLICT (application_id, environment, key) DO NOTHING RETURNING claim_id`

func (b *pgBatch) addKeys(add adding) {
	of := b.chosen(everyone, func(a, b *entry) int {
		return cmp.Or(cmp.Compare(a.row.ApplicationID, b.row.ApplicationID), cmp.Compare(a.row.Environment, b.row.Environment), cmp.Compare(a.Key.Key, b.Key.Key))
	})
	claim := func(e *entry) rowID { return rowID(e.Key.ClaimID) }
	add(pgfast.Step{What: "claim idempotency keys", Wanted: b.wants(of, claim)}, storeKeys,
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
}

// storeItems takes their expiry from the record they belong to.
const storeItems = `INSERT INTO bulk_items (claim_id, item_index, created, result, expires_at)
SELECT k.claim_id, u.i, u.c, u.r, k.expires_at FROM unnest($1::integer[], $2::boolean[], $3::bytea[]) AS u (i, c, r)
JOIN idempotency_keys k ON k.application_id = $4 AND k.environment = $5 AND k.key = $6 AND k.claim_id = $7
ON CONFLICT (claim_id, item_index) DO NOTHING RETURNING item_index`

// addItems records the outcomes of the items of a bulk, whose lease is held.
func (b *pgBatch) addItems(add adding) {
	of := b.chosen(everyone, func(a, b *entry) int { return cmp.Compare(a.Bulk.Item.Index, b.Bulk.Item.Index) })
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
	add(pgfast.Step{What: "record items of a bulk", Read: recorded}, storeItems,
		arrayOf(b, of, pgfast.Integer, func(e *entry) int { return e.Bulk.Item.Index }),
		arrayOf(b, of, pgfast.Boolean, func(e *entry) bool { return e.Bulk.Item.Created }),
		arrayOf(b, of, pgfast.Bytes, func(e *entry) []byte { return e.Bulk.Item.Result }),
		pgUUID.One(first.row.ApplicationID), pgfast.Text.One(first.row.Environment), pgfast.Text.One(first.Bulk.Hold.Key), pgUUID.One(rowID(first.Bulk.Hold.ClaimID)))
}

const countSimulations = `INSERT INTO simulation_counts (application_id, running)
SELECT a, count(*) FROM unnest($1::uuid[]) AS u (a) GROUP BY a ORDER BY a
ON CONFLICT (application_id) DO UPDATE SET running = simulation_counts.running + excluded.running
WHERE simulation_counts.running + excluded.running <= $2 RETURNING application_id`

// addSimulations counts them. Where not all of an application's may run they
// come by themselves, until no more may.
func (b *pgBatch) addSimulations(add adding) {
	of := b.chosen(func(e *entry) bool { return e.Delivery.Simulating() }, func(*entry, *entry) int { return 0 })
	if len(of) == 0 {
		return
	}
	application := func(e *entry) rowID { return e.row.ApplicationID }
	add(pgfast.Step{What: "count simulations", Wanted: b.wants(of, application)}, countSimulations,
		arrayOf(b, of, pgUUID, func(e *entry) rowID { return application(e) }), pgfast.Integer.One(domain.MaxRunningSimulations))
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
	recipientColumns = recipientTable.columnar(" ON CONFLICT (business_id, environment, phone_number) DO NOTHING RETURNING id")
	addressColumns   = addressTable.columnar(" ON CONFLICT (recipient_id, match_hash) DO NOTHING RETURNING id")
	deliveryColumns  = deliveryTable.columnar(" ON CONFLICT DO NOTHING RETURNING id")
	eventColumns     = eventTable.columnar("")
)

// columnar stores many rows of the table; conflicts is what is done about those.
func (t table) columnar(conflicts string) pgfast.Columns {
	fields := make([]pgfast.Field, len(t.fields))
	for i, f := range t.fields {
		fields[i] = pgfast.Field{StructField: f.StructField, Column: f.DBName}
	}
	return pgfast.ColumnsOf(t.name, fields, pgKinds, conflicts)
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

// addDirectory brings recipients and addresses up to date.
func (b *pgBatch) addDirectory(add adding) {
	byPhone := func(a, b *entry) int {
		return cmp.Or(cmp.Compare(a.row.BusinessID, b.row.BusinessID), cmp.Compare(a.row.Environment, b.row.Environment),
			cmp.Compare(a.Recipient.PhoneNumber, b.Recipient.PhoneNumber))
	}
	recipient := func(e *entry) rowID { return rowIDOf(e.Recipient.ID) }

	if of := b.chosen(func(e *entry) bool { return e.NewRecipient }, byPhone); len(of) > 0 {
		rows := gathered(b, of, func(e *entry) recipientRow { return firstRecipientRow(e.BookingWrite) })
		add(pgfast.Step{What: "insert recipients", Wanted: b.wants(of, recipient)},
			recipientColumns.Statement, recipientColumns.Values(rows)...)
	}
	if of := b.chosen(func(e *entry) bool { return e.FillName && !e.NewRecipient }, byPhone); len(of) > 0 {
		rows := gathered(b, of, func(e *entry) recipientRow { return firstRecipientRow(e.BookingWrite) })
		add(pgfast.Step{What: "fill in names of recipients", Read: pgfast.Discard}, fillNames,
			arrayOf(b, of, pgUUID, func(e *entry) rowID { return recipient(e) }),
			pgfast.Text.Many(len(rows), func(i int) string { return rows[i].Name }), pgfast.Text.Many(len(rows), func(i int) string { return rows[i].SearchText }),
			arrayOf(b, of, pgfast.Time, func(e *entry) time.Time { return e.Recipient.UpdatedAt }))
	}
	if of := b.chosen(func(e *entry) bool { return e.NewAddress && !e.NewRecipient }, byPhone); len(of) > 0 {
		add(pgfast.Step{What: "count addresses", Wanted: b.wants(of, recipient)}, countAddresses,
			arrayOf(b, of, pgUUID, func(e *entry) rowID { return recipient(e) }), pgfast.Integer.One(domain.MaxAddressesPerRecipient))
	}
	if of := b.chosen(func(e *entry) bool { return e.NewAddress }, byPhone); len(of) > 0 {
		rows := gathered(b, of, func(e *entry) addressRow { return newAddressRow(e.Delivery.Tenant, e.Address) })
		add(pgfast.Step{What: "insert addresses", Wanted: b.wants(of, func(e *entry) rowID { return rowIDOf(e.Address.ID) })},
			addressColumns.Statement, addressColumns.Values(rows)...)
	}
}

const (
	storeInFeed = `INSERT INTO feed_events (id, application_id, environment, delivery_id, sequence, type, occurred_at, payload, position)
SELECT *, ` + pgPosition + ` FROM unnest($1::uuid[], $2::uuid[], $3::text[], $4::uuid[], $5::integer[], $6::text[], $7::timestamptz[], $8::bytea[])`

	fanOutAll = `INSERT INTO webhook_deliveries
	(id, endpoint_id, event_id, event_type, delivery_id, sequence, status, attempts, used, due_at, trigger, back, created_at)
SELECT CAST(substr(CAST(u.id AS text), 1, 35) || to_hex(CAST(w.slot AS integer)) AS uuid), w.id, u.id, u.type, u.delivery_id, u.sequence,
	CASE WHEN w.enabled THEN 'pending' ELSE 'held' END, 0, 0, CASE WHEN w.enabled THEN u.at END, 'schedule', '', u.at
FROM unnest($1::uuid[], $2::uuid[], $3::text[], $4::uuid[], $5::integer[], $6::text[], $7::timestamptz[], $8::bigint[])
	AS u (id, application_id, environment, delivery_id, sequence, type, at, mask)
JOIN webhook_endpoints w ON w.application_id = u.application_id AND w.environment = u.environment
	AND w.slot IS NOT NULL AND w.event_mask & u.mask <> 0
RETURNING endpoint_id, status`
)

// addDeliveries stores them with their first events, in the order of their
// external_id, which others may claim at the same moment.
func (b *pgBatch) addDeliveries(add adding, sn session) {
	of := b.chosen(everyone, func(a, b *entry) int {
		return cmp.Or(cmp.Compare(a.row.ApplicationID, b.row.ApplicationID), cmp.Compare(a.row.Environment, b.row.Environment),
			strings.Compare(a.Delivery.ExternalID, b.Delivery.ExternalID))
	})
	rows := gathered(b, of, func(e *entry) deliveryRow { return e.row })
	add(pgfast.Step{What: "insert deliveries", Wanted: b.wants(of, func(e *entry) rowID { return e.row.ID })},
		deliveryColumns.Statement, deliveryColumns.Values(rows)...)

	events := gathered(b, of, func(e *entry) eventRow { return newEventRow(e.Event.Event) })
	add(pgfast.Step{What: "insert events", Read: pgfast.Discard}, eventColumns.Statement, eventColumns.Values(events)...)

	published := []pgfast.Value{
		arrayOf(b, of, pgUUID, func(e *entry) rowID { return rowIDOf(e.Event.ID) }),
		arrayOf(b, of, pgUUID, func(e *entry) rowID { return e.row.ApplicationID }),
		arrayOf(b, of, pgfast.Text, func(e *entry) string { return e.row.Environment }),
		arrayOf(b, of, pgUUID, func(e *entry) rowID { return e.row.ID }),
		arrayOf(b, of, pgfast.Integer, func(e *entry) int { return e.Event.Sequence }),
		arrayOf(b, of, pgfast.Text, func(e *entry) string { return string(e.Event.Type) }),
		arrayOf(b, of, pgfast.Time, func(e *entry) time.Time { return e.Event.OccurredAt }),
	}
	payloads := arrayOf(b, of, pgfast.Bytes, func(e *entry) []byte { return e.Event.Payload })
	add(pgfast.Step{What: "insert events into the feed", Read: pgfast.Discard}, storeInFeed, append(slices.Clone(published), payloads)...)
	masks := arrayOf(b, of, pgfast.Bigint, func(e *entry) int64 { return int64(domain.MaskOf(e.Event.Type)) })
	add(pgfast.Step{What: "fan out events", Read: sn.fannedOut}, fanOutAll, append(slices.Clone(published), masks)...)
}

// fannedOut notes for which endpoints there is something.
func (s session) fannedOut(rows *pgconn.ResultReader) ([]int, error) {
	for rows.NextRow() {
		if columns := rows.Values(); string(columns[1]) == string(domain.WebhookPending) {
			s.fanned.add(rowID(hex.EncodeToString(columns[0])))
		}
	}
	return nil, nil
}
