package gormstore_test

import (
	"context"
	"database/sql"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"waybill/adapters/storage/gormstore"
	"waybill/domain"
	"waybill/test/sample"
)

// beforeTenantKeys is the last version whose keys did not name the business of their row.
const beforeTenantKeys = 33

// keysWithout are the keys of rows of a business that do not name it. The migration of tenant
// keys says why, but for the last ones.
var keysWithout = []string{
	"deliveries_reference_key", "idempotency_keys_pkey", "bulk_items_pkey", "simulation_counts_pkey", "readiness_pkey",
	"feed_horizons_pkey", "pickup_locations_pkey", "recipient_addresses_match_key", "webhook_endpoints_pkey",
	"feed_events_pkey", "request_failures_pkey", "request_successes_pkey", "webhook_attempts_pkey",
	"webhook_attempts_webhook_delivery_id_number_key",

	"applications_pkey",   // where each business is to be
	"customer_views_pkey", // of the staff, and looked up by digests
	"customer_views_digest_key", "customer_views_link_key",
}

func TestEveryKeyOfABusinessNamesIt(t *testing.T) {
	write, _ := openPostgres(t).Pools()
	const without = `SELECT k.name, k.of::regclass::text FROM (
			SELECT i.relname AS name, x.indrelid AS of, x.indkey::smallint[] AS columns
			FROM pg_index x JOIN pg_class i ON i.oid = x.indexrelid WHERE x.indisunique
			UNION ALL SELECT f.conname, f.conrelid, f.conkey FROM pg_constraint f
			WHERE f.contype = 'f' AND EXISTS (SELECT 1 FROM pg_attribute a WHERE a.attrelid = f.confrelid AND a.attname = 'business_id')
				AND f.confrelid <> 'applications'::regclass
		) AS k JOIN pg_class c ON c.oid = k.of JOIN pg_attribute b ON b.attrelid = k.of AND b.attname = 'business_id'
		WHERE c.relnamespace = 'public'::regnamespace AND NOT c.relispartition AND NOT b.attnum = ANY (k.columns)`
	rows, err := write.QueryContext(t.Context(), without)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	found := map[string]bool{}
	for rows.Next() {
		var key, table string
		if err := rows.Scan(&key, &table); err != nil {
			t.Fatal(err)
		}
		if found[key] = true; !slices.Contains(keysWithout, key) && !slices.Contains(sometimesWithout, table) {
			t.Errorf("key %s of table %s has to name the business", key, table)
		}
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	for _, key := range keysWithout {
		if !found[key] {
			t.Errorf("key %s is no exception any more", key)
		}
	}
}

// keysOf are the definitions of keys and foreign keys, by their names.
func keysOf(t testing.TB, db *sql.DB) map[string]string {
	t.Helper()
	return namedBy(t, db, "SELECT conname, coalesce(pg_get_constraintdef(oid), '') || CASE WHEN convalidated THEN '' ELSE ' (not validated)' END"+
		" FROM pg_constraint WHERE connamespace = 'public'::regnamespace AND contype IN ('p', 'u', 'f')")
}

func namedBy(t testing.TB, db *sql.DB, query string) map[string]string {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), query)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	found := map[string]string{}
	for rows.Next() {
		var name, what string
		if err := rows.Scan(&name, &what); err != nil {
			t.Fatal(err)
		}
		found[name] = what
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return found
}

// built are the indexes that a migration has in place, by what they are stored in.
const built = `SELECT i.relname, i.relfilenode::text FROM pg_index x JOIN pg_class i ON i.oid = x.indexrelid
	JOIN pg_attribute b ON b.attrelid = x.indrelid AND b.attname = 'business_id'
	WHERE x.indisvalid AND x.indisunique AND b.attnum = ANY (x.indkey::smallint[]) AND i.relname NOT LIKE '%\_of\_business'`

// A killed runner may have been at the first statement of the migration.
func TestAMigrationGoesOnWhereTheLastStatementOfAKilledRunnerEndsBesideIt(t *testing.T) {
	t.Parallel()
	url := emptyDatabases["Postgres"](t)
	if err := gormstore.MigrateTo(t.Context(), url, beforeTenantKeys); err != nil {
		t.Fatal(err)
	}
	const left = "CREATE OR REPLACE PROCEDURE change_tables(which text, statement text) LANGUAGE plpgsql AS $$ BEGIN END $$"
	killed := connect(t, url)
	do(t, killed, left)
	do(t, killed, "BEGIN; "+left)
	ended := make(chan error, 1)
	go func() { ended <- gormstore.Migrate(t.Context(), url) }()
	db := connectDB(t, url)
	for waits := 0; waits == 0; time.Sleep(time.Millisecond) {
		if err := db.QueryRowContext(t.Context(), "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"+
			" AND wait_event_type = 'Lock' AND query LIKE '%PROCEDURE change_tables%'").Scan(&waits); err != nil {
			t.Fatal(err)
		}
	}
	do(t, killed, "COMMIT")
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
}

