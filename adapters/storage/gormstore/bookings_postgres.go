package gormstore

import (
	"cmp"
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"waybill/adapters/batch"
	"waybill/domain"
	"waybill/ports"
)

// storeBatchOnPostgres stores bookings by one statement per table, all of which go to
// the server at once. Where one of the bookings does not come through the
// transaction is rolled back, and the others are stored by another one. A row that
// another transaction holds is looked for in one half of the businesses and then in
// the other. A failure that does not tell of whom it is, such as of a value that the
// database refuses or of a connection that ended, makes all of them come by themselves.
func storeBatchOnPostgres(ctx context.Context, s *Store, entries []*entry) []error {
	outcomes := make([]error, len(entries))
	all := make([]int, len(entries))
	for i := range all {
		all[i] = i
	}
	s.foldSome(ctx, briefWait, entries, all, outcomes)
	return outcomes
}

// foldSome stores those of the entries that are left, and tells what became of each.
func (s *Store) foldSome(ctx context.Context, wait time.Duration, entries []*entry, left []int, outcomes []error) {
	for len(left) > 0 {
		f := &pgFold{entries: make([]*entry, len(left))}
		for i, e := range left {
			f.entries[i] = entries[e]
		}
		err := s.foldOnce(ctx, wait, f)
		if err == nil {
			return
		}
		if s.engine.lockTimedOut(err) {
			if half, other := halves(entries, left); len(other) > 0 {
				s.foldSome(ctx, heldWait, entries, half, outcomes)
				s.foldSome(ctx, heldWait, entries, other, outcomes)
				return
			}
			s.contention.strike(bookingsRow(f.entries[0].Delivery.Tenant))
		}
		missing := f.missing
		if !errors.Is(err, errIncomplete) {
			missing = nil
		}
		if len(missing) == 0 { // it cannot be told whose fault it is
			if aboutRows(err) || statementGone(err) || len(left) > 1 && f.begun && !errors.Is(err, ports.ErrOutcomeUnknown) {
				err = batch.ErrAlone
			} else {
				err = s.engine.failed("store bookings", err)
			}
			for _, e := range left {
				outcomes[e] = err
			}
			return
		}
		var rest []int
		for i, e := range left {
			if missing[i] {
				outcomes[e] = batch.ErrAlone
			} else {
				rest = append(rest, e)
			}
		}
		left = rest
	}
}

// halves are the entries of one half of the businesses and of the other, which is
// empty where there is only one.
func halves(entries []*entry, of []int) (half, other []int) {
	seen := map[rowID]int{}
	for _, e := range of {
		if business := entries[e].row.BusinessID; seen[business] == 0 {
			seen[business] = len(seen) + 1
		}
	}
	for _, e := range of {
		if 2*seen[entries[e].row.BusinessID] <= len(seen)+1 {
			half = append(half, e)
		} else {
			other = append(other, e)
		}
	}
	return half, other
}

// foldOnce stores all of a fold or nothing. It does not queue for a row that is held.
func (s *Store) foldOnce(ctx context.Context, wait time.Duration, f *pgFold) error {
	return s.repeat(ctx, &need{contention: s.contention, wait: wait, queued: true}, func(sn session) error { return f.store(ctx, sn) })
}

// storeRunOnPostgres stores fewer where one of them does not come through.
func storeRunOnPostgres(ctx context.Context, s *Store, entries []*entry) (int, error) {
	for len(entries) > 0 {
		f := &pgFold{entries: entries}
		err := s.foldOnce(ctx, briefWait, f)
		if err == nil {
			return len(entries), nil
		}
		if statementGone(err) {
			return 0, nil // they come by themselves
		}
		if !errors.Is(err, errIncomplete) {
			return 0, s.engine.failed("store bookings", err)
		}
		entries = entries[:slices.Min(slices.Collect(maps.Keys(f.missing)))]
	}
	return 0, nil
}

// errIncomplete tells that some of the bookings did not come through.
var errIncomplete = errors.New("gormstore: a fold is incomplete")

// aboutRows tells a failure that comes of what was to be stored, or of who held
// it, from one of the database.
func aboutRows(err error) bool {
	return isPg(err, pgForeignKeyViolation, pgUniqueViolation, pgCheckViolation, pgLockNotAvailable, pgDeadlockDetected, pgSerializationFailure)
}

