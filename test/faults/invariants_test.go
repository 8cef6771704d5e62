package faults

import (
	"context"
	"database/sql"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib"
	_ "modernc.org/sqlite"

	"waybill/adapters/storage/gormstore"
	"waybill/application/deliveries"
	"waybill/domain"
	"waybill/ports"
	"waybill/test/backend"
	"waybill/test/sample"
	"waybill/test/stage"
)

// unknownID is an ID that no record has.
const unknownID = "'00000000-0000-7000-8000-000000000000'"

// theLast picks the row that came last.
func theLast(table string) string {
	return " WHERE CAST(id AS text) = (SELECT max(CAST(id AS text)) FROM " + table + ")"
}

// keyLike adds a key beside one that it is like but for status and location.
func keyLike(which, status, location string) string {
	columns := " application_id, environment, 'another key', fingerprint, claim_id, " + status + ", " + location +
		", body, created_at, expires_at, business_id"
	return "INSERT INTO idempotency_keys (application_id, environment, key, fingerprint, claim_id, status, location, body, created_at, " +
		"expires_at, business_id) SELECT" +
		columns + " FROM idempotency_keys WHERE " + which + " LIMIT 1"
}

// onceMore gives an endpoint an event that is pending for it under another ID.
const onceMore = `INSERT INTO webhook_deliveries
	(id, endpoint_id, event_id, event_type, delivery_id, sequence, status, attempts, used, due_at, trigger, back, created_at,
	business_id)
	SELECT ` + unknownID + `, endpoint_id, event_id, event_type, delivery_id, sequence, status, 0, 0, due_at, trigger, back, created_at,
	business_id
	FROM webhook_deliveries WHERE status = 'pending' LIMIT 1`

const (
	single = "location <> ''"
	whole  = "status = 207" // a bulk that is answered
)

const (
	runs  = "simulation_status = 'running'"
	ended = "simulation_status = 'completed'"
)

// manyRun copies the delivery whose simulation runs a hundred times.
const manyRun = `INSERT INTO deliveries SELECT d.* FROM deliveries d JOIN (
	WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100) SELECT i FROM n
) AS copies ON d.simulation_status = 'running'`

