package gormstore_test

import (
	"fmt"
	"testing"
	"time"

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
