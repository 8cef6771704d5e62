package main

import (
	"testing"

	"waybill/configs"
)

// A flood of bulks in the sandbox would fill the processors that live needs.
func TestBulksOfTheSandboxRestAndThoseOfLiveDoNot(t *testing.T) {
	t.Parallel()
	for _, url := range []string{"postgres://localhost/waybill", "sqlite://waybill.db"} {
		paces := newBulkPaces(&configs.Config{DatabaseURL: configs.URL(url)})
		if paces.live.Rest != 0 || paces.sandbox.Rest < 6 || paces.sandbox.Writers != 1 {
			t.Errorf("%s: %+v, want no rest on live, and one writer of the sandbox that works for a seventh of the time at most", url, paces)
		}
	}
}