// statementGone tells that somebody took from the session what is prepared there,
// or changed the tables.
func statementGone(err error) bool { return isPg(err, pgStatementUnknown, pgPlanOutdated) }

// pgFold is one try to store some bookings.
type pgFold struct {
	entries []*entry
	begun   bool         // a transaction did: the database is there
	missing map[int]bool // those that did not come through
}

// step is one of its statements, and whom it is for: it has to return an ID of
// each of those. Nil: it returns something else, which goes to read.
type step struct {
	what      string
	statement string
	values    []param
	wanted    map[[16]byte][]int
	read      func(*pgconn.ResultReader) error
}

// store sends all statements and reads what came of them. The order in which
// rows are taken is that of a booking that is stored by itself, and within a
// statement that of their values: so no two transactions wait for each other.
func (f *pgFold) store(ctx context.Context, sn session) error {
	f.begun = true
	var steps []step
	add := func(s step, statement string, values ...param) {
		s.statement, s.values = statement, values
		steps = append(steps, s)
		if sn.watch != nil {
			sn.watch(statement, values)
		}
	}
	if hold := f.entries[0].Bulk; hold != nil {
		if err := (bulks{sn}).Extend(ctx, f.entries[0].Delivery.Tenant, hold.Hold); err != nil {
			return err
		}
		f.addItems(add)
	} else {
		f.addKeys(add)
	}
	f.addSimulations(add)
	f.addDirectory(add)
	f.addDeliveries(add, sn)

	return sn.onPgConn(func(conn *pgConn) error {
		sent, err := conn.send(ctx, steps)
		if err != nil {
			return err
		}
		err = f.results(ctx, sn, sent, steps)
		if closed := sent.Close(); err == nil {
			err = sn.engine.failed("store bookings", closed)
		}
		if statementGone(err) { // another connection prepares it anew
			err = errors.Join(err, conn.pgx().Close(ctx))
		}
		return err
	})
}

// results reads what came of each statement, up to the first that failed.
func (f *pgFold) results(ctx context.Context, sn session, sent *pgconn.Pipeline, steps []step) error {
	f.missing = map[int]bool{}
	for _, s := range steps {
		begun := time.Now()
		rows, err := f.result(sent, s)
		sn.db.Logger.Trace(ctx, begun, func() (string, int64) { return s.statement, rows }, err)
		if err != nil {
			if len(f.missing) > 0 { // what comes after one that is missing may fail for that
				return errIncomplete
			}
			return fmt.Errorf("gormstore: %s: %w", s.what, err)
		}
	}
	if len(f.missing) > 0 {
		return errIncomplete
	}
	return nil
}

func discard(rows *pgconn.ResultReader) error {
	for rows.NextRow() {
	}
	return nil
}

// result reads what a statement returned, and notes whom it left out.
func (f *pgFold) result(sent *pgconn.Pipeline, s step) (int64, error) {
	got, err := sent.GetResults()
	if err != nil {
		return 0, err
	}
	rows, ok := got.(*pgconn.ResultReader)
	if !ok {
		return 0, fmt.Errorf("no rows came back but a %T", got)
	}
	read := s.read
	if read == nil {
		read = func(rows *pgconn.ResultReader) error { return f.returned(rows, s.wanted) }
	}
	failed := read(rows)
	tag, err := rows.Close()
	return tag.RowsAffected(), errors.Join(err, failed)
}

// returned notes who is wanted still when all rows have come, where none failed.
func (f *pgFold) returned(rows *pgconn.ResultReader, wanted map[[16]byte][]int) error {
	for rows.NextRow() {
		id := rows.Values()[0]
		if len(id) != 16 {
			return fmt.Errorf("an ID of %d bytes came back", len(id))
		}
		delete(wanted, [16]byte(id))
	}
	if _, err := rows.Close(); err != nil {
		return err
	}
	for _, entries := range wanted {
		for _, e := range entries {
			f.missing[e] = true
		}
	}
	return nil
}

type adding func(s step, statement string, values ...param)

// chosen are the entries that meet a condition, in an order.
func (f *pgFold) chosen(is func(*entry) bool, order func(a, b *entry) int) []int {
	var some []int
	for i := range f.entries {
		if is(f.entries[i]) {
			some = append(some, i)
		}
	}
	slices.SortStableFunc(some, func(a, b int) int { return order(f.entries[a], f.entries[b]) })
	return some
}

