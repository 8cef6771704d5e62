package gormstore_test

import (
	"testing"
	"time"

	"waybill/adapters/storage/gormstore"
	"waybill/test/sample"
)

func TestLongRecentlyCreatedTablesAreAnalyzedAsTheyGrow(t *testing.T) {
	t.Parallel()
	s := openPostgres(t)
	// The background looks, and bookings go through a store of their environment.
	live, err := s.Share(t.Context(), gormstore.Options{Name: "live"})
	if err != nil {
		t.Fatal(err)
	}
	defer live.Close()
	write, _ := s.Pools()
	exec(t, s, "VACUUM ANALYZE") // of nothing
	// What the server analyzes by itself does not count.
	exec(t, s, "DO $$ DECLARE t text; BEGIN FOR t IN SELECT relname FROM pg_class WHERE oid IN (SELECT relid FROM pg_stat_user_tables) AND "+
		"relkind = 'r' LOOP"+
		" EXECUTE format('ALTER TABLE %I SET (autovacuum_enabled = off)', t); END LOOP; END $$")
	tenant := newTenant(t, live)
	grow := func(by int) {
		for range by {
			if err := live.Book(t.Context(), sample.BookingWrite(tenant)); err != nil {
				t.Fatal(err)
			}
		}
	}
	known := func() (rows int) {
		t.Helper()
		if err := write.QueryRowContext(t.Context(), "SELECT reltuples FROM pg_class WHERE oid = 'deliveries'::regclass").Scan(
			&rows); err != nil {
			t.Fatal(err)
		}
		return rows
	}
	// Connections tell what they have changed a second late.
	analyzed := func() bool {
		t.Helper()
		before := known()
		for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
			if _, err := s.AnalyzeRecentTables(t.Context()); err != nil {
				t.Fatal(err)
			}
			if known() != before {
				return true
			}
		}
		return false
	}
	grow(120)
	for end := time.Now().Add(2 * time.Second); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		s.BeQuiet()
		if n, err := s.AnalyzeRecentTables(t.Context()); n > 0 || err != nil {
			t.Fatalf("a process that changes nothing analyzed %d tables, %v", n, err)
		}
	}
	grow(1)
	if !analyzed() || known() < 100 {
		t.Fatalf("Postgres knows of %d deliveries, want the 120 there are", known())
	}
	grow(240)
	if !analyzed() {
		t.Fatalf("Postgres knows of %d deliveries, want some of the 360 there are", known())
	}
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(1200 * time.Millisecond) {
		n, err := s.AnalyzeRecentTables(t.Context())
		if n == 0 && err == nil {
			break
		}
		if err != nil || time.Now().After(end) {
			t.Fatalf("%d tables, %v, though nothing has changed", n, err)
		}
	}
}
