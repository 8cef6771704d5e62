package gormstore

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestRetentionOpensADaysWorthAnHour(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r retention
		cutoff := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
		oldest := cutoff.Add(-60 * time.Hour)
		is := func(oldest time.Time, want time.Duration, wantOpened bool) {
			t.Helper()
			until, opened := r.until("feed_events", oldest, cutoff)
			if got := until.Sub(cutoff); got != want || opened != wantOpened {
				t.Errorf("records may go until %v from the cutoff (opened: %v), want %v (%v)", got, opened, want, wantOpened)
			}
		}
		is(oldest, -36*time.Hour, true)
		is(oldest.Add(23*time.Hour), -36*time.Hour, false)
		is(cutoff.Add(-36*time.Hour), -36*time.Hour, false) // the window is empty; the hour is not over
		time.Sleep(windowRest)
		is(oldest, -12*time.Hour, true) // also beside an old record that stays
		is(oldest, 0, false)            // what is left is less than a day's worth
		if until, opened := r.until("webhook_deliveries", cutoff.Add(-time.Hour), cutoff); !until.Equal(cutoff) || opened {
			t.Errorf("a table with an hour's worth may go until %v (opened: %v)", until, opened)
		}
	})
}