func everyone(*entry) bool { return true }

// gathered is something of each of some entries.
func gathered[T any](f *pgFold, of []int, value func(*entry) T) []T {
	all := make([]T, len(of))
	for i, e := range of {
		all[i] = value(f.entries[e])
	}
	return all
}

// arrayOf is a column of some entries.
func arrayOf[T any](f *pgFold, of []int, w wireType[T], value func(*entry) T) param {
	return w.many(len(of), func(i int) T { return value(f.entries[of[i]]) })
}

// wants is who has to be told by which ID.
func (f *pgFold) wants(of []int, id func(*entry) rowID) map[[16]byte][]int {
	wanted := make(map[[16]byte][]int, len(of))
	for _, e := range of {
		u, _ := uuidBytes(id(f.entries[e])) // a malformed one is never stored
		wanted[u] = append(wanted[u], e)
	}
	return wanted
}

// foldKeys leaves a record that has expired to who comes by itself.
const foldKeys = `INSERT INTO idempotency_keys
	(application_id, environment, key, fingerprint, claim_id, status, location, body, created_at, expires_at)
SELECT a, e, k, f, c, s, l, b, t, now() + make_interval(secs => r)
FROM unnest($1::uuid[], $2::text[], $3::text[], $4::bytea[], $5::uuid[], $6::integer[], $7::text[], $8::bytea[], $9::timestamptz[], $10::double precision[])
	AS u (a, e, k, f, c, s, l, b, t, r)
ON CONFLICT (application_id, environment, key) DO NOTHING RETURNING claim_id`

func (f *pgFold) addKeys(add adding) {
	of := f.chosen(everyone, func(a, b *entry) int {
		return cmp.Or(cmp.Compare(a.row.ApplicationID, b.row.ApplicationID), cmp.Compare(a.row.Environment, b.row.Environment), cmp.Compare(a.Key.Key, b.Key.Key))
	})
	claim := func(e *entry) rowID { return rowID(e.Key.ClaimID) }
	add(step{what: "claim idempotency keys", wanted: f.wants(of, claim)}, foldKeys,
		arrayOf(f, of, wireUUID, func(e *entry) rowID { return e.row.ApplicationID }),
		arrayOf(f, of, wireText, func(e *entry) string { return e.row.Environment }),
		arrayOf(f, of, wireText, func(e *entry) string { return e.Key.Key }),
		arrayOf(f, of, wireBytes, func(e *entry) []byte { return e.Key.Fingerprint[:] }),
		arrayOf(f, of, wireUUID, func(e *entry) rowID { return claim(e) }),
		arrayOf(f, of, wireInteger, func(e *entry) int { return e.Key.Answer.Status }),
		arrayOf(f, of, wireText, func(e *entry) string { return e.Key.Answer.Location }),
		arrayOf(f, of, wireBytes, func(e *entry) []byte { return e.Key.Answer.Body }),
		arrayOf(f, of, wireTime, func(e *entry) time.Time { return e.Key.CreatedAt }),
		arrayOf(f, of, wireDouble, func(e *entry) float64 { return e.Retention.Seconds() }))
}

// foldItems takes their expiry from the record they belong to.
const foldItems = `INSERT INTO bulk_items (claim_id, item_index, created, result, expires_at)
SELECT k.claim_id, u.i, u.c, u.r, k.expires_at FROM unnest($1::integer[], $2::boolean[], $3::bytea[]) AS u (i, c, r)
JOIN idempotency_keys k ON k.application_id = $4 AND k.environment = $5 AND k.key = $6 AND k.claim_id = $7
ON CONFLICT (claim_id, item_index) DO NOTHING RETURNING item_index`

