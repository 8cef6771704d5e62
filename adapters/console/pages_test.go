package console_test

import (
	"log/slog"
	"runtime"
	"testing"

	"waybill/adapters/console"
)

// TestAnotherConsoleOfAProcessParsesNoPagesAgain is not parallel, so that nothing else
// allocates meanwhile.
func TestAnotherConsoleOfAProcessParsesNoPagesAgain(t *testing.T) {
	one := func() {
		console.New(console.UseCases{}, console.Options{BaseURL: "http://localhost", Log: slog.New(slog.DiscardHandler)})
	}
	one()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	one()
	runtime.ReadMemStats(&after)
	if bytes := after.TotalAlloc - before.TotalAlloc; bytes > 2_000_000 {
		t.Errorf("the second console allocated %d bytes", bytes)
	}
}