func TestKeysAreChangedThoughTheMigrationIsKilled(t *testing.T) {
	if testing.Short() {
		t.Skip("fills large tables; left out in short mode")
	}
	t.Parallel()
	url := emptyDatabases["Postgres"](t)
	for _, version := range []int64{beforeTenantColumns, beforeTenantKeys} {
		if err := gormstore.MigrateTo(t.Context(), url, version); err != nil {
			t.Fatal(err)
		}
		if version == beforeTenantColumns {
			rowsBefore(t, connectDB(t, url), "Postgres", 30_000)
		}
	}
	db := connectDB(t, url)
	inPlace, moments := map[string]string{}, map[string]bool{}
	for patience := 30 * time.Millisecond; ; patience += patience / 32 {
		ctx, kill := context.WithTimeout(t.Context(), patience)
		err := gormstore.Migrate(ctx, url)
		deadline, _ := ctx.Deadline()
		killed := !time.Now().Before(deadline) // a dial sees it a moment before the context does
		kill()
		now := namedBy(t, db, built)
		for index, file := range inPlace {
			if now[index] != file {
				t.Errorf("%s was in place, and was built again", index)
			}
		}
		if inPlace = now; err == nil {
			break
		}
		if !killed {
			t.Fatal(err)
		}
		moments[fmt.Sprint(slices.Sorted(maps.Keys(namedBy(t, db, "SELECT relname, '' FROM pg_class WHERE relkind IN ('i', 'c')"))),
			slices.Sorted(maps.Keys(keysOf(t, db))))] = true
	}
	t.Logf("killed at %d different moments", len(moments))
	if len(moments) < 5 {
		t.Errorf("killed at %d moments only", len(moments))
	}
	fresh, _ := openPostgres(t).Pools()
	if diff := cmp.Diff(keysOf(t, fresh), keysOf(t, db)); diff != "" {
		t.Errorf("the keys differ from those of a fresh database (-want +got):\n%s", diff)
	}
	const indexes = "SELECT relname, CASE WHEN indisvalid THEN pg_get_indexdef(indexrelid) ELSE 'broken' END FROM pg_index, pg_class" +
		" WHERE pg_class.oid = indexrelid AND relnamespace = 'public'::regnamespace"
	if diff := cmp.Diff(namedBy(t, fresh, indexes), namedBy(t, db, indexes)); diff != "" {
		t.Errorf("the indexes differ from those of a fresh database (-want +got):\n%s", diff)
	}
	left := namedBy(t, db, `SELECT relname, 'a type' FROM pg_class WHERE relkind = 'c' AND relnamespace = 'public'::regnamespace`)
	if left := append(leftBehind(t, db), slices.Collect(maps.Keys(left))...); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	wantTenants(t, db)
}

// statementsBefore are those of a server of the version before that name a key by its columns,
// look for a row by a part of a key, or leave the business out.
var statementsBefore = []string{
	`INSERT INTO idempotency_keys (business_id, application_id, environment, key, fingerprint, claim_id, status, location, created_at, expires_at)
		VALUES ($1, $2, 'live', 'k', decode(repeat('00', 32), 'hex'), $3, 0, '', now(), now()) ON CONFLICT (application_id, environment, key) DO UPDATE SET status = 1`,
	`INSERT INTO bulk_items (business_id, claim_id, item_index, created, result, expires_at) VALUES ($1, $3, 1, true, '', now())
		ON CONFLICT (claim_id, item_index) DO NOTHING`,
	`INSERT INTO simulation_counts (business_id, application_id, running) VALUES ($1, $2, 1)
		ON CONFLICT (application_id) DO UPDATE SET running = simulation_counts.running + excluded.running`,
	`INSERT INTO readiness (business_id, application_id, step, at, source) VALUES ($1, $2, 's', now(), '')
		ON CONFLICT (application_id, step) DO NOTHING`,
	`INSERT INTO feed_horizons (business_id, application_id, environment, position) VALUES ($1, $2, 'live', 1)
		ON CONFLICT (application_id, environment) DO UPDATE SET position = excluded.position`,
	`INSERT INTO recipients (id, business_id, environment, phone_number, name, search_text, address_count, created_at, updated_at)
		SELECT id, business_id, environment, phone_number, '', '', 0, now(), now() FROM recipients WHERE business_id = $1
		ON CONFLICT (business_id, environment, phone_number) DO NOTHING`,
	`INSERT INTO recipient_addresses SELECT * FROM recipient_addresses WHERE business_id = $1 ON CONFLICT (recipient_id, match_hash) DO NOTHING`,
	`INSERT INTO pickup_locations SELECT * FROM pickup_locations WHERE business_id = $1
		ON CONFLICT (id) DO UPDATE SET name = excluded.name WHERE pickup_locations.business_id = excluded.business_id`,
	`INSERT INTO deliveries SELECT * FROM deliveries WHERE application_id = $2 ON CONFLICT DO NOTHING`,
	`INSERT INTO delivery_events (id, delivery_id, sequence, type, status, previous_status, reason_code, occurred_at)
		SELECT $3, id, 2, '', '', '', '', now() FROM deliveries WHERE application_id = $2`,
	`UPDATE webhook_leases SET number = number + 1 WHERE endpoint_id = (SELECT id FROM webhook_endpoints WHERE application_id = $2)`,
	`UPDATE deliveries SET last_sequence = 2 WHERE application_id = $2 AND environment = 'sandbox'`,
}