// addItems records the outcomes of the items of a bulk, whose lease is held.
func (f *pgFold) addItems(add adding) {
	of := f.chosen(everyone, func(a, b *entry) int { return cmp.Compare(a.Bulk.Item.Index, b.Bulk.Item.Index) })
	first := f.entries[0]
	recorded := func(rows *pgconn.ResultReader) error {
		missing := make(map[int]int, len(of))
		for _, e := range of {
			missing[f.entries[e].Bulk.Item.Index] = e
		}
		for rows.NextRow() {
			delete(missing, int(binary.BigEndian.Uint16(rows.Values()[0]))) // a smallint
		}
		if _, err := rows.Close(); err != nil {
			return err
		}
		for _, e := range missing {
			f.missing[e] = true
		}
		return nil
	}
	add(step{what: "record items of a bulk", read: recorded}, foldItems,
		arrayOf(f, of, wireInteger, func(e *entry) int { return e.Bulk.Item.Index }),
		arrayOf(f, of, wireBoolean, func(e *entry) bool { return e.Bulk.Item.Created }),
		arrayOf(f, of, wireBytes, func(e *entry) []byte { return e.Bulk.Item.Result }),
		wireUUID.one(first.row.ApplicationID), wireText.one(first.row.Environment), wireText.one(first.Bulk.Hold.Key), wireUUID.one(rowID(first.Bulk.Hold.ClaimID)))
}

const foldSimulations = `INSERT INTO simulation_counts (application_id, running)
SELECT a, count(*) FROM unnest($1::uuid[]) AS u (a) GROUP BY a ORDER BY a
ON CONFLICT (application_id) DO UPDATE SET running = simulation_counts.running + excluded.running
WHERE simulation_counts.running + excluded.running <= $2 RETURNING application_id`

// addSimulations counts them. Where not all of an application's may run they
// come by themselves, until no more may.
func (f *pgFold) addSimulations(add adding) {
	of := f.chosen(func(e *entry) bool { return e.Delivery.Simulating() }, func(a, b *entry) int { return 0 })
	if len(of) == 0 {
		return
	}
	application := func(e *entry) rowID { return e.row.ApplicationID }
	add(step{what: "count simulations", wanted: f.wants(of, application)}, foldSimulations,
		arrayOf(f, of, wireUUID, func(e *entry) rowID { return application(e) }), wireInteger.one(domain.MaxRunningSimulations))
}

var (
	recipientColumns = columnarOf(recipientTable, recipientRow{}, " ON CONFLICT (business_id, environment, phone_number) DO NOTHING RETURNING id")
	addressColumns   = columnarOf(addressTable, addressRow{}, " ON CONFLICT (recipient_id, match_hash) DO NOTHING RETURNING id")
	deliveryColumns  = columnarOf(deliveryTable, deliveryRow{}, " ON CONFLICT DO NOTHING RETURNING id")
	eventColumns     = columnarOf(eventTable, eventRow{}, "")
)

const (
	foldNames = `UPDATE recipients r SET name = u.name, search_text = u.search_text, updated_at = u.at
FROM (SELECT r.id, u.name, u.search_text, u.at FROM unnest($1::uuid[], $2::text[], $3::text[], $4::timestamptz[]) AS u (id, name, search_text, at)
	JOIN recipients r ON r.id = u.id ORDER BY r.id FOR NO KEY UPDATE OF r) u
WHERE r.id = u.id AND r.name = ''`

	// A tenant's recipient by its ID alone: where it is another's, the foreign key
	// of the delivery tells.
	foldCounts = `UPDATE recipients r SET address_count = r.address_count + 1
FROM (SELECT id FROM recipients WHERE id = ANY ($1::uuid[]) ORDER BY id FOR NO KEY UPDATE) u
WHERE r.id = u.id AND r.address_count < $2 RETURNING r.id`
)

