package pickupcsv_test

import (
	"errors"
	"runtime"
	"strings"
	"testing"

	"waybill/adapters/web/pickupcsv"
)

// Not parallel: it measures the allocations of the whole process.
func TestATableOfSeparatorsIsRefusedUnread(t *testing.T) {
	for name, content := range map[string]string{
		"as the first line":    strings.Repeat(",", 5<<20-1) + "\n",
		"as a row":             "name,address\n" + strings.Repeat(",", 5<<20-20) + "\n",
		"behind a quoted line": "name,address\n\"Osu\n,,\"," + strings.Repeat(",", 5<<20-40),
		"of semicolons":        strings.Repeat(";", 5<<20),
		"of tabs":              strings.Repeat("\t", 5<<20),
	} {
		var before, after runtime.MemStats
		raw := []byte(content)
		runtime.ReadMemStats(&before)
		_, err := pickupcsv.Read(raw, numbers{})
		runtime.ReadMemStats(&after)
		var wrong pickupcsv.Errors
		if !errors.As(err, &wrong) || len(wrong) != 1 || wrong[0].Code != "too_long" {
			t.Errorf("%s: %.200s", name, err)
		}
		if took := after.TotalAlloc - before.TotalAlloc; took > 1<<20 {
			t.Errorf("%s: %d MiB were allocated", name, took>>20)
		}
	}
}

func TestSeparatorsInQuotesAreNoCells(t *testing.T) {
	t.Parallel()
	commas := strings.Repeat(",", 400)
	if got := read("name,address\nOsu,\"1 \"\"" + commas + "\"\n"); !strings.HasPrefix(got, `2 "Osu" "1 \"`) {
		t.Error(got)
	}
}

func TestALongListOfProblemsIsCutAndSaysSo(t *testing.T) {
	t.Parallel()
	_, err := pickupcsv.Read([]byte("name,address\n"+strings.Repeat(",x\n", 10_000)), numbers{})
	var wrong pickupcsv.Errors
	if !errors.As(err, &wrong) || len(wrong) != 20_000 {
		t.Fatalf("%d problems, %.200s", len(wrong), err)
	}
	shown := wrong.Shown()
	if last := shown[len(shown)-1]; len(shown) != 101 || last.Line != 52 || last.Field != "" || last.Message != "and 19900 more from here on" {
		t.Errorf("%d shown, the last one %+v", len(shown), last)
	}
	if few := wrong[:100].Shown(); len(few) != 100 {
		t.Errorf("%d of 100 shown", len(few))
	}
}
