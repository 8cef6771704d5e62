package httpapi

import (
	"slices"
	"testing"

	"waybill/domain"
)

// The lists of one record are bounded: its timeline, its addresses. Those of an application or
// an endpoint are not.
func TestWhateverPagesThroughAnyNumberOfRecordsIsAList(t *testing.T) {
	t.Parallel()
	lists := 0
	for _, r := range routes {
		unbounded := slices.Contains(r.query, "cursor") && (r.id == "" || r.id == domain.PrefixWebhookEndpoint)
		if r.list != unbounded {
			t.Errorf("%s %s: list is %v", r.method, r.path, r.list)
		}
		if r.list {
			lists++
		}
	}
	if lists != 6 {
		t.Errorf("%d lists", lists)
	}
}
