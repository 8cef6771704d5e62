package clock_test

import (
	"testing"
	"testing/synctest"
	"time"

	"waybill/adapters/clock"
)

func TestSystemNowIsUTCInWholeMilliseconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		// A bubble begins at midnight sharp. Its time is put where something has to
		// be cut off; no real time passes.
		time.Sleep(1234567 * time.Nanosecond)
		started := time.Now()
		now := clock.NewSystem().Now()

		if now.Location() != time.UTC {
			t.Errorf("location %v, want UTC", now.Location())
		}
		if cut := started.Sub(now); cut != 234567*time.Nanosecond {
			t.Errorf("%v was cut off, want the part below a millisecond, 234.567µs", cut)
		}
	})
}

func TestNowCarriesNoMonotonicReading(t *testing.T) {
	now := clock.NewSystem().Now()
	// == compares the monotonic reading too; two times that are stored and
	// read again must be equal by it.
	if now != now.Round(0) {
		t.Error("Now has a monotonic reading")
	}
}
