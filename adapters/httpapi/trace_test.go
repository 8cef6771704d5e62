package httpapi

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/gin-gonic/gin"
	"github.com/google/go-cmp/cmp"

	"waybill/adapters/web"
	"waybill/domain"
)

func TestTracingIsToldThePatternOfARequestAndItsEnd(t *testing.T) {
	t.Parallel()
	type key struct{}
	var outcome []any
	a := &API{Options: Options{Environment: domain.Sandbox, Trace: func(r *http.Request, environment, method, route,
		requestID string) (context.Context, func(int, string)) {
		outcome = append(outcome, environment, method, route, requestID)
		return context.WithValue(r.Context(), key{}, "followed"), func(status int, applicationID string) {
			outcome = append(outcome, status, applicationID)
		}
	}}}
	g, _ := gin.CreateTestContext(httptest.NewRecorder())
	g.Request = httptest.NewRequestWithContext(t.Context(), "BREW", "/v1/deliveries/dlv_1", nil)
	c := &call{Context: g, requestID: web.RequestID{Drawn: "req_1"}}
	ended := a.trace(c)
	if got := c.Request.Context().Value(key{}); got != "followed" {
		t.Fatalf("the context of the request has %v, want followed", got)
	}
	c.tenant.ApplicationID = "app_1"
	c.Writer.WriteHeader(http.StatusTeapot)
	ended()
	if diff := cmp.Diff([]any{"sandbox", "other", "none", "req_1", http.StatusTeapot, "app_1"}, outcome); diff != "" {
		t.Fatalf("told (-want +got):\n%s", diff)
	}
}

func TestARequestWithoutTracingCostsNothing(t *testing.T) {
	a := &API{}
	c := &call{Context: &gin.Context{Request: httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)}}
	if got := testing.AllocsPerRun(1000, func() { a.trace(c)() }); got != 0 {
		t.Fatalf("%v allocations, want none", got)
	}
}
