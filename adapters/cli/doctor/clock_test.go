package doctor

import (
	"strings"
	"testing"
	"time"
)

func TestClocksThatDifferAreTold(t *testing.T) {
	t.Parallel()
	for ahead, want := range map[time.Duration]Verdict{
		0: VerdictOK, -900 * time.Millisecond: VerdictOK, 2 * time.Second: VerdictWarn, -3 * time.Minute: VerdictWarn,
		5 * time.Minute: VerdictFail, -time.Hour: VerdictFail,
	} {
		d := &diagnosis{clocks: []clockReading{{"Redis's", 0}, {"the database's", ahead}}}
		d.clock()
		if len(d.findings) != 1 || d.findings[0].Check != "clock" || d.findings[0].Verdict != want {
			t.Errorf("%v ahead: %+v, want %s", ahead, d.findings, want)
			continue
		}
		for _, word := range []string{"the database's", ahead.Abs().String(), "NTP"} {
			if responseAt := d.findings[0].Message + d.findings[0].Fix; want != VerdictOK && !strings.Contains(responseAt, word) {
				t.Errorf("%v ahead: %q lacks %q", ahead, responseAt, word)
			}
		}
	}
}
