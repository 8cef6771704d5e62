package gormstore_test

import (
	"fmt"
	"testing"
	"time"

	"waybill/adapters/storage/gormstore"
	"waybill/domain"
)

func TestFiguresOfReportsGoWhenTheirDayIsOldEnoughAndNoMoreThanADaysWorthAtOnce(t *testing.T) {
	t.Parallel()
	s := openSQLite(t)
	today := domain.ReportDay(time.Now())
	for _, ago := range []int{402, 401, 399, 1} {
		for _, vehicle := range domain.VehicleTypes() {
			exec(t, s, fmt.Sprintf("INSERT INTO report_figures VALUES ('live', 1, '%s', '%032d', '%s', '', 1, 0, 0, '{}', x'', x'')",
				domain.FormatTime(today.AddDate(0, 0, -ago)), 0, vehicle))
		}
	}
	oldest := domain.ReportMonth(today.Add(-domain.ReportKept)) // some of its days are kept
	for _, month := range []time.Time{oldest, oldest.AddDate(0, -1, 0)} {
		exec(t, s, fmt.Sprintf("INSERT INTO report_figures VALUES ('live', 12, '%s', '%032d', '', '', 1, 0, 0, '{}', x'', x'')",
			domain.FormatTime(month), 1))
	}
	left := func() int {
		lines, err := s.Read().Reports.Lines(t.Context(), domain.ReportQuery{
			Environment: domain.Live, From: today.AddDate(0, 0, -500), Until: today, Each: domain.ReportEachDay, Vehicle: domain.Bike,
		})
		if err != nil {
			t.Fatal(err)
		}
		return len(lines)
	}
	if n, more, err := s.PurgeExpired(t.Context(), 3); n != 3 || !more || err != nil {
		t.Errorf("purged %d, more %t (%v), want 3 of one day", n, more, err)
	}
	for range 3 {
		if _, _, err := s.PurgeExpired(t.Context(), 100); err != nil {
			t.Fatal(err)
		}
	}
	if n := count(t, s, "report_figures WHERE by_what = 12"); n != 1 {
		t.Errorf("figures of %d months are left, want those of the one that has days that are kept", n)
	}
	if n := left(); n != 3 {
		t.Errorf("%d days are left, want three: 402 days ago is more than a day's worth before what is kept", n)
	}
}

// From the sixth time on Postgres may keep a plan that is the same for all sets, however
// few figures one of them has.
func TestLongAReportReadsNoFiguresThatAreNotOfIt(t *testing.T) {
	t.Parallel()
	s := openWith(t, newDatabase(t), gormstore.Options{ListPoolSize: 1, StatementTimeout: time.Minute})
	const customers = 100
	today := domain.ReportDay(time.Now())
	exec(t, s, fmt.Sprintf("INSERT INTO report_figures SELECT 'live', by, date_trunc('day', now() AT TIME ZONE 'UTC')"+
		" AT TIME ZONE 'UTC' - ago * interval '1 day',"+
		" CAST(lpad(to_hex(i), 32, '0') AS uuid), '', '', 1, 0, 0, '{}', '', '' FROM generate_series(399, 0, -1) AS d(ago),"+
		" (VALUES (0, 1), (1, 3), (2, 10), (3, 30), (4, %[1]d), (7, 300)) AS set(by, each), generate_series(1, each) AS n(i)", customers))
	exec(t, s, "INSERT INTO report_figures SELECT DISTINCT 'live', 12, date_trunc('month', day AT TIME ZONE 'UTC') AT TIME ZONE 'UTC',"+
		" business_id, '', '', 1, 0, 0, '{}', ''::bytea, ''::bytea FROM report_figures WHERE by_what = 4")
	exec(t, s, "VACUUM ANALYZE report_figures")
	fetched := func() (n int) {
		t.Helper()
		if _, err := s.ListPool().ExecContext(t.Context(), "SELECT pg_stat_force_next_flush()"); err != nil {
			t.Fatal(err)
		}
		if err := s.ListPool().QueryRowContext(t.Context(), "SELECT seq_tup_read + idx_tup_fetch FROM pg_stat_user_tables"+
			" WHERE relname = 'report_figures'").Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	for range 12 {
		before := fetched()
		lines, err := s.Read().Reports.Lines(t.Context(), domain.ReportQuery{
			Environment: domain.Live, From: today.AddDate(0, 0, -399), Until: today.AddDate(0, 0, 1), Each: domain.ReportEachCustomer,
		})
		if err != nil || len(lines) != customers {
			t.Fatalf("%d customers: %v", len(lines), err)
		}
		if n := fetched() - before; n > customers*(13+2*31) {
			t.Errorf("%d rows were read, for %d customers of 13 months and the days around them", n, customers)
		}
	}
}