// breaches are statements that break one rule each, in a database that has
// lost its constraints. answer, where there is one, changes the bytes with which
// the bulk was answered instead.
var breaches = []struct {
	rule, statement string
	answer          *strings.Replacer
}{
	{rule: "a key that was answered names a delivery that exists",
		statement: keyLike(single, "status", "'https://api.example/v1/deliveries/dlv_00000000000070008000000000000000'")},
	{rule: "a delivery has one key, or one place in one bulk",
		statement: "DELETE FROM idempotency_keys WHERE key = (SELECT min(key) FROM idempotency_keys WHERE " + single + ")"},
	{rule: "a delivery has one key, or one place in one bulk", statement: "DELETE FROM idempotency_keys WHERE " + whole},
	{rule: "a delivery has one key, or one place in one bulk", statement: "DELETE FROM bulk_items WHERE item_index = 1"},
	{rule: "a delivery has one key, or one place in one bulk", statement: keyLike(single, "status", "location")},
	{rule: "a delivery has one key, or one place in one bulk", statement: keyLike(whole, "status", "location")},
	{rule: "a delivery has one key, or one place in one bulk",
		statement: "INSERT INTO bulk_items SELECT business_id, claim_id, 3, created, result, expires_at FROM bulk_items WHERE item_index = 1"},
	{rule: "a key without an answer is of a bulk under a lease", statement: keyLike(single, "0", "''")},
	{rule: "a key without an answer is of a bulk under a lease",
		statement: "UPDATE idempotency_keys SET leased_until = NULL WHERE status = 0"},
	{rule: "a key with an answer has its bytes and no lease", statement: "UPDATE idempotency_keys SET body = NULL"},
	{rule: "a key with an answer has its bytes and no lease", statement: "UPDATE idempotency_keys SET leased_until = created_at"},
	{rule: "the answer of a bulk names deliveries that exist", statement: "DELETE FROM deliveries"},
	{rule: "an entry of a bulk is a delivery or a refusal", answer: strings.NewReplacer(`"status":"failed"`, `"status":"created"`)},
	{rule: "an entry of a bulk is a delivery or a refusal", answer: strings.NewReplacer(`"status":"failed",`, ``)},
	{rule: "the entries of a bulk stand in the order of its items", answer: strings.NewReplacer(`"index":1`, `"index":2`, `"index":2`,
		`"index":1`)},
	{rule: "the answer of a bulk counts its entries", answer: strings.NewReplacer(`"created":2`, `"created":3`)},
	{rule: "the answer of a bulk counts its entries", statement: "UPDATE idempotency_keys SET status = 201 WHERE " + whole},
	{rule: "the deliveries of a bulk were created in the order of its items",
		statement: "UPDATE deliveries SET created_at = '2020-02-20T20:20:20.020Z'" + theLast("deliveries")},
	{rule: "a recorded item is of a bulk that is not finished", statement: "UPDATE bulk_items SET claim_id = " + unknownID},
	{rule: "a recorded item that was created is a delivery that exists", statement: "DELETE FROM deliveries"},
	{rule: "the recorded items of a bulk have no gap", statement: "DELETE FROM bulk_items WHERE item_index = 0"},
	{rule: "a key is of an application that exists",
		statement: "UPDATE idempotency_keys SET application_id = " + unknownID + " WHERE " + whole},
	{rule: "a delivery begins with delivery.created", statement: `UPDATE delivery_events SET type = 'delivery.assigned'`},
	{rule: "a delivery begins with delivery.created", statement: `DELETE FROM delivery_events`},
	{rule: "the events of a delivery have no gap and no double",
		statement: `INSERT INTO delivery_events SELECT ` + unknownID + `, delivery_id, business_id, 3, type, status, status, reason_code, occurred_at
			FROM delivery_events LIMIT 1`},
	{rule: "the events of a delivery have no gap and no double",
		statement: `INSERT INTO delivery_events SELECT ` + unknownID + `, delivery_id, business_id, 1, type, status, previous_status, reason_code, occurred_at
			FROM delivery_events LIMIT 1`},
	{rule: "a delivery counts its events", statement: `UPDATE deliveries SET last_sequence = 2`},
	{rule: "a delivery is in the state of its last event", statement: `UPDATE deliveries SET status = 'assigned'`},
	{rule: "a simulation is of a sandbox delivery", statement: `UPDATE deliveries SET environment = 'live'`},
	{rule: "a simulation has a scenario that exists, and has done some of its steps", statement: `UPDATE deliveries SET simulation_step = 5`},
	{rule: "a simulation has a scenario that exists, and has done some of its steps", statement: `UPDATE deliveries SET simulation_step = -1`},
	{rule: "a simulation has a scenario that exists, and has done some of its steps",
		statement: `UPDATE deliveries SET simulation_step = NULL`},
	{rule: "a simulation has a scenario that exists, and has done some of its steps",
		statement: `UPDATE deliveries SET simulation_scenario = 'lost'`},
	{rule: "a simulation is completed when all its steps are done", statement: `UPDATE deliveries SET simulation_status = 'completed' WHERE ` +
		runs},
	{rule: "a simulation is completed when all its steps are done", statement: `UPDATE deliveries SET simulation_status = 'running' WHERE ` +
		ended},
	{rule: "a simulation is completed when all its steps are done", statement: `UPDATE deliveries SET simulation_status = 'stopped' WHERE ` +
		ended},
	{rule: "a simulation is completed when all its steps are done", statement: `UPDATE deliveries SET simulation_status = 'idle' WHERE ` +
		runs},
	{rule: "a simulation has a next step while it runs, and no longer", statement: `UPDATE deliveries SET simulation_next_at = NULL WHERE ` +
		runs},
	{rule: "a simulation has a next step while it runs, and no longer", statement: `UPDATE deliveries SET simulation_ends_at = NULL WHERE ` +
		runs},
	{rule: "a simulation has a next step while it runs, and no longer",
		statement: `UPDATE deliveries SET simulation_ends_at = created_at WHERE ` + runs},
	{rule: "a simulation has a next step while it runs, and no longer",
		statement: `UPDATE deliveries SET simulation_next_at = updated_at, simulation_ends_at = updated_at WHERE ` + ended},
	{rule: "a simulation has a next step while it runs, and no longer",
		statement: `UPDATE deliveries SET simulation_next_at = updated_at, simulation_ends_at = updated_at WHERE simulation_status IS NULL`},
	{rule: "a simulation that runs moves a delivery that can move", statement: `UPDATE deliveries SET status = 'cancelled' WHERE ` + runs},
	{rule: "the events of a delivery are the steps that its simulation has done",
		statement: `UPDATE deliveries SET simulation_step = 2 WHERE ` + runs},
	{rule: "the events of a delivery are the steps that its simulation has done",
		statement: `UPDATE deliveries SET simulation_scenario = 'stalled' WHERE ` + ended},
	{rule: "the events of a delivery are the steps that its simulation has done",
		statement: `UPDATE delivery_events SET reason_code = 'other' WHERE sequence = 2`},
	{rule: "while a simulation runs nothing else moves its delivery", statement: `UPDATE deliveries SET simulation_step = 0 WHERE ` + runs},
	{rule: "a step of a simulation is not early",
		statement: `UPDATE deliveries SET simulation_step_seconds = simulation_step_seconds + 1 WHERE ` + runs},
	{rule: "a step of a simulation is not early",
		statement: `UPDATE delivery_events SET occurred_at = '2020-02-20T20:20:20.020Z' WHERE sequence = 2`},
	{rule: "an application counts its running simulations", statement: `UPDATE simulation_counts SET running = running + 1`},
	{rule: "an application counts its running simulations", statement: `DELETE FROM simulation_counts`},
	{rule: "an application counts its running simulations", statement: `INSERT INTO simulation_counts VALUES (` + unknownID + `, ` + unknownID + `, 1)`},
	{rule: "an application counts its running simulations", statement: `UPDATE deliveries SET simulation_status = 'stopped' WHERE ` + runs},
	{rule: "an application runs no more simulations than it may", statement: manyRun},
	{rule: "an event of a delivery is in the feed once", statement: `DELETE FROM feed_events WHERE sequence = 2`},
	{rule: "an event of a delivery is in the feed once", statement: `INSERT INTO feed_events SELECT * FROM feed_events`},
	{rule: "an event of a delivery is in the feed once", statement: `UPDATE feed_events SET sequence = 9 WHERE delivery_id IS NOT NULL`},
	{rule: "an event in the feed is one of a delivery of its application", statement: `UPDATE feed_events SET application_id = ` + unknownID},
	{rule: "an event in the feed is one of a delivery of its application", statement: `DELETE FROM delivery_events`},
	{rule: "the events of a delivery stand in the feed in their order", statement: `UPDATE feed_events SET position = 0 WHERE sequence = 2`},
	{rule: "a webhook endpoint has a slot of its own", statement: `UPDATE webhook_endpoints SET slot = 3`},
	{rule: "a webhook endpoint has a slot of its own", statement: `UPDATE webhook_endpoints SET slot = 16 WHERE slot = 1`},
	{rule: "a webhook endpoint gets every event since it was made", statement: `DELETE FROM webhook_deliveries WHERE status = 'pending'`},
	{rule: "a webhook endpoint gets an event once", statement: onceMore},
	{rule: "a webhook delivery has its event, and the ID of that but for the slot", statement: `DELETE FROM feed_events`},
	{rule: "a webhook delivery has its event, and the ID of that but for the slot", statement: `UPDATE webhook_deliveries SET id = ` +
		unknownID},
	{rule: "a webhook delivery is of an endpoint of its event's application", statement: `UPDATE webhook_endpoints SET environment = 'live'`},
	{rule: "a webhook delivery is due while it is pending, and no longer", statement: `UPDATE webhook_deliveries SET due_at = NULL`},
	{rule: "a webhook delivery is due while it is pending, and no longer", statement: `UPDATE webhook_deliveries SET status = 'failed'`},
	{rule: "a webhook delivery is due while it is pending, and no longer",
		statement: `UPDATE webhook_deliveries SET status = 'lost', due_at = NULL`},
	{rule: "nothing is pending for a webhook endpoint that is disabled", statement: `UPDATE webhook_endpoints SET enabled = (1 = 0)`},
	{rule: "a webhook delivery counts its attempts, and they have no gap", statement: `DELETE FROM webhook_attempts WHERE number = 1`},
	{rule: "a webhook delivery counts its attempts, and they have no gap", statement: `UPDATE webhook_attempts SET number = 1`},
	{rule: "a webhook delivery counts its attempts, and they have no gap", statement: `UPDATE webhook_deliveries SET attempts = 1`},
	{rule: "an attempt is of a webhook delivery that exists", statement: `DELETE FROM webhook_deliveries`},
	{rule: "a row is of the business of what it belongs to", statement: `UPDATE delivery_events SET business_id = ` + unknownID},
	{rule: "a row is of the business of what it belongs to", statement: `UPDATE idempotency_keys SET business_id = ` + unknownID},
	{rule: "a row is of the business of what it belongs to", statement: `UPDATE bulk_items SET business_id = ` + unknownID},
	{rule: "a row is of the business of what it belongs to", statement: `UPDATE feed_events SET business_id = ` + unknownID},
	{rule: "a row is of the business of what it belongs to", statement: `UPDATE simulation_counts SET business_id = ` + unknownID},
	{rule: "a row is of the business of what it belongs to", statement: `UPDATE webhook_leases SET business_id = ` + unknownID},
	{rule: "a row is of the business of what it belongs to", statement: `UPDATE webhook_deliveries SET business_id = ` + unknownID},
	{rule: "a row is of the business of what it belongs to", statement: `UPDATE webhook_attempts SET business_id = ` + unknownID},
	{rule: "an application uses an external_id once", statement: `UPDATE deliveries SET external_id = 'the same'`},
	{rule: "a reference is given once", statement: `UPDATE deliveries SET reference = 'the same'`},
	{rule: "a business has a phone number once", statement: `UPDATE recipients SET phone_number = '+233201112223'`},
	{rule: "a recipient has an address once",
		statement: `INSERT INTO recipient_addresses SELECT ` + unknownID + `, recipient_id, business_id, environment, label, address,
			match_key, match_hash, latitude, longitude, municipality, delivery_notes, created_at
			FROM recipient_addresses LIMIT 1`},
	{rule: "a recipient counts its addresses", statement: `UPDATE recipients SET address_count = 7`},
	{rule: "an event is of a delivery that exists", statement: `UPDATE delivery_events SET delivery_id = ` + unknownID +
		theLast("delivery_events")},
	{rule: "an address is of a recipient of the same business", statement: `UPDATE recipient_addresses SET environment = 'live'`},
	{rule: "a delivery goes to a recipient of the same business", statement: `UPDATE recipients SET environment = 'live'`},
	{rule: "a delivery goes to an address of its recipient", statement: `UPDATE deliveries SET dropoff_id = ` + unknownID +
		theLast("deliveries")},
	{rule: "a delivery is of an application of its business", statement: `UPDATE applications SET business_id = ` + unknownID},
	{rule: "a recipient is of a business that exists", statement: `DELETE FROM businesses`},
}

