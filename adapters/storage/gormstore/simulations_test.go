package gormstore_test

import (
	"database/sql"
	"fmt"
	"strings"
	"testing"
	"time"

	"waybill/adapters/storage/gormstore"
	"waybill/domain"
	"waybill/test/sample"
)

// Running simulations are a few of all deliveries there ever were: a query for
// them must not read the others.
func TestWhatRunsIsFoundByAnIndexOfWhatRuns(t *testing.T) {
	for name, c := range map[string]struct {
		open             func(testing.TB) *gormstore.Store
		explain, analyze string
	}{
		"SQLite":   {openSQLite, "EXPLAIN QUERY PLAN ", "SELECT 'nobody analyzes it in production either'"},
		"Postgres": {openPostgres, "EXPLAIN ", "VACUUM ANALYZE deliveries"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := c.open(t)
			tenant := newTenant(t, s)
			first := sample.SimulatedWrite(tenant)
			if err := s.Book(t.Context(), first); err != nil {
				t.Fatal(err)
			}
			for range 400 {
				if err := s.Book(t.Context(), sample.BookingTo(tenant, first.Recipient, first.Address)); err != nil {
					t.Fatal(err)
				}
			}
			write, read := s.Pools()
			if _, err := write.ExecContext(t.Context(), c.analyze); err != nil {
				t.Fatal(err)
			}
			var plans []string
			if err := s.WatchReads(func(query string, values []any) {
				plans = append(plans, planOf(t, read, c.explain+query, values))
			}); err != nil {
				t.Fatal(err)
			}

			simulations := s.Read().Simulations
			if steps, err := simulations.Due(t.Context(), sample.Now.Add(time.Hour), 10); err != nil || len(steps) != 1 {
				t.Fatalf("due %v (%v)", steps, err)
			}
			if running, _, err := simulations.Load(t.Context(), tenant); err != nil || running != 1 {
				t.Fatalf("%d run (%v)", running, err)
			}
			if running, err := simulations.Running(t.Context()); err != nil || running != 1 {
				t.Fatalf("%d run in all (%v)", running, err)
			}
			indexes := []string{"deliveries_due_idx", "deliveries_running_idx", "_idx"} // either will do to count
			if len(plans) != len(indexes) {
				t.Fatalf("%d statements: %q", len(plans), plans)
			}
			for i, index := range indexes {
				if !strings.Contains(plans[i], index) {
					t.Errorf("%s is not used:\n%s", index, plans[i])
				}
			}
		})
	}
}

// planOf is what the database says about how it would run a statement.
func planOf(t *testing.T, db *sql.DB, explain string, values []any) string {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), explain, values...)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		t.Fatal(err)
	}
	var plan strings.Builder
	line, into := make([]any, len(columns)), make([]any, len(columns))
	for i := range line {
		into[i] = &line[i]
	}
	for rows.Next() {
		if err := rows.Scan(into...); err != nil {
			t.Fatal(err)
		}
		fmt.Fprintln(&plan, line[len(line)-1])
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return plan.String()
}

// Revoked keys are never deleted: a list of those that work must not read thousands of them.
func TestKeysAreListedWithoutReadingThoseThatWereRevoked(t *testing.T) {
	for name, c := range map[string]struct {
		open             func(testing.TB) *gormstore.Store
		explain, analyze string
		blob             string
		id               func(ms, n string) string
	}{
		"SQLite": {openSQLite, "EXPLAIN QUERY PLAN ", "SELECT 'nobody analyzes it in production either'", "CAST(printf('%032d', i) AS BLOB)",
			func(ms, n string) string { return "printf('%012x70008000%012x', " + ms + ", " + n + ")" }},
		"Postgres": {openPostgres, "EXPLAIN ", "VACUUM ANALYZE api_keys", "lpad(i::text, 32, '0')::bytea", postgresID},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := c.open(t)
			tenant := newTenant(t, s)
			exec(t, s, "INSERT INTO api_keys (id, application_id, environment, digest, last_four, scopes, created_at, revoked_at)"+
				" WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5000) SELECT "+c.id("1", "i")+", a.id, 'sandbox', "+
				c.blob+", 'abcd', '', a.created_at, a.created_at FROM n, applications a")
			exec(t, s, c.analyze)
			_, read := s.Pools()
			var plans []string
			if err := s.WatchReads(func(query string, values []any) { plans = append(plans, planOf(t, read, c.explain+query, values)) }); err != nil {
				t.Fatal(err)
			}
			keys, err := s.Read().Tenancy.APIKeys(t.Context(), tenant.ApplicationID, sample.Now)
			if err != nil || len(keys) != domain.MaxPastKeysListed {
				t.Fatalf("%d keys, %v", len(keys), err)
			}
			if len(plans) != 1 || strings.Count(plans[0], "api_keys_usable_idx") != 2 || !strings.Contains(plans[0], "api_keys_listed_idx") {
				t.Errorf("the plan is\n%s", plans)
			}
		})
	}
}
