package gormstore_test

import (
	"testing"
	"time"

	"waybill/test/sample"
)

func TestYoungTablesAreAnalyzedAsTheyGrow(t *testing.T) {
	t.Parallel()
	s := openPostgres(t)
	write, _ := s.Pools()
	if _, err := write.ExecContext(t.Context(), "VACUUM ANALYZE"); err != nil { // of nothing
		t.Fatal(err)
	}
	tenant := newTenant(t, s)
	grow := func(by int) {
		for range by {
			if err := s.Book(t.Context(), sample.BookingWrite(tenant)); err != nil {
				t.Fatal(err)
			}
		}
	}
	known := func() (rows int) {
		t.Helper()
		if err := write.QueryRowContext(t.Context(), "SELECT reltuples FROM pg_class WHERE oid = 'deliveries'::regclass").Scan(&rows); err != nil {
			t.Fatal(err)
		}
		return rows
	}
	// Connections tell what they have changed a second late.
	analyzed := func() bool {
		t.Helper()
		before := known()
		for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
			if _, err := s.AnalyzeYoung(t.Context()); err != nil {
				t.Fatal(err)
			}
			if known() != before {
				return true
			}
		}
		return false
	}
	grow(120)
	if !analyzed() || known() < 100 {
		t.Fatalf("Postgres knows of %d deliveries, want the 120 there are", known())
	}
	grow(240)
	if !analyzed() {
		t.Fatalf("Postgres knows of %d deliveries, want some of the 360 there are", known())
	}
	time.Sleep(1200 * time.Millisecond)
	if _, err := s.AnalyzeYoung(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n, err := s.AnalyzeYoung(t.Context()); n != 0 || err != nil {
		t.Errorf("%d tables, %v, though nothing has changed", n, err)
	}
}
