package gormstore_test

import (
	"database/sql"
	"fmt"
	"strings"
	"testing"
	"time"

	"waybill/adapters/storage/gormstore"
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
