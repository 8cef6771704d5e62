package main

import (
	"testing"

	"waybill/configs"
)

// A flood of bulks in the sandbox would fill the processors that live needs.
func TestBulksOfTheSandboxPauseAndThoseOfLiveDoNot(t *testing.T) {
	t.Parallel()
	for _, url := range []string{"postgres://localhost/waybill", "sqlite://waybill.db"} {
		throttles := newBulkThrottles(&configs.Config{DatabaseURL: configs.URL(url)})
		if throttles.live.Pause != 0 || throttles.sandbox.Pause < 6 || throttles.sandbox.Writers != 1 {
			t.Errorf("%s: %+v, want no rest on live, and one writer of the sandbox that works for a seventh of the time at most", url, throttles)
		}
	}
}
