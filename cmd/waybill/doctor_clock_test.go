package main

import (
	"strings"
	"testing"
	"time"
)

func TestClocksThatDifferAreTold(t *testing.T) {
	t.Parallel()
	for ahead, want := range map[time.Duration]verdict{
		0: verdictOK, -900 * time.Millisecond: verdictOK, 2 * time.Second: verdictWarn, -3 * time.Minute: verdictWarn, 5 * time.Minute: verdictFail, -time.Hour: verdictFail,
	} {
		d := &diagnosis{clocks: []clockReading{{"Redis's", 0}, {"the database's", ahead}}}
		d.clock()
		if len(d.findings) != 1 || d.findings[0].Check != "clock" || d.findings[0].Verdict != want {
			t.Errorf("%v ahead: %+v, want %s", ahead, d.findings, want)
			continue
		}
		for _, word := range []string{"the database's", ahead.Abs().String(), "NTP"} {
			if told := d.findings[0].Message + d.findings[0].Fix; want != verdictOK && !strings.Contains(told, word) {
				t.Errorf("%v ahead: %q lacks %q", ahead, told, word)
			}
		}
	}
}
