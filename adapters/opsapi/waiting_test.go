package opsapi_test

import (
	"net/http/httptest"
	"strings"
	"testing"

	"waybill/adapters/opsapi"
	"waybill/test/stage"
)

func TestAnOperatorBeforeTheDatabaseIsThereIsToldToComeBack(t *testing.T) {
	t.Parallel()
	api := newAPI(func(o *opsapi.Options) {
		o.Management = &opsapi.Management{UseCases: opsapi.UseCases{Identifiers: stage.New(t).IDs}}
	})
	for path, want := range map[string]int{
		"/ops/v1/businesses": 503, "/ops/v1/deliveries?limit=1": 503, "/debug/pprof/": 503,
		"/ops/v1/nothing": 404, "/ops/v1/openapi.yaml": 200, "/healthz": 200,
	} {
		recorder := httptest.NewRecorder()
		api.Handler().ServeHTTP(recorder, httptest.NewRequestWithContext(t.Context(), "GET", "http://127.0.0.1"+path, nil))
		body, id := recorder.Body.String(), "X-Request-ID" // spelled so, as in all answers
		if recorder.Code != want || recorder.Header()[id] == nil || recorder.Header().Get("Cache-Control") != "private, no-store" {
			t.Errorf("%s: %d, want %d: %v %s", path, recorder.Code, want, recorder.Header(), body)
		}
		if want == 503 && (recorder.Header().Get("Retry-After") != "5" || !strings.Contains(body, `"code":"SERVICE_UNAVAILABLE"`) ||
			!strings.Contains(body, "/readyz")) {
			t.Errorf("%s: %v %s", path, recorder.Header(), body)
		}
	}
}