func TestAServerOfTheVersionBeforeGoesOnBesideTheNewKeys(t *testing.T) {
	t.Parallel()
	s := openPostgres(t)
	w := sample.BookingWrite(newTenant(t, s))
	tenant := w.Delivery.Tenant
	insertEndpoint(t, s, tenant)
	if err := s.Book(t.Context(), w); err != nil {
		t.Fatal(err)
	}
	write, _ := s.Pools()
	values := strings.NewReplacer("$1", "'"+tenant.BusinessID.Hex()+"'::uuid", "$2", "'"+tenant.ApplicationID.Hex()+"'::uuid",
		"$3", "'"+sample.ID("").Hex()+"'::uuid")
	for _, statement := range statementsBefore {
		if _, err := write.ExecContext(t.Context(), values.Replace(statement)); err != nil {
			t.Errorf("%s: %v", statement, err)
		}
	}
	var n int
	if err := write.QueryRowContext(t.Context(), "SELECT count(*) FROM delivery_events WHERE business_id = $1", tenant.BusinessID.Hex()).
		Scan(&n); err != nil || n != 2 {
		t.Errorf("%d events of the business (%v), want that of the server before, too", n, err)
	}
}

// A run that is killed when all is in place, and is not recorded, is run again.
func TestKeysStayWhereTheirMigrationIsRunAgain(t *testing.T) {
	t.Parallel()
	url := newDatabase(t)
	db := connectDB(t, url)
	indexes := func() map[string]string {
		return namedBy(t, db, "SELECT relname, relkind::text FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind IN ('i', 'c')")
	}
	keys, had := keysOf(t, db), indexes()
	if _, err := db.ExecContext(t.Context(), "DELETE FROM goose_db_version WHERE version_id > $1", beforeTenantKeys); err != nil {
		t.Fatal(err)
	}
	if err := gormstore.Migrate(t.Context(), url); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(keys, keysOf(t, db)) + cmp.Diff(had, indexes()); diff != "" {
		t.Errorf("what was there, and what is (+):\n%s", diff)
	}
}

// The business is decided by the application. Where Postgres does not know that it expects few rows of both.
func TestAPageOfOneOfManyCustomersIsReadInItsOrder(t *testing.T) {
	t.Parallel()
	s := openPostgres(t)
	tenant := newTenant(t, s)
	if err := s.Book(t.Context(), sample.BookingWrite(tenant)); err != nil {
		t.Fatal(err)
	}
	const customers, id = 100, "CAST(lpad(to_hex(%s + i), 32, '0') AS uuid)"
	exec(t, s, fmt.Sprintf("INSERT INTO businesses (id, name, created_at) SELECT "+id+
		", name, created_at FROM businesses, generate_series(0, %d) AS g(i)", "1000", customers-1))
	exec(t, s, fmt.Sprintf("INSERT INTO applications (id, business_id, name, disabled, created_at) SELECT "+id+", "+id+
		", name, disabled, created_at FROM applications, generate_series(0, %d) AS g(i)",
		"2000", "1000", customers-1))
	turn := func(from int) string {
		return fmt.Sprintf("CAST(lpad(to_hex(%d + i %% %d), 32, '0') AS uuid)", from, customers)
	}
	exec(t, s, "ALTER TABLE deliveries DROP CONSTRAINT deliveries_address_fkey")
	copyDeliveries(t, s, 40_000, map[string]string{
		"id": "CAST(lpad(to_hex(i), 32, '0') AS uuid)", "application_id": turn(2000), "business_id": turn(1000), "reference": "'R-' || i",
		"external_id": "'order-' || i", "created_at": "now() - i * interval '1 minute'",
	})
	var plans []string
	_, read := s.Pools()
	if err := s.WatchReads(func(query string, values []any) { plans = append(plans, planOf(t, read, "EXPLAIN "+query, values)) }); err != nil {
		t.Fatal(err)
	}
	hex := func(n int) domain.ID { return domain.ID(fmt.Sprintf("%032x", n)) }
	of := domain.Tenant{BusinessID: "bus_" + hex(1007), ApplicationID: "app_" + hex(2007), Environment: tenant.Environment}
	found, err := s.Read().Deliveries.List(t.Context(), of, domain.DeliveryFilter{}, domain.PageRequest{Limit: 50})
	if err != nil || len(found) != 51 {
		t.Fatalf("%d found: %v", len(found), err)
	}
	all := strings.Join(plans, "\n")
	if strings.Contains(all, "Bitmap") || strings.Contains(all, "Sort") || !strings.Contains(all, "deliveries_list_idx") {
		t.Errorf("more is read than a page:\n%s", all)
	}
}