func TestEveryRuleIsBrokenOnceAndNoticed(t *testing.T) {
	t.Parallel()
	tried := map[string]bool{}
	for _, b := range breaches {
		if tried[b.rule] = true; !slices.Contains(Rules(), b.rule) {
			t.Errorf("no rule is called %q", b.rule)
		}
	}
	for _, rule := range Rules() {
		if !tried[rule] {
			t.Errorf("nothing breaks the rule %q", rule)
		}
	}

	for _, dialect := range engines {
		t.Run(string(dialect), func(t *testing.T) {
			t.Parallel()
			db := populated(t, dialect)
			if found := check(t, db, dialect); len(found) > 0 {
				t.Fatalf("breaches in a sound database: %v", found)
			}
			stripConstraints(t, db, dialect)
			if found := check(t, db, dialect); len(found) > 0 {
				t.Fatalf("breaches for lack of constraints: %v", found)
			}
			for _, b := range breaches {
				statement := b.statement
				if b.answer != nil {
					statement = rewrite(t, db, dialect, b.answer)
				}
				if found := checkAfter(t, db, dialect, statement); !found[b.rule] {
					t.Errorf("%q went unnoticed after %s; told were %v", b.rule, statement, found)
				}
			}
			if found := check(t, db, dialect); len(found) > 0 {
				t.Fatalf("a breach was not taken back: %v", found)
			}
		})
	}
}

