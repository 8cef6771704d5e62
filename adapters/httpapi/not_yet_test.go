package httpapi

import (
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"waybill/domain"
	"waybill/ports"
)

type sameID struct{ ports.Identifiers }

func (sameID) ID(p domain.Prefix) domain.ID { return domain.ID(p) + "1" }

func TestACallerBeforeTheDatabaseIsThereIsToldToComeBack(t *testing.T) {
	t.Parallel()
	const page, addRetryAdvice = "This page cannot be shown", sameKeyAdvice + " in a few seconds."
	for _, c := range []struct {
		method, path, header, value, want, not string
	}{
		{"GET", "/v1/deliveries", "", "", `"code":"SERVICE_UNAVAILABLE"`, "Idempotency-Key"},
		{"POST", "/v1/deliveries", "Idempotency-Key", "order-1001", addRetryAdvice, "page"},
		{"POST", "/v1/quotes", "", "", "Try again in a few seconds.", "Idempotency-Key"},
		{"GET", "/docs", "", "", page, "{"},
		{"GET", "/docs/limits", "", "", page, "{"},
		{"GET", "/track/abc", "", "", page, "{"},
		{"POST", "/track/abc", "", "", `"success":false`, page},
		{"GET", "/tracker", "", "", `"success":false`, page},
		{"GET", "/parcels/abc", "Accept", "text/html,*/*", page, "{"}, // where tracking has another path
	} {
		r := httptest.NewRequestWithContext(t.Context(), c.method, c.path, nil)
		if c.header != "" {
			r.Header.Set(c.header, c.value)
		}
		w := httptest.NewRecorder()
		NotYet(sameID{}, domain.RateLimit{Limit: 60, Window: time.Minute}, "/docs", "/track").ServeHTTP(w, r)
		if body := w.Body.String(); w.Code != 503 || !strings.Contains(body, c.want) || strings.Contains(body, c.not) {
			t.Errorf("%s %s: %d %s, want %s and not %s", c.method, c.path, w.Code, body, c.want, c.not)
		}
		h, id := w.Header(), "X-Request-ID" // spelled so, as in all answers
		if h.Get("Retry-After") != "5" || h.Get("X-Content-Type-Options") != "nosniff" || h.Get("Cache-Control") != "private, no-store" ||
			h[id][0] != "req_1" {
			t.Errorf("%s %s: %v", c.method, c.path, h)
		}
		var limits []string
		for _, name := range []string{"RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset"} {
			limits = append(limits, h[name]...)
		}
		if isJSON := h.Get("Content-Type") != "text/plain; charset=utf-8"; isJSON != slices.Equal(limits, []string{"60", "60", "60"}) {
			t.Errorf("%s %s: the limits are %v", c.method, c.path, limits)
		}
	}
}
