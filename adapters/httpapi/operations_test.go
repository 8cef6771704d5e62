package httpapi_test

import (
	"encoding/json"
	"slices"
	"testing"

	"waybill/adapters/httpapi"
)

func TestEachRouteHasAnOperationWithASummaryAndABodyThatIsJSON(t *testing.T) {
	described := map[string]httpapi.Operation{}
	for _, o := range httpapi.Operations() {
		described[o.Route] = o
		if o.Summary == "" {
			t.Errorf("%s has no summary", o.Route)
		}
		if o.Sample != "" && !json.Valid([]byte(o.Sample)) {
			t.Errorf("%s: the sample is no JSON: %s", o.Route, o.Sample)
		}
	}
	for _, r := range httpapi.Routes() {
		o, known := described[r.Method+" /v1"+r.Path]
		if !known {
			t.Errorf("%s %s has no operation", r.Method, r.Path)
		}
		if creates := []string{"/deliveries", "/deliveries/bulk", "/quotes", "/recipients"}; r.Method == "POST" &&
			slices.Contains(creates, r.Path) && o.Sample == "" {
			t.Errorf("%s has no sample of its body", o.Route)
		}
	}
}