// rewrite is the statement that changes what the bulk was answered.
func rewrite(t *testing.T, db *sql.DB, dialect Dialect, change *strings.Replacer) string {
	t.Helper()
	var answer []byte
	if err := db.QueryRowContext(t.Context(), "SELECT body FROM idempotency_keys WHERE "+whole).Scan(&answer); err != nil {
		t.Fatal(err)
	}
	changed := change.Replace(string(answer))
	if changed == string(answer) {
		t.Fatalf("nothing to change in %s", answer)
	}
	bytes := "X'%x'"
	if dialect == Postgres {
		bytes = "'\\x%x'"
	}
	return fmt.Sprintf("UPDATE idempotency_keys SET body = "+bytes+" WHERE "+whole, changed)
}

// populated has two deliveries to people of their own, a simulation that has
// done one of its steps and one that has done all, a bulk that is answered and
// one that is under way; and webhook endpoints that hear of them.
func populated(t *testing.T, dialect Dialect) *sql.DB {
	t.Helper()
	url := freshDatabase(t, dialect)
	store, err := gormstore.Open(t.Context(), url, gormstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	business := sample.Business()
	application := sample.Application(business.ID)
	err = store.InTx(t.Context(), func(ctx context.Context, tx ports.Stores) error {
		if err := tx.Tenancy.InsertBusiness(ctx, business); err != nil {
			return err
		}
		return tx.Tenancy.InsertApplication(ctx, application)
	})
	if err != nil {
		t.Fatal(err)
	}
	tenant := domain.Tenant{BusinessID: business.ID, ApplicationID: application.ID, Environment: domain.Sandbox}
	endpoints := addEndpoints(t, store, tenant)
	for range 2 {
		w := sample.BookingWrite(tenant)
		w.Key.Answer.Location = "https://api.example/v1/deliveries/" + string(w.Delivery.ID)
		if err := store.Book(t.Context(), w); err != nil {
			t.Fatal(err)
		}
	}
	deliverOne(t, store, endpoints[0])
	simulate(t, store, tenant, domain.ScenarioDelivered, 1)
	simulate(t, store, tenant, domain.ScenarioFailedAtPickup, 2)
	// What could not be created stands between two that were.
	hold, entries := beginBulk(t, store, tenant, true, false, true)
	err = store.InTx(t.Context(), func(ctx context.Context, tx ports.Stores) error {
		body := `{"success":true,"statusCode":207,"data":{"created":2,"failed":1,"results":[` + strings.Join(entries, ",") + `]}}`
		return tx.Bulks.Finish(ctx, tenant, hold, domain.Answer{Status: 207, Body: []byte(body)}, time.Hour)
	})
	if err != nil {
		t.Fatal(err)
	}
	beginBulk(t, store, tenant, true, true, false)
	return openDatabase(t, url)
}

// addEndpoints adds one that takes all events, one that takes some and got a test,
// and one that is disabled.
func addEndpoints(t *testing.T, store *gormstore.Store, tenant domain.Tenant) (all []domain.WebhookEndpoint) {
	t.Helper()
	at := func(e *domain.WebhookEndpoint) { e.CreatedAt, e.UpdatedAt = sample.Now, sample.Now }
	err := store.InTx(t.Context(), func(ctx context.Context, tx ports.Stores) error {
		all = nil
		for _, change := range []func(*domain.WebhookEndpoint){
			func(*domain.WebhookEndpoint) {},
			func(e *domain.WebhookEndpoint) { e.EventTypes = []string{"delivery.assigned"} },
			func(e *domain.WebhookEndpoint) { e.Enabled, e.Disabled = false, domain.DisabledByCaller },
		} {
			e, err := tx.Webhooks.InsertEndpoint(ctx, sample.WebhookEndpoint(tenant, at, change))
			if err != nil {
				return err
			}
			all = append(all, e)
		}
		_, err := tx.Webhooks.PublishTo(ctx, all[1], sample.EndpointEvent(domain.EventEndpointTest))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// deliverOne makes two attempts at the first event for the endpoint, of which the
// second arrives.
func deliverOne(t *testing.T, store *gormstore.Store, e domain.WebhookEndpoint) {
	t.Helper()
	token, at := sample.ID("").Hex(), sample.Now.Add(time.Hour)
	if _, leased, err := store.Outbox().Lease(t.Context(), e.ID, token, time.Minute); !leased || err != nil {
		t.Fatal(leased, err)
	}
	var w ports.WebhookOutcome
	for _, r := range []domain.WebhookResult{sample.Refused(at), sample.Arrived(at.Add(time.Minute))} {
		due, err := store.Outbox().Due(t.Context(), e.ID, r.StartedAt, 10)
		again := slices.IndexFunc(due, func(d ports.OutgoingWebhook) bool { return d.ID == w.Delivery.ID || w.Delivery.ID == "" })
		if err != nil || again < 0 {
			t.Fatal(due, err)
		}
		w = sample.WebhookOutcome(due[again].WebhookDelivery, r, r.StartedAt)
		if err := store.Outbox().Record(t.Context(), e.ID, token, []ports.WebhookOutcome{w}, domain.WebhookHealth{}); err != nil {
			t.Fatal(err)
		}
	}
}

// simulate books a delivery and does so many steps of a scenario, each when
// it is due.
func simulate(t *testing.T, store *gormstore.Store, tenant domain.Tenant, s domain.Scenario, steps int) {
	t.Helper()
	w := sample.SimulatedWrite(tenant, func(p *domain.Plan) { p.Scenario = s })
	w.Key.Answer.Location = "https://api.example/v1/deliveries/" + string(w.Delivery.ID)
	if err := store.Book(t.Context(), w); err != nil {
		t.Fatal(err)
	}
	for done := range steps {
		err := store.InTx(t.Context(), func(ctx context.Context, tx ports.Stores) error {
			_, err := deliveries.Change(ctx, tx, stage.Renderer{}, tenant, w.Delivery.ID, time.Now(), func(d *domain.Delivery) ([]domain.Event,
				error) {
				event, _, err := d.Simulate(done, sample.ID(domain.PrefixEvent), *d.Simulation().NextStepAt)
				return []domain.Event{event}, err
			})
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// beginBulk records an item for each of created, and tells its entry of the
// answer.
func beginBulk(t *testing.T, store *gormstore.Store, tenant domain.Tenant, created ...bool) (hold ports.BulkHold, entries []string) {
	t.Helper()
	err := store.InTx(t.Context(), func(ctx context.Context, tx ports.Stores) (err error) {
		key := sample.KeyRecord()
		hold, err = tx.Bulks.Claim(ctx, tenant, key, key.ClaimID, time.Minute, time.Hour)
		return err
	})
	for i, created := range created {
		if err != nil {
			t.Fatal(err)
		}
		item := domain.BulkItem{Index: i, Created: created}
		if created {
			w := sample.BookingWrite(tenant)
			item.Result = fmt.Appendf(nil, `{"index":%d,"status":"created","delivery":{"id":"%s"}}`, i, w.Delivery.ID)
			w.Bulk = &ports.BulkItemMark{Hold: hold, Item: item}
			err = store.Book(t.Context(), w)
		} else {
			item.Result = fmt.Appendf(nil, `{"index":%d,"status":"failed","error":{"code":"EXTERNAL_ID_CONFLICT"}}`, i)
			err = store.InTx(t.Context(), func(ctx context.Context, tx ports.Stores) error {
				return tx.Bulks.AddItem(ctx, tenant, hold, item)
			})
		}
		entries = append(entries, string(item.Result))
	}
	if err != nil {
		t.Fatal(err)
	}
	return hold, entries
}

// freshDatabase is migrated and empty.
func freshDatabase(t *testing.T, dialect Dialect) string {
	t.Helper()
	if dialect == Postgres {
		return backend.Database(t, gormstore.Migrate, gormstore.MigrationsHash())
	}
	url := "sqlite://" + filepath.Join(t.TempDir(), "waybill.db")
	if err := gormstore.Migrate(t.Context(), url); err != nil {
		t.Fatal(err)
	}
	return url
}

// stripConstraints lets the database hold anything.
func stripConstraints(t *testing.T, db *sql.DB, dialect Dialect) {
	t.Helper()
	cascade := ""
	if dialect == Postgres {
		cascade = " CASCADE"
	}
	for _, table := range []string{
		"webhook_attempts", "webhook_deliveries", "webhook_endpoints", "feed_events",
		"delivery_events", "deliveries", "recipient_addresses", "recipients", "pickup_locations",
		"simulation_counts", "bulk_items", "idempotency_keys", "api_keys", "applications", "businesses",
	} {
		for _, statement := range []string{
			"CREATE TABLE bare AS SELECT * FROM " + table, "DROP TABLE " + table + cascade, "ALTER TABLE bare RENAME TO " + table,
		} {
			if _, err := db.ExecContext(t.Context(), statement); err != nil {
				t.Fatalf("%s: %v", statement, err)
			}
		}
	}
}

// checkAfter tells what the statement breaks, and takes it back.
func checkAfter(t *testing.T, db *sql.DB, dialect Dialect, statement string) map[string]bool {
	t.Helper()
	tx, err := db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.ExecContext(t.Context(), statement); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
	found := map[string]bool{}
	for _, b := range check(t, tx, dialect) {
		found[b.Rule] = true
	}
	if err := tx.Rollback(); err != nil {
		t.Fatal(err)
	}
	return found
}

func check(t testing.TB, db Querier, dialect Dialect) []Breach {
	t.Helper()
	found, err := Check(context.WithoutCancel(t.Context()), db, dialect)
	if err != nil {
		t.Fatal(err)
	}
	return found
}
