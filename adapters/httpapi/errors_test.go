package httpapi

import (
	"log/slog"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/gin-gonic/gin"
	"github.com/prometheus/client_golang/prometheus"

	"waybill/domain"
)

func TestDetailsLeadToThePageOfTheirCode(t *testing.T) {
	t.Parallel()
	const live, sandbox = "https://api.example.com/v1", "https://sandbox.example.com/v1"
	const page = `"doc_url":"https://sandbox.example.com/docs/errors/`
	shared := map[string]any{"limit": 16}
	for _, a := range []*API{
		{Options: Options{Environment: domain.Live, BaseURL: live, OtherBaseURL: sandbox}},
		{Options: Options{Environment: domain.Sandbox, BaseURL: sandbox, OtherBaseURL: live}},
	} {
		for _, c := range []struct {
			e    *domain.Error
			want string // in details; empty: there are none
		}{
			{&domain.Error{Code: domain.CodeWebhookEndpointLimit, Details: shared}, `"details":{` + page + `WEBHOOK_ENDPOINT_LIMIT","limit":16}`},
			{domain.Invalid(domain.FieldError{Field: "a", Code: "required", Message: "send it"}), page + `VALIDATION_ERROR","fields":[{`},
			{domain.ErrNotFound, ""},
			{domain.Internal(nil), ""},
			{domain.QuoteUnavailable(nil), ""},
		} {
			body := string(a.errorJSON(400, c.e))
			if c.want == "" && strings.Contains(body, "details") || !strings.Contains(body, c.want) {
				t.Errorf("%s on %s: %s, want %s", c.e.Code, a.Environment, body, c.want)
			}
		}
	}
	if len(shared) != 1 {
		t.Errorf("the details of the error itself were changed: %v", shared)
	}
}

func TestWhoSendsNoIdempotencyKeyIsNotToldToSendItAgain(t *testing.T) {
	t.Parallel()
	for _, e := range []*domain.Error{internal("req_1"), domain.QuoteUnavailable(nil)} {
		before := e.Message
		got := inMoment(e)
		if strings.Contains(got.Message, "Idempotency-Key") || !strings.Contains(got.Message, "Try again in a moment") || strings.Contains(before, "req_1") != strings.Contains(got.Message, "req_1") {
			t.Errorf("%s: %s", e.Code, got.Message)
		}
		if e.Message != before || got.RetryAfter != e.RetryAfter {
			t.Errorf("%s itself was changed: %+v", e.Code, e)
		}
	}
	if got := inMoment(domain.ErrNotFound); got.Message != domain.ErrNotFound.Message {
		t.Errorf("%s", got.Message)
	}
}

// Callers know of no other 503 than that of prices: see openapi.yaml.
func TestARecordThatOthersHoldIsA500ThatSaysWhenToComeBack(t *testing.T) {
	t.Parallel()
	a := &API{Options: Options{Log: slog.New(slog.DiscardHandler), Metrics: NewMetrics(prometheus.NewRegistry())}}
	for _, want := range []struct {
		err        error
		status     int
		retryAfter string
	}{
		{domain.Busy(nil), 500, "3"}, {domain.QuoteUnavailable(nil), 503, "5"}, {domain.Internal(nil), 500, ""},
	} {
		recorder := httptest.NewRecorder()
		g, _ := gin.CreateTestContext(recorder)
		g.Request = httptest.NewRequestWithContext(t.Context(), "PATCH", "/v1/pickup-locations/x", nil)
		a.fail(&call{Context: g}, want.err)
		if got := recorder.Header().Get("Retry-After"); recorder.Code != want.status || got != want.retryAfter {
			t.Errorf("%v: %d, Retry-After %q, want %d, %q: %s", want.err, recorder.Code, got, want.status, want.retryAfter, recorder.Body)
		}
	}
}
