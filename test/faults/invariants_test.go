package faults

import (
	"context"
	"database/sql"
	"path/filepath"
	"testing"

	_ "github.com/glebarez/go-sqlite"
	_ "github.com/jackc/pgx/v5/stdlib"

	"waybill/adapters/storage/gormstore"
	"waybill/domain"
	"waybill/ports"
	"waybill/test/postgres"
	"waybill/test/sample"
)

// stranger is an ID that nothing has.
const stranger = "'00000000-0000-7000-8000-000000000000'"

// one picks a single row of a table.
func one(table string) string {
	return " WHERE CAST(id AS text) = (SELECT min(CAST(id AS text)) FROM " + table + ")"
}

// breaches are statements that break one rule each, in a database that has
// lost its constraints.
var breaches = []struct{ rule, statement string }{
	{"a key that was answered names a delivery that exists",
		`INSERT INTO idempotency_keys SELECT application_id, environment, 'another key', fingerprint, claim_id, status,
			'https://api.example/v1/deliveries/dlv_00000000000070008000000000000000', body, created_at, expires_at
			FROM idempotency_keys LIMIT 1`},
	{"a delivery has one key", `DELETE FROM idempotency_keys WHERE key = (SELECT min(key) FROM idempotency_keys)`},
	{"a delivery has one key",
		`INSERT INTO idempotency_keys SELECT application_id, environment, 'another key', fingerprint, claim_id, status,
			location, body, created_at, expires_at FROM idempotency_keys LIMIT 1`},
	{"a key that is recorded has its answer",
		`INSERT INTO idempotency_keys SELECT application_id, environment, 'another key', fingerprint, claim_id, 0,
			'', body, created_at, expires_at FROM idempotency_keys LIMIT 1`},
	{"a key is of an application that exists",
		`INSERT INTO idempotency_keys SELECT ` + stranger + `, environment, 'another key', fingerprint, claim_id, 200,
			'', body, created_at, expires_at FROM idempotency_keys LIMIT 1`},
	{"a delivery begins with delivery.created", `UPDATE delivery_events SET type = 'delivery.assigned'`},
	{"a delivery begins with delivery.created", `DELETE FROM delivery_events`},
	{"the events of a delivery have no gap and no double",
		`INSERT INTO delivery_events SELECT ` + stranger + `, delivery_id, 3, type, status, status, reason_code, occurred_at
			FROM delivery_events LIMIT 1`},
	{"the events of a delivery have no gap and no double",
		`INSERT INTO delivery_events SELECT ` + stranger + `, delivery_id, 1, type, status, previous_status, reason_code, occurred_at
			FROM delivery_events LIMIT 1`},
	{"a delivery counts its events", `UPDATE deliveries SET last_sequence = 2`},
	{"a delivery is in the state of its last event", `UPDATE deliveries SET status = 'assigned'`},
	{"an application uses an external_id once", `UPDATE deliveries SET external_id = 'the same'`},
	{"a reference is given once", `UPDATE deliveries SET reference = 'the same'`},
	{"a business has a phone number once", `UPDATE recipients SET phone_number = '+233201112223'`},
	{"a recipient has an address once",
		`INSERT INTO recipient_addresses SELECT ` + stranger + `, recipient_id, business_id, environment, label, address,
			match_key, match_hash, latitude, longitude, municipality, delivery_notes, created_at
			FROM recipient_addresses LIMIT 1`},
	{"a recipient counts its addresses", `UPDATE recipients SET address_count = 7`},
	{"an event is of a delivery that exists", `UPDATE delivery_events SET delivery_id = ` + stranger + one("delivery_events")},
	{"an address is of a recipient of the same business", `UPDATE recipient_addresses SET environment = 'live'`},
	{"a delivery goes to a recipient of the same business", `UPDATE recipients SET environment = 'live'`},
	{"a delivery goes to an address of its recipient", `UPDATE deliveries SET dropoff_id = ` + stranger + one("deliveries")},
	{"a delivery is of an application of its business", `UPDATE applications SET business_id = ` + stranger},
	{"a recipient is of a business that exists", `DELETE FROM businesses`},
}

func TestEveryRuleIsBrokenOnceAndNoticed(t *testing.T) {
	t.Parallel()
	untried := map[string]bool{}
	for _, rule := range Rules() {
		untried[rule] = true
	}
	for _, b := range breaches {
		if delete(untried, b.rule); untried[b.rule] {
			t.Errorf("no rule is called %q", b.rule)
		}
	}
	for rule := range untried {
		t.Errorf("nothing breaks the rule %q", rule)
	}

	for _, engine := range []string{sqlite, pg} {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			db := populated(t, engine)
			if found := check(t, db); len(found) > 0 {
				t.Fatalf("breaches in a sound database: %v", found)
			}
			stripConstraints(t, db, engine)
			if found := check(t, db); len(found) > 0 {
				t.Fatalf("breaches for lack of constraints: %v", found)
			}
			for _, b := range breaches {
				if found := checkAfter(t, db, b.statement); !found[b.rule] {
					t.Errorf("%q went unnoticed after %s; told were %v", b.rule, b.statement, found)
				}
			}
			if found := check(t, db); len(found) > 0 {
				t.Fatalf("a breach was not taken back: %v", found)
			}
		})
	}
}

// populated has two deliveries to people of their own.
func populated(t *testing.T, engine string) *sql.DB {
	t.Helper()
	url := freshDatabase(t, engine)
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
	for range 2 {
		w := sample.BookingWrite(tenant)
		w.Key.Answer.Location = "https://api.example/v1/deliveries/" + string(w.Delivery.ID)
		if err := store.Book(t.Context(), w); err != nil {
			t.Fatal(err)
		}
	}
	return openDatabase(t, url)
}

// freshDatabase is migrated and empty.
func freshDatabase(t *testing.T, engine string) string {
	t.Helper()
	if engine == pg {
		return postgres.Database(t, gormstore.Migrate, gormstore.MigrationsHash())
	}
	url := "sqlite://" + filepath.Join(t.TempDir(), "waybill.db")
	if err := gormstore.Migrate(t.Context(), url); err != nil {
		t.Fatal(err)
	}
	return url
}

// stripConstraints lets the database hold anything.
func stripConstraints(t *testing.T, db *sql.DB, engine string) {
	t.Helper()
	cascade := ""
	if engine == pg {
		cascade = " CASCADE"
	}
	for _, table := range []string{
		"delivery_events", "deliveries", "recipient_addresses", "recipients", "pickup_locations",
		"idempotency_keys", "api_keys", "applications", "businesses",
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
func checkAfter(t *testing.T, db *sql.DB, statement string) map[string]bool {
	t.Helper()
	tx, err := db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.ExecContext(t.Context(), statement); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
	found := map[string]bool{}
	for _, b := range check(t, tx) {
		found[b.Rule] = true
	}
	if err := tx.Rollback(); err != nil {
		t.Fatal(err)
	}
	return found
}

func check(t testing.TB, db Querier) []Breach {
	t.Helper()
	found, err := Check(context.WithoutCancel(t.Context()), db)
	if err != nil {
		t.Fatal(err)
	}
	return found
}
