package main

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"waybill/domain"
)

func TestAFilledDatabaseIsAsTheMigrationsMadeIt(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	before := s.schema(t)
	// It gives positions to events of earlier versions, with a lock for each.
	const refusing = "CREATE OR REPLACE FUNCTION feed_position() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'position % is of an " +
		"earlier version', NEW.position; END $$"
	if _, err := s.db.Exec(t.Context(), refusing); err != nil {
		t.Fatal(err)
	}
	f := filling{rows: 500, begun: time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)}
	if err := f.fill(t.Context(), s.db); err != nil {
		t.Fatal(err)
	}
	if after := s.schema(t); !slices.Equal(after, before) {
		t.Errorf("indexes and keys are\n%s\nand were\n%s", strings.Join(after, "\n"), strings.Join(before, "\n"))
	}
	for table, want := range map[string]int{"deliveries": 501, "recipients": 51, "recipient_addresses": 51, "feed_events": 101} {
		var n int
		if err := s.db.QueryRow(t.Context(), "SELECT count(*) FROM "+table).Scan(&n); err != nil || n != want {
			t.Errorf("%s has %d rows, want %d, %v", table, n, want, err)
		}
	}
	var business, application, environment string
	if err := s.db.QueryRow(t.Context(), "SELECT business_id::text, application_id::text, environment FROM feed_events LIMIT 1").Scan(
		&business, &application, &environment); err != nil {
		t.Fatal(err)
	}
	tenant := domain.Tenant{BusinessID: domain.ID("biz_" + strings.ReplaceAll(business, "-", "")),
		ApplicationID: domain.ID("app_" + strings.ReplaceAll(application, "-", "")), Environment: domain.Environment(environment)}
	d, err := s.store.Read().Deliveries.Get(t.Context(), tenant, domain.ID("dlv_"+f.id(deliveryKind, 41)))
	if err != nil || !d.CreatedAt.Equal(f.begun.Add(41*apart)) || d.Dropoff.ID.Hex() != f.id(addressKind, 41) {
		t.Errorf("the 42nd is %+v, %v", d, err)
	}
	page, err := s.store.Read().Feed.Events(t.Context(), tenant, domain.FeedFilter{}, nil, 200)
	if err != nil || len(page.Events) < f.events() {
		t.Errorf("%d events of %d can be read, %v", len(page.Events), f.events(), err)
	}
}

func TestFilledDeliveriesVaryAsIsSaid(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	f := filling{rows: 100, begun: time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)}
	id := func(kind int) func(int) string { return func(n int) string { return f.id(kind, n) } }
	f.owner = func(recipient int) (business, application string) {
		return f.id(businessKind, recipient%3), f.id(applicationKind, recipient%3)
	}
	f.deliveries = values{"status": func(n int) string {
		if n%10 == 0 {
			return string(domain.Failed)
		}
		return string(domain.Delivered)
	}}
	for table, vary := range map[string]values{
		"businesses": {"id": id(businessKind)}, "applications": {"id": id(applicationKind), "business_id": id(businessKind)},
	} {
		if err := multiply(t.Context(), s.db, table, 3, vary); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.fill(t.Context(), s.db); err != nil { // with all foreign keys
		t.Fatal(err)
	}
	var failed, theirs int
	const counts = "SELECT count(*) FILTER (WHERE status = 'failed'), " +
		"count(*) FILTER (WHERE business_id = $1::text::uuid AND application_id = $2::text::uuid) FROM deliveries"
	business, application := f.owner(2)
	if err := s.db.QueryRow(t.Context(), counts, business, application).Scan(&failed, &theirs); err != nil {
		t.Fatal(err)
	}
	if failed != 10 || theirs != 30 {
		t.Errorf("%d failed and %d are of the third customer, want 10 and 30", failed, theirs)
	}
}

// schema is all indexes and constraints.
func (s *scene) schema(t *testing.T) []string {
	t.Helper()
	rows, err := s.db.Query(context.WithoutCancel(t.Context()), `SELECT indexdef AS line FROM pg_indexes WHERE schemaname = 'public'
		UNION ALL SELECT conrelid::regclass || ' ' || conname || ' ' || convalidated || ' ' || pg_get_constraintdef(oid) FROM pg_constraint WHERE connamespace = 'public'::regnamespace
		ORDER BY line`)
	if err != nil {
		t.Fatal(err)
	}
	lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	return lines
}

func TestRowsOfALargeTableAreNumbersThatRise(t *testing.T) {
	t.Parallel()
	if rows, err := rowsOf("20000, 100000"); err != nil || !slices.Equal(rows, []int{20000, 100000}) {
		t.Errorf("%v, %v", rows, err)
	}
	for _, text := range []string{"", "many", "100000,20000", "20000,20000", "10000"} {
		if rows, err := rowsOf(text); err == nil {
			t.Errorf("%q is %v", text, rows)
		}
	}
}

func TestGrowthIsFromTheFewestRowsToTheMostWithinARound(t *testing.T) {
	t.Parallel()
	of := func(values ...time.Duration) (rounds []measurement) {
		for _, v := range values {
			rounds = append(rounds, measurement{latencies: []time.Duration{v}})
		}
		return rounds
	}
	r := &reading{rounds: [][]measurement{of(10, 20), of(1, 1), of(11, 30)}}
	if got := r.growth(0.99); !slices.Equal(got, []float64{1.1, 1.5}) {
		t.Errorf("growth %v", got)
	}
}
