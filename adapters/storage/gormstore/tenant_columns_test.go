package gormstore_test

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"waybill/adapters/storage/gormstore"
)

// beforeTenantColumns is the last version whose rows did not all name their business.
const beforeTenantColumns = 31

// withoutBusiness are the tables whose rows are of no business, and sometimesWithout those
// of which some rows are not: of the staff, or of a caller that is not known.
var (
	withoutBusiness = []string{
		"businesses", "goose_db_version", "installation", "key_pepper", "key_uses", "move_run_items", "move_runs", "operator_tokens",
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

// rowsBefore fills a database of the version before: two businesses that take turns, and
// in each row a text that tells which of them it is of ("none": its owner was deleted).
func rowsBefore(t testing.TB, db *sql.DB, dialect string, many int) {
	t.Helper()
	id, now, bytes := "printf('%016x%016x', $1, $2)", "'2026-11-01T00:00:00.000Z'", "zeroblob($1)"
	if dialect == "Postgres" {
		id = "CAST(lpad(to_hex($1), 16, '0') || lpad(to_hex($2), 16, '0') AS uuid)"
		now, bytes = "CAST("+now+" AS timestamptz)", "decode(repeat('00', $1), 'hex')"
	}
	numbers := func(many int) string {
		return fmt.Sprintf("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d) SELECT", many)
	}
	words := strings.NewReplacer("$two", numbers(2), "$all", numbers(many), "$tenth", numbers(many/10), "$now", now,
		"$turn", "(i % 2 + 1)", "$order", "((i - 1) / 10 + 1)", "$its_turn", "(((i - 1) / 10 + 1) % 2 + 1)")
	for _, statement := range rowsOfBefore {
		statement = words.Replace(statement)
		statement = idOf.ReplaceAllString(statement, strings.ReplaceAll(strings.ReplaceAll(id, "$1", "${1}"), "$2", "${2}"))
		statement = bytesOf.ReplaceAllString(statement, strings.ReplaceAll(bytes, "$1", "${1}"))
		if _, err := db.ExecContext(t.Context(), statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
}

var (
	idOf    = regexp.MustCompile(`\$id<(\d+), (.+?)>`)
	bytesOf = regexp.MustCompile(`\$bytes<(\d+)>`)
)

// rowsOfBefore are statements in which $id<KIND, NUMBER> is an ID.
var rowsOfBefore = []string{
	`INSERT INTO businesses (id, name, created_at) $two $id<1, i>, 'Business', $now FROM n`,
	`INSERT INTO applications (id, business_id, name, disabled, created_at) $two $id<2, i>, $id<1, i>, 'Application', 1 = 0, $now FROM n`,
	`INSERT INTO recipients (id, business_id, environment, phone_number, name, search_text, address_count, created_at, updated_at)
		$two $id<3, i>, $id<1, i>, 'live', '+1', '', '', 1, $now, $now FROM n`,
	`INSERT INTO recipient_addresses (id, recipient_id, business_id, environment, label, address, match_key, match_hash, latitude,
		longitude, municipality, delivery_notes, created_at)
		$two $id<4, i>, $id<3, i>, $id<1, i>, 'live', '', '', '', $bytes<32>, 0, 0, '', '', $now FROM n`,
	`INSERT INTO deliveries (id, application_id, business_id, environment, reference, recipient_id, recipient_name, recipient_phone,
		pickup_name, pickup_contact, pickup_address, pickup_latitude, pickup_longitude, dropoff_id, dropoff_address, dropoff_latitude,
		dropoff_longitude, dropoff_label, dropoff_municipality, dropoff_notes, payment_type, vehicle_type, currency, requires_custom_quote,
		distance_km, distance_source, instructions, status, last_sequence, created_at, updated_at)
		$tenth $id<5, i>, $id<2, $turn>, $id<1, $turn>, 'live', 'R' || i, $id<3, $turn>, '', '', '', '', '', 0, 0, $id<4, $turn>, '', 0,
		0, '', '', '', '', 'bike', 'GHS', 1 = 0, 1, '', '', 'booked', 10, $now, $now FROM n`,
	`INSERT INTO delivery_events (id, delivery_id, sequence, type, status, previous_status, reason_code, occurred_at)
		$all $id<6, i>, $id<5, $order>, (i - 1) % 10 + 1, 'delivery.created', 'booked', '', 'of ' || $its_turn, $now FROM n`,
	`INSERT INTO idempotency_keys (application_id, environment, key, fingerprint, claim_id, status, location, created_at, expires_at)
		$all $id<2, $turn>, 'live', 'key-' || i, $bytes<32>, $id<7, i>, 0, 'of ' || $turn, $now, $now FROM n`,
	`INSERT INTO bulk_items (claim_id, item_index, created, result, expires_at)
		$tenth $id<7, i>, $turn, 1 = 1, $bytes<32>, $now FROM n`,
	`INSERT INTO bulk_items (claim_id, item_index, created, result, expires_at) VALUES ($id<7, 0>, 0, 1 = 1, $bytes<32>, $now)`,
	`INSERT INTO simulation_counts (application_id, running) $two $id<2, i>, i FROM n`,
	`INSERT INTO readiness (application_id, step, at, source) $two $id<2, i>, 'of ' || i, $now, '' FROM n`,
	`INSERT INTO feed_horizons (application_id, environment, position) $two $id<2, i>, 'live', i FROM n`,
	`INSERT INTO feed_events (id, application_id, environment, delivery_id, sequence, type, occurred_at, payload, position)
		$all $id<6, i>, $id<2, $turn>, 'live', $id<5, $order>, 1, 'of ' || $turn, $now, $bytes<600>, 9000000000000 + i FROM n`,
	`INSERT INTO webhook_endpoints (id, application_id, business_id, environment, slot, url, event_types, event_mask, description, enabled,
		disabled_reason, listener, secret, failures, opened, created_at, updated_at)
		$two $id<8, i>, $id<2, i>, $id<1, i>, 'live', 0, '', '[]', 0, '', 1 = 1, '', 1 = 0, $bytes<32>, 0, 0, $now, $now FROM n`,
	`INSERT INTO webhook_deliveries (id, endpoint_id, event_id, event_type, sequence, status, attempts, used, trigger, back, created_at)
		$all $id<9, i>, CASE WHEN i = 1 THEN $id<8, 9> ELSE $id<8, $turn> END, $id<6, i>,
		CASE WHEN i = 1 THEN 'none' ELSE 'of ' || $turn END, 1, 'succeeded', 1, 1, 'schedule', '', $now FROM n`,
	`INSERT INTO webhook_attempts (id, webhook_delivery_id, number, trigger, status_code, error_class, duration_ms, excerpt, started_at)
		$all $id<10, i>, $id<9, i>, 1, 'schedule', 200, '', 1, CASE WHEN i = 1 THEN 'none' ELSE 'of ' || $turn END, $now FROM n`,
}

// tenantColumns are the tables that got the column, and how a row of them tells whose it is.
var tenantColumns = map[string]string{
	"delivery_events": "reason_code", "idempotency_keys": "location", "feed_events": "type", "webhook_deliveries": "event_type",
	"webhook_attempts": "excerpt", "readiness": "step",
	"bulk_items":        "CASE item_index WHEN 0 THEN 'none' ELSE 'of ' || item_index END",
	"simulation_counts": "'of ' || running", "feed_horizons": "'of ' || position",
	"webhook_leases": "'of ' || substr(CAST(endpoint_id AS text), length(CAST(endpoint_id AS text)), 1)",
}

// wantTenants holds the business of each row against what the row tells.
func wantTenants(t testing.TB, db *sql.DB) {
	t.Helper()
	for table, whose := range tenantColumns {
		rows, err := db.QueryContext(t.Context(), "SELECT "+whose+" AS whose, CAST(business_id AS text), count(*) FROM "+table+
			" GROUP BY 1, 2 ORDER BY 1")
		if err != nil {
			t.Fatal(err)
		}
		defer rows.Close()
		want := map[string]string{"of 1": "00000000000000010000000000000001", "of 2": "00000000000000010000000000000002",
			"none": strings.Repeat("0", 32)}
		var told []string
		for rows.Next() {
			var whose, business string
			var n int
			if err := rows.Scan(&whose, &business, &n); err != nil {
				t.Fatalf("table %s: %v", table, err)
			}
			told = append(told, whose)
			if got := strings.ReplaceAll(business, "-", ""); got != want[whose] {
				t.Errorf("%d rows of %s that are %q have business %s", n, table, whose, got)
			}
		}
		if err := rows.Err(); err != nil || len(told) < 2 {
			t.Errorf("table %s has rows of %q (%v)", table, told, err)
		}
	}
}

func TestRowsGetTheirBusinessThoughTheMigrationIsKilled(t *testing.T) {
	for name, empty := range emptyDatabases {
		t.Run(name, func(t *testing.T) {
			url := empty(t)
			if err := gormstore.MigrateTo(t.Context(), url, beforeTenantColumns); err != nil {
				t.Fatal(err)
			}
			db, _ := open(t, url).Pools()
			rowsBefore(t, db, name, 10_000)
			moments := map[string]bool{}
			for patience := 200 * time.Millisecond; ; patience += patience / 6 {
				ctx, kill := context.WithTimeout(t.Context(), patience)
				err := gormstore.Migrate(ctx, url)
				killed := ctx.Err() != nil
				kill()
				if err == nil {
					break
				}
				if !killed {
					t.Fatal(err)
				}
				moments[moment(t, db)] = true
			}
			t.Logf("killed at %d different moments", len(moments))
			if name == "Postgres" && len(moments) < 5 {
				t.Errorf("killed at %v only", moments)
			}
			wantTenants(t, db)
		})
	}
}

// A runner that is killed leaves its statement to Postgres, which goes on with it. The next
// runner ends that before it begins.
func TestWhatAKilledRunnerLeftIsEndedByTheNext(t *testing.T) {
	t.Parallel()
	for what, long := range map[string]string{
		"DO": "DO $$ BEGIN PERFORM pg_sleep(60); END $$",
		// It waits for the transaction that has written to the table.
		"CREATE INDEX": "CREATE INDEX CONCURRENTLY left_idx ON deliveries (id)",
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			url := newDatabase(t)
			do(t, connect(t, url), "BEGIN; DELETE FROM deliveries")
			left, ended := connectDB(t, url+"&application_name=waybill-migrate"), make(chan error, 1)
			go func() {
				_, err := left.ExecContext(t.Context(), long)
				ended <- err
			}()
			begun := func() (n int) {
				db := connectDB(t, url)
				err := db.QueryRowContext(t.Context(), "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"+
					" AND state = 'active' AND query LIKE '"+what+" %'").Scan(&n)
				if err != nil {
					t.Fatal(err)
				}
				return n
			}
			for begun() == 0 {
				time.Sleep(time.Millisecond)
			}
			if err := gormstore.Migrate(t.Context(), url); err != nil {
				t.Fatal(err)
			}
			if n := begun(); n > 0 {
				t.Fatalf("%d statements of a killed runner go on", n)
			}
			if err := <-ended; err == nil {
				t.Error("the statement came to its end")
			}
		})
	}
}

// Filling goes by the trigger. Where it does not run the rows would be written again and
// again, until the disk is full.
func TestColumnsThatCannotBeFilledEndTheMigration(t *testing.T) {
	t.Parallel()
	url := emptyDatabases["Postgres"](t)
	if err := gormstore.MigrateTo(t.Context(), url, beforeTenantColumns); err != nil {
		t.Fatal(err)
	}
	db, _ := open(t, url).Pools()
	rowsBefore(t, db, "Postgres", 100)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	set := func(to string) {
		do(t, connect(t, url), "DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET session_replication_role = "+to+"', current_database());"+
			" END $$")
	}
	set("replica")
	err := gormstore.Migrate(ctx, url)
	if err == nil || !strings.Contains(err.Error(), "does not run for the role that migrates") {
		t.Fatalf("migrated without the triggers: %v", err)
	}
	set("origin")
	if err := gormstore.Migrate(t.Context(), url); err != nil {
		t.Fatal(err)
	}
	wantTenants(t, db)
}

// moment tells how far a migration has come.
func moment(t testing.TB, db *sql.DB) (done string) {
	t.Helper()
	for table := range tenantColumns {
		var n int
		if db.QueryRowContext(t.Context(), "SELECT count(*) FROM "+table+" WHERE business_id IS NOT NULL").Scan(&n) == nil {
			done += fmt.Sprint(table, n, " ")
		}
	}
	parts := strings.Fields(done)
	slices.Sort(parts)
	return strings.Join(parts, " ")
}

// A server of the version before goes on while the columns are added, and then the keys are
// changed, and rows with it. More rows: WAYBILL_ROWS=10000000 go test -run TestTrafficGoesOn -v -timeout 2h.
func TestTrafficGoesOnWhileTheColumnsAreAdded(t *testing.T) { trafficGoesOn(t, 0, beforeTenantKeys) }
func TestTrafficGoesOnWhileTheKeysAreChanged(t *testing.T) {
	trafficGoesOn(t, beforeTenantKeys, beforeTenantKeys+1)
}

// trafficGoesOn migrates to a version beside traffic, from another one or the rows as they were.
func trafficGoesOn(t *testing.T, from, to int64) {
	t.Helper()
	if testing.Short() {
		t.Skip("fills large tables; left out in short mode")
	}
	many := 20_000
	if rows, err := strconv.Atoi(os.Getenv("WAYBILL_ROWS")); err == nil {
		many = rows
	}
	url := emptyDatabases["Postgres"](t)
	if err := gormstore.MigrateTo(t.Context(), url, beforeTenantColumns); err != nil {
		t.Fatal(err)
	}
	db, _ := open(t, url).Pools()
	begun := time.Now()
	rowsBefore(t, connectDB(t, url), "Postgres", many)
	if from > 0 {
		if err := gormstore.MigrateTo(t.Context(), url, from); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("filled in %v", time.Since(begun))

	ctx, stop := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	worst := sync.Map{}
	busy := func(what string, statement func(n int) string) {
		conn := connectDB(t, url)
		wg.Go(func() {
			longest, times := time.Duration(0), 0
			for ; ctx.Err() == nil; times++ {
				begun := time.Now()
				if _, err := conn.ExecContext(t.Context(), statement(times)); err != nil {
					t.Errorf("%s: %v", what, err)
					break
				}
				longest = max(longest, time.Since(begun))
				time.Sleep(2 * time.Millisecond)
			}
			worst.Store(what, longest)
			t.Logf("%s: %d times, the longest took %v", what, times, longest)
		})
	}
	const nothing = "commit nothing" // it waits for the disk as all others do, and for no lock
	busy(nothing, func(int) string { return "SELECT pg_logical_emit_message(true, 'test', '')" })
	id := func(kind, n int) string { return fmt.Sprintf("'%016x%016x'", kind, n) }
	busy("insert an event", func(n int) string {
		return fmt.Sprintf("INSERT INTO delivery_events (id, delivery_id, sequence, type, status, previous_status, reason_code, occurred_at)"+
			" VALUES (%s, %s, %d, '', '', '', 'of %d', now())", id(6, many+n+1), id(5, n%2+1), n+11, (n+1)%2+1)
	})
	busy("insert a webhook with an attempt", func(n int) string {
		return fmt.Sprintf("INSERT INTO webhook_deliveries (id, endpoint_id, event_id, event_type, sequence, status, attempts, used, trigger,"+
			" back, created_at) VALUES (%s, %s, %s, 'of %d', 1, 'succeeded', 1, 1, '', '', now());"+
			" INSERT INTO webhook_attempts (id, webhook_delivery_id, number, trigger, status_code, error_class, duration_ms, excerpt, started_at)"+
			" VALUES (%s, %s, 1, '', 200, '', 1, 'of %d', now())",
			id(9, many+n+1), id(8, n%2+1), id(9, 1), n%2+1, id(10, many+n+1), id(9, many+n+1), n%2+1)
	})
	busy("update a webhook", func(n int) string {
		return "UPDATE webhook_deliveries SET used = used + 1 WHERE id = " + id(9, n*7919%many+1)
	})
	busy("update a key", func(n int) string {
		return fmt.Sprintf("UPDATE idempotency_keys SET status = 201 WHERE application_id = %s AND environment = 'live' AND key = 'key-%d'",
			id(2, (n%many+1)%2+1), n%many+1)
	})
	busy("claim a key", func(n int) string {
		return fmt.Sprintf("INSERT INTO idempotency_keys (application_id, environment, key, fingerprint, claim_id, status, location, created_at,"+
			" expires_at) VALUES (%s, 'live', 'key-%d', decode(repeat('00', 32), 'hex'), %s, 0, 'of %d', now(), now())"+
			" ON CONFLICT (application_id, environment, key) DO NOTHING",
			id(2, n%2+1), many+n, id(7, many+n), n%2+1)
	})
	busy("update a delivery", func(n int) string {
		return "UPDATE deliveries SET last_sequence = last_sequence + 1 WHERE id = " + id(5, n*7919%(many/10)+1)
	})
	busy("read the feed", func(n int) string { return "SELECT payload FROM feed_events WHERE id = " + id(6, n*7919%many+1) })
	busy("read a timeline", func(n int) string {
		return "SELECT id, type FROM delivery_events WHERE delivery_id = " + id(5, n*7919%(many/10)+1)
	})
	// A reader that stays keeps each table from being changed, and must not keep others.
	wg.Go(func() {
		conn := connect(t, url)
		for ctx.Err() == nil {
			if _, err := conn.Exec(t.Context(), "BEGIN; SELECT 1 FROM feed_events LIMIT 1; SELECT 1 FROM delivery_events LIMIT 1;"+
				" SELECT 1 FROM webhook_deliveries LIMIT 1; SELECT pg_sleep(1); COMMIT; SELECT pg_sleep(0.5)"); err != nil {
				t.Error(err)
				return
			}
		}
	})
	begun = time.Now()
	if err := gormstore.MigrateTo(t.Context(), url, to); err != nil {
		t.Error(err)
	}
	t.Logf("%d rows in each of the large tables migrated in %v", many, time.Since(begun))
	stop()
	wg.Wait()
	none, _ := worst.Load(nothing)
	worst.Range(func(what, longest any) bool {
		if waited := longest.(time.Duration) - none.(time.Duration); waited > 700*time.Millisecond {
			t.Errorf("to %s once took %v, which is %v longer than to commit nothing", what, longest, waited)
		}
		return true
	})
	wantTenants(t, db)
	if diff := cmp.Diff([]string(nil), leftBehind(t, db)); diff != "" {
		t.Errorf("left behind (-want +got):\n%s", diff)
	}
}

// leftBehind are the procedures of a migration that is done, and its constraints.
func leftBehind(t testing.TB, db *sql.DB) (names []string) {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), "SELECT proname FROM pg_proc WHERE prokind = 'p' AND pronamespace = 'public'::regnamespace"+
		" UNION ALL SELECT conname FROM pg_constraint WHERE conname = 'business_check'")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			t.Fatal(err)
		}
		names = append(names, name)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return names
}

func connectDB(t testing.TB, url string) *sql.DB {
	t.Helper()
	db, err := sql.Open("pgx", url)
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	t.Cleanup(func() { db.Close() })
	return db
}
