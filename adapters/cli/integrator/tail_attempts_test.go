package integrator

import (
	"strings"
	"testing"
	"time"

	"waybill/domain"
)

// An event of an endpoint has a longer type and no delivery; the lines of others
// stand under it all the same.
func TestLinesOfAttemptsHaveOneWidth(t *testing.T) {
	t.Parallel()
	const endpoint = "whe_0198f3b0a1c27d33a4f5e6b7c8d90a1b"
	at := 0
	for _, kind := range domain.EventTypes() {
		r := AttemptRecord{EndpointID: endpoint, EventType: string(kind)}
		if strings.HasPrefix(string(kind), "delivery.") {
			r.DeliveryID = "dlv_0198f3a27c4e7b1d9a6e5c2f10d3b847"
		}
		r.view.StartedAt = time.Date(2026, 11, 21, 10, 0, 0, 123e6, time.UTC)
		column := strings.Index(r.line(), "  "+endpoint+"  ")
		if at == 0 {
			at = column
		}
		if column < 0 || column != at {
			t.Errorf("the endpoint stands at %d, want %d:\n%s", column, at, r.line())
		}
	}
}
