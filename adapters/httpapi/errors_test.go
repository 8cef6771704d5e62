package httpapi

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/prometheus/client_golang/prometheus"

	"waybill/adapters/web"
	"waybill/domain"
	"waybill/ports"
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
			body := string(web.Failure(400, c.e, a.docURL(c.e.Code)))
			if c.want == "" && strings.Contains(body, "details") || !strings.Contains(body, c.want) {
				t.Errorf("%s on %s: %s, want %s", c.e.Code, a.Environment, body, c.want)
			}
		}
	}
	if len(shared) != 1 {
		t.Errorf("the details of the error itself were changed: %v", shared)
	}
}

func TestOnlyThisEdgeKnowsTheKeyByItsHeader(t *testing.T) {
	t.Parallel()
	first := time.Date(2026, 3, 14, 9, 26, 53, 0, time.UTC)
	for e, want := range map[*domain.Error]string{
		domain.IdempotencyConflict(first):              "This Idempotency-Key was used at 2026-03-14T09:26:53.000Z for a different request.",
		domain.IdempotencyInProgress(time.Second):      "The first request with this Idempotency-Key has not finished.",
		domain.QuoteUnavailable(errors.New("no line")): "this item was not booked. Send it again under a new Idempotency-Key.",
	} {
		before := *e
		changed := addRetryAdvice(withRemedies(e), bulkItem)
		if !strings.Contains(changed.Message, want) || changed.RetryAfter != e.RetryAfter || changed.Code != e.Code {
			t.Errorf("%s: %+v, want %q", e.Code, changed, want)
		}
		if strings.Contains(e.Message, "Idempotency-Key") || e.Message != before.Message || strings.Contains(e.Message, "again") {
			t.Errorf("%s itself names a header or a remedy, or was changed: %q", e.Code, e.Message)
		}
	}
}

func TestARequestWithoutAnIdempotencyKeyIsNotToldToSendItAgain(t *testing.T) {
	t.Parallel()
	for e, when := range map[*domain.Error]string{
		domain.QuoteUnavailable(nil): "Try again in a moment.", domain.ServiceUnavailable(nil): "Try again in a few seconds.",
	} {
		before := e.Message
		plain, keyed := addRetryAdvice(e, plainCall), addRetryAdvice(e, keyedCall)
		if strings.Contains(plain.Message, "Idempotency-Key") || !strings.Contains(plain.Message, when) ||
			!strings.Contains(keyed.Message, sameKeyAdvice) {
			t.Errorf("%s: %q, and with a key %q", e.Code, plain.Message, keyed.Message)
		}
		if strings.Contains(before, "Idempotency-Key") || e.Message != before || plain.RetryAfter != e.RetryAfter {
			t.Errorf("%s itself names a header or was changed: %+v", e.Code, e)
		}
	}
	if got := internal("req_1", false).Message; strings.Contains(got, "Idempotency-Key") ||
		!strings.Contains(got, "Try again in a moment; if") || !strings.Contains(got, "req_1") {
		t.Errorf("internal: %q", got)
	}
	if got := internal("req_1", true).Message; !strings.Contains(got, sameKeyAdvice) {
		t.Errorf("internal, with a key: %q", got)
	}
	locked := &domain.Error{Code: domain.CodeServiceUnavailable, Message: "Another change has not ended yet."}
	for _, e := range []*domain.Error{domain.ErrNotFound, locked} {
		if got := addRetryAdvice(e, plainCall); got.Message != e.Message {
			t.Errorf("%s became %s", e.Message, got.Message)
		}
	}
}

func TestAPhoneNumberIsToldWithoutRepeatingIt(t *testing.T) {
	t.Parallel()
	for changed, want := range map[string]string{
		aboutPhone("٠٢٤١٢٣٤٥٦٧"): "has 0 digits; other digits than 0 to 9 are not read",
		aboutPhone("02441x"):     "has 5 digits, with letters among them",
	} {
		if !strings.Contains(changed, want) {
			t.Errorf("%q, want %q", changed, want)
		}
	}
}

func TestWhatIsNoDefectIsA503ThatSaysWhenToComeBack(t *testing.T) {
	t.Parallel()
	cause := errors.New("the cause of it")
	late, cancel := context.WithTimeout(t.Context(), 0)
	defer cancel()
	for _, want := range []struct {
		err        error
		status     int
		code       string
		retryAfter string
	}{
		{domain.Busy(cause), 503, "SERVICE_UNAVAILABLE", "3"},
		{domain.QuoteUnavailable(cause), 503, "QUOTE_UNAVAILABLE", "5"},
		{fmt.Errorf("read: %w: %w", ports.ErrStorageGone, cause), 503, "SERVICE_UNAVAILABLE", "5"},
		{fmt.Errorf("read: %w: %w", ports.ErrTookTooLong, cause), 503, "SERVICE_UNAVAILABLE", "5"},
		{fmt.Errorf("commit: %w: %w", ports.ErrOutcomeUnknown, cause), 503, "SERVICE_UNAVAILABLE", "5"},
		{fmt.Errorf("read: %w", late.Err()), 503, "SERVICE_UNAVAILABLE", "5"},
		{domain.Internal(fmt.Errorf("look up the key: %w: %w", ports.ErrStorageGone, cause)), 503, "SERVICE_UNAVAILABLE", "5"},
		{domain.Internal(cause), 500, "INTERNAL_SERVER_ERROR", ""},
		{cause, 500, "INTERNAL_SERVER_ERROR", ""},
	} {
		var log bytes.Buffer
		a := &API{Options: Options{Log: slog.New(slog.NewTextHandler(&log, nil)), Metrics: NewMetrics(prometheus.NewRegistry())}}
		recorder := httptest.NewRecorder()
		g, _ := gin.CreateTestContext(recorder)
		g.Request = httptest.NewRequestWithContext(t.Context(), "PATCH", "/v1/pickup-locations/x", nil)
		a.fail(&call{Context: g}, want.err)
		if got := recorder.Header().Get("Retry-After"); recorder.Code != want.status || got != want.retryAfter {
			t.Errorf("%v: %d, Retry-After %q, want %d, %q: %s", want.err, recorder.Code, got, want.status, want.retryAfter, recorder.Body)
		}
		if body := recorder.Body.String(); !strings.Contains(body, `"code":"`+want.code+`"`) || strings.Contains(body, "the cause") {
			t.Errorf("%v: %s, want %s and nothing of the cause", want.err, body, want.code)
		}
		if defect := strings.Contains(log.String(), "level=ERROR"); defect != (want.status == 500) || log.Len() == 0 {
			t.Errorf("%v is logged as %s", want.err, log.String())
		}
	}
}
