package gormstore

import (
	"testing"
	"time"
)

func TestAWindowAllowsADaysWorthAnHour(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)
	cutoff := now.Add(-720 * time.Hour)
	ago := func(hours float64) time.Time { return cutoff.Add(-time.Duration(hours * float64(time.Hour))) }
	opened := func(until time.Time, before time.Duration) window { return window{until, now.Add(-before)} }
	for name, c := range map[string]struct {
		window window
		oldest time.Time
		until  time.Time
		opens  bool
	}{
		"an hour's worth":                             {window{}, ago(1), cutoff, false},
		"a day's worth":                               {window{}, ago(24), cutoff, false},
		"more than that":                              {window{}, ago(60), ago(36), true},
		"in the hour of a window":                     {opened(ago(36), time.Minute), ago(50), ago(36), false},
		"in the hour of a window that is empty":       {opened(ago(36), time.Minute), ago(36), ago(36), false},
		"little is left in the hour of a window":      {opened(ago(12), time.Minute), ago(12), ago(12), false},
		"an hour later":                               {opened(ago(36), time.Hour), ago(36), ago(12), true},
		"an hour later, beside an old one that stays": {opened(ago(36), time.Hour), ago(60), ago(12), true},
		"an hour later a day's worth is left":         {opened(ago(24), time.Hour), ago(24), cutoff, false},
		"a window from before long ago":               {opened(ago(9000), 8000*time.Hour), ago(3), cutoff, false},
		"of a clock that was ahead by a month":        {opened(cutoff.Add(696*time.Hour), -720*time.Hour), ago(3), cutoff, false},
		"and much has become old since":               {opened(ago(30), -720*time.Hour), ago(60), ago(6), true},
	} {
		if until, opens := c.window.allows(c.oldest, cutoff, now); !until.Equal(c.until) || opens != c.opens {
			t.Errorf("%s: until %v from the cutoff, opens %v; want %v, %v", name, until.Sub(cutoff), opens, c.until.Sub(cutoff), c.opens)
		}
	}
}
