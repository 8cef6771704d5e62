package tenancy

import (
	"sync"
	"sync/atomic"
	"testing"
)

func TestAnApplicationHasNoMoreThanItsShareInFlight(t *testing.T) {
	t.Parallel()
	f := newFlights()
	var wg sync.WaitGroup
	var entered atomic.Int32
	for range 2 * maxInFlight {
		wg.Go(func() {
			if f.enter("app_a") {
				entered.Add(1)
			}
		})
	}
	wg.Wait()
	if got := entered.Load(); got != maxInFlight {
		t.Errorf("%d entered, want %d", got, maxInFlight)
	}
	if !f.enter("app_b") {
		t.Error("another application was kept out")
	}
	f.leave("app_a")
	if !f.enter("app_a") || f.enter("app_a") {
		t.Error("one place was free, and one only")
	}
	for range maxInFlight {
		f.leave("app_a")
	}
	f.leave("app_b")
	if len(f.open) != 0 {
		t.Errorf("applications without requests are remembered: %v", f.open)
	}
}
