package faults

import (
	"encoding/json"
	"fmt"
	"go/build"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"waybill/test/backend"
)

// clockVariable tells wrongClockProgram by how many seconds the wall clock is
// ahead and, behind a colon, from which second of its life on. The monotonic clock
// stays right, as that of a machine does whose clock is set.
const clockVariable = "WAYBILL_TEST_CLOCK"

// wrongClockProgram is the real program on a standard library whose wall clock is
// wrong.
var wrongClockProgram = sync.OnceValues(func() (string, error) {
	const call, wrong = "sec, nsec, mono := runtimeNow()", "sec, nsec, mono := wrongNow()"
	original := filepath.Join(build.Default.GOROOT, "src", "time", "time.go")
	source, err := os.ReadFile(original)
	if err != nil {
		return "", err
	}
	if strings.Count(string(source), call) != 1 {
		return "", fmt.Errorf("%s does not read the clock by %q once; look how it does, and change this test", original, call)
	}
	changed := strings.Replace(strings.Replace(string(source), call, wrong, 1), "import (", "import (\n\t\"syscall\"", 1) + `
var wrongBy, wrongFrom = func() (by, from int64) {
	setting, _ := syscall.Getenv("` + clockVariable + `")
	number := func(s string) (n int64) {
		sign := int64(1)
		for _, c := range []byte(s) {
			if c == '-' {
				sign = -1
			} else {
				n = 10*n + int64(c-'0')
			}
		}
		return sign * n
	}
	for i := range len(setting) {
		if setting[i] == ':' {
			return number(setting[:i]), number(setting[i+1:])
		}
	}
	return number(setting), 0
}()

func wrongNow() (sec int64, nsec int32, mono int64) {
	sec, nsec, mono = runtimeNow()
	if mono-startNano >= wrongFrom*int64(Second) {
		sec += wrongBy
	}
	return sec, nsec, mono
}
`
	replaced := filepath.Join(binaries, "time.go")
	overlay, err := json.Marshal(m{"Replace": m{original: replaced}})
	if err != nil {
		return "", err
	}
	for path, content := range map[string][]byte{replaced: []byte(changed), filepath.Join(binaries, "overlay.json"): overlay} {
		if err := os.WriteFile(path, content, 0o600); err != nil {
			return "", err
		}
	}
	return buildProgram("waybill-wrong-clock", "-overlay", filepath.Join(binaries, "overlay.json"))
})

// TestWrongClocksDelayAndDeleteNothing has servers and workers whose clocks are a
// minute to a month off, and some that are set while they work.
func TestWrongClocksDelayAndDeleteNothing(t *testing.T) {
	if !full() {
		t.Skip("builds the standard library once more, which takes minutes; make storm runs it")
	}
	const most = 100 * time.Millisecond
	right := lateWith(t, []string{"0", "0", "0", "0", "0"})
	for name, clocks := range map[string][]string{
		"a minute off":            {"-60", "60", "60", "-60", "0"},
		"a month ahead":           {"0", "0", "2678400", "0", "0"},
		"a month behind":          {"0", "0", "-2678400", "-2678400", "-2678400"},
		"set ahead by an hour":    {"3600:10", "0", "3600:10", "3600:15", "0"},
		"set back by an hour":     {"-3600:10", "0", "-3600:10", "-3600:15", "0"},
		"all of them set back":    {"-3600:10", "-3600:10", "-3600:10", "-3600:10", "-3600:10"},
		"servers against workers": {"-10", "-10", "10", "10", "10"},
	} {
		t.Run(name, func(t *testing.T) {
			if wrong := lateWith(t, clocks); wrong > right+most {
				t.Errorf("95 of 100 webhooks came within %.1f ms, and within %.1f ms where all clocks are right; want at most %s more", ms(wrong),
					ms(right), most)
			}
		})
	}
}

// lateWith is within which time 95 of 100 webhooks came where two servers and three
// workers have these clocks. All of them have to come, and nothing may be deleted.
func lateWith(t *testing.T, clocks []string) time.Duration {
	t.Helper()
	p := newPost(t, setting{dialect: Postgres, redis: backend.OwnRedis(t).URL, servers: 2, workers: 3, apps: 3, clocks: clocks})
	well := []*receiver{p.receive(t, p.apps[0], takes), p.receive(t, p.apps[1], takes)}
	p.receive(t, p.apps[2], thinks(200*time.Millisecond))
	begun := time.Now()
	p.write(t.Context(), 4, 20*time.Millisecond, func() bool { return time.Since(begun) > 75*time.Second }).Wait()
	p.drain(t, time.Minute)
	l := p.audit(t)
	late := latenessSince(well, begun)
	t.Logf("clocks %v: %d events, half of the webhooks within %.1f ms, 95 of 100 within %.1f ms, all within %.1f ms: %s (answers: %s)",
		clocks, p.written.Load(), ms(quantileOf(late, 500)), ms(quantileOf(late, 950)), ms(quantileOf(late, 1000)), l, p.answered(t))
	if !l.sound() || l.doubled > 0 {
		t.Error("want every webhook once")
	}
	var kept int64
	if err := p.db.QueryRowContext(t.Context(), "SELECT count(*) FROM feed_events").Scan(&kept); err != nil || kept < p.written.Load() {
		t.Errorf("the feed has %d of %d events (%v)", kept, p.written.Load(), err)
	}
	return quantileOf(late, 950)
}