// addDirectory brings recipients and addresses up to date.
func (f *pgFold) addDirectory(add adding) {
	byPhone := func(a, b *entry) int {
		return cmp.Or(cmp.Compare(a.row.BusinessID, b.row.BusinessID), cmp.Compare(a.row.Environment, b.row.Environment),
			cmp.Compare(a.Recipient.PhoneNumber, b.Recipient.PhoneNumber))
	}
	recipient := func(e *entry) rowID { return rowIDOf(e.Recipient.ID) }

	if of := f.chosen(func(e *entry) bool { return e.NewRecipient }, byPhone); len(of) > 0 {
		rows := gathered(f, of, func(e *entry) recipientRow { return firstRecipientRow(e.BookingWrite) })
		add(step{what: "insert recipients", wanted: f.wants(of, recipient)},
			recipientColumns.insert, recipientColumns.values(rows)...)
	}
	if of := f.chosen(func(e *entry) bool { return e.FillName && !e.NewRecipient }, byPhone); len(of) > 0 {
		rows := gathered(f, of, func(e *entry) recipientRow { return firstRecipientRow(e.BookingWrite) })
		add(step{what: "fill in names of recipients", read: discard}, foldNames,
			arrayOf(f, of, wireUUID, func(e *entry) rowID { return recipient(e) }),
			wireText.many(len(rows), func(i int) string { return rows[i].Name }), wireText.many(len(rows), func(i int) string { return rows[i].SearchText }),
			arrayOf(f, of, wireTime, func(e *entry) time.Time { return e.Recipient.UpdatedAt }))
	}
	if of := f.chosen(func(e *entry) bool { return e.NewAddress && !e.NewRecipient }, byPhone); len(of) > 0 {
		add(step{what: "count addresses", wanted: f.wants(of, recipient)}, foldCounts,
			arrayOf(f, of, wireUUID, func(e *entry) rowID { return recipient(e) }), wireInteger.one(domain.MaxAddressesPerRecipient))
	}
	if of := f.chosen(func(e *entry) bool { return e.NewAddress }, byPhone); len(of) > 0 {
		rows := gathered(f, of, func(e *entry) addressRow { return newAddressRow(e.Delivery.Tenant, e.Address) })
		add(step{what: "insert addresses", wanted: f.wants(of, func(e *entry) rowID { return rowIDOf(e.Address.ID) })},
			addressColumns.insert, addressColumns.values(rows)...)
	}
}

const (
	foldFeed = `INSERT INTO feed_events (id, application_id, environment, delivery_id, sequence, type, occurred_at, payload, position)
SELECT *, ` + pgPosition + ` FROM unnest($1::uuid[], $2::uuid[], $3::text[], $4::uuid[], $5::integer[], $6::text[], $7::timestamptz[], $8::bytea[])`

	foldFanOut = `INSERT INTO webhook_deliveries
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
func (f *pgFold) addDeliveries(add adding, sn session) {
	of := f.chosen(everyone, func(a, b *entry) int {
		return cmp.Or(cmp.Compare(a.row.ApplicationID, b.row.ApplicationID), cmp.Compare(a.row.Environment, b.row.Environment),
			strings.Compare(a.Delivery.ExternalID, b.Delivery.ExternalID))
	})
	rows := gathered(f, of, func(e *entry) deliveryRow { return e.row })
	add(step{what: "insert deliveries", wanted: f.wants(of, func(e *entry) rowID { return e.row.ID })},
		deliveryColumns.insert, deliveryColumns.values(rows)...)

	events := gathered(f, of, func(e *entry) eventRow { return newEventRow(e.Event.Event) })
	add(step{what: "insert events", read: discard}, eventColumns.insert, eventColumns.values(events)...)

	published := []param{
		arrayOf(f, of, wireUUID, func(e *entry) rowID { return rowIDOf(e.Event.ID) }),
		arrayOf(f, of, wireUUID, func(e *entry) rowID { return e.row.ApplicationID }),
		arrayOf(f, of, wireText, func(e *entry) string { return e.row.Environment }),
		arrayOf(f, of, wireUUID, func(e *entry) rowID { return e.row.ID }),
		arrayOf(f, of, wireInteger, func(e *entry) int { return e.Event.Sequence }),
		arrayOf(f, of, wireText, func(e *entry) string { return string(e.Event.Type) }),
		arrayOf(f, of, wireTime, func(e *entry) time.Time { return e.Event.OccurredAt }),
	}
	payloads := arrayOf(f, of, wireBytes, func(e *entry) []byte { return e.Event.Payload })
	add(step{what: "insert events into the feed", read: discard}, foldFeed, append(slices.Clone(published), payloads)...)
	masks := arrayOf(f, of, wireBigint, func(e *entry) int64 { return int64(domain.MaskOf(e.Event.Type)) })
	add(step{what: "fan out events", read: sn.fannedOut}, foldFanOut, append(slices.Clone(published), masks)...)
}

// fannedOut notes for which endpoints there is something.
func (s session) fannedOut(rows *pgconn.ResultReader) error {
	for rows.NextRow() {
		if columns := rows.Values(); string(columns[1]) == string(domain.WebhookPending) {
			s.fanned.add(rowID(hex.EncodeToString(columns[0])))
		}
	}
	return nil
}

// onPgConn gives the connection of a transaction to what gorm does not know.
func (s session) onPgConn(do func(*pgConn) error) error { return onPgConn(s.conn, do) }
