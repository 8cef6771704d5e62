package gormstore_test

import (
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"testing"

	"waybill/domain"
	"waybill/test/sample"
)

// withoutBusiness are the tables whose rows are of no business, and sometimesWithout those
// of which some rows are not: of the staff, or of a caller that is not known.
var (
	withoutBusiness = []string{
		"businesses", "schema_versions", "installation", "key_pepper", "key_uses", "move_run_items", "move_runs", "operator_tokens",
		"passkey_ceremonies", "passkeys", "person_devices", "person_identities", "persons", "processes", "report_progress",
		"retention_windows", "secret_key_check", "webhook_pauses",
		"api_keys", // looked up by their digests, before it is known whose they are
	}
	sometimesWithout = []string{"audit_log", "mails", "memberships", "person_links", "request_failures", "request_successes", "sessions"}
)

func TestEveryRowOfABusinessNamesIt(t *testing.T) {
	write, _ := openPostgres(t).Pools()
	rows, err := write.QueryContext(t.Context(), `SELECT c.relname, COALESCE(a.attnotnull, false), a.attname IS NOT NULL
		FROM pg_class c LEFT JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'business_id'
		WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition`)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var table string
		var always, sometimes bool
		if err := rows.Scan(&table, &always, &sometimes); err != nil {
			t.Fatal(err)
		}
		switch {
		case slices.Contains(withoutBusiness, table):
		case slices.Contains(sometimesWithout, table) && !sometimes, !slices.Contains(sometimesWithout, table) && !always:
			t.Errorf("table %s needs a column business_id that is NOT NULL. Where rows of it are of no business, say so here", table)
		}
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
}

// keysWithout are the keys of rows of a business that do not contain it. The schema says why, except
// for the last ones.
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

// The business is decided by the application. Where Postgres does not know that it expects few rows of both.
func TestLongAPageOfOneOfManyCustomersIsReadInItsOrder(t *testing.T) {
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
