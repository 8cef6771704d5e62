package clients

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"waybill/adapters/clients/go/waybillapi"
	"waybill/test/program"
)

func asError(err error) *waybillapi.Error {
	failure, _ := errors.AsType[*waybillapi.Error](err)
	return failure
}

func TestTheIteratorWalksEveryPageOnce(t *testing.T) {
	t.Parallel()
	s := program.Shared(t)
	c, ctx := client(t, s, nil), t.Context()
	first := must(c.CreateDelivery(ctx, key(), anOrder()))(t)
	booked := map[string]int{first.ID: 0}
	for range 4 {
		booked[must(c.CreateDelivery(ctx, key(), anOrder()))(t).ID] = 0
	}
	var answer waybillapi.Answer
	pages := map[string]bool{}
	rows := 0
	params := waybillapi.ListDeliveriesParams{CreatedAfter: first.CreatedAt, Limit: 2, Order: waybillapi.SortOrderAsc}
	for d, err := range c.AllDeliveries(ctx, params, waybillapi.WithAnswer(&answer)) {
		if err != nil {
			t.Fatal(err)
		}
		rows++
		pages[answer.RequestID] = true
		if _, ours := booked[d.ID]; ours {
			booked[d.ID]++
		}
	}
	for id, times := range booked {
		if times != 1 {
			t.Errorf("%s came %d times, want once", id, times)
		}
	}
	if want := (rows + 1) / 2; len(pages) != want || len(pages) < 3 {
		t.Errorf("%d rows came on %d pages of 2, want %d and at least 3", rows, len(pages), want)
	}
	taken := 0
	for range c.AllDeliveries(ctx, params) {
		if taken++; taken == 3 {
			break
		}
	}
	if taken != 3 {
		t.Errorf("%d rows were taken before the loop was left, want 3", taken)
	}
	for _, err := range c.AllDeliveries(ctx, waybillapi.ListDeliveriesParams{Cursor: "nonsense"}) {
		if failure := asError(err); failure == nil || failure.Code != waybillapi.CodeValidationError {
			t.Errorf("a cursor that is none: %v", err)
		}
	}
}

// The errors that the sandbox makes on demand come typed, with what they carry.
func TestErrorsComeWithWhatTheyCarry(t *testing.T) {
	t.Parallel()
	s := program.Shared(t)
	c, err := waybillapi.New(waybillapi.WithBaseURL(s.Vars["WAYBILL_SANDBOX_URL"]), waybillapi.WithAPIKey(s.Vars["WAYBILL_TEST_KEY"]),
		waybillapi.WithRetries(waybillapi.NoRetries()))
	if err != nil {
		t.Fatal(err)
	}
	for code, status := range map[waybillapi.ErrorCode]int{
		waybillapi.CodeQuoteUnavailable: 503, waybillapi.CodeRateLimitExceeded: 429,
		waybillapi.CodeIdempotencyInProgress: 409, waybillapi.CodeInternalServerError: 500,
	} {
		_, err := c.CreateDelivery(t.Context(), key(), anOrder(), waybillapi.WithSandboxError(code), waybillapi.WithRequestID("req-of-mine"))
		failure := asError(err)
		if failure == nil || failure.Code != code || failure.StatusCode != status || failure.RequestID != "req-of-mine" || failure.Message == "" {
			t.Errorf("%s came as %v", code, err)
			continue
		}
		if wantsWait := status != 500; (failure.RetryAfter > 0) != wantsWait {
			t.Errorf("%s: wait %v", code, failure.RetryAfter)
		}
	}
	_, err = c.CreateDelivery(t.Context(), key(), waybillapi.DeliveryRequest{Payment: waybillapi.Payment{Type: "barter"}, VehicleType: "boat"})
	var details waybillapi.ErrorDetails
	if failure := asError(err); failure == nil || failure.StatusCode != 422 || failure.DecodeDetails(&details) != nil ||
		len(details.Fields) == 0 {
		t.Errorf("a request that cannot be: %v, details %+v", err, details)
	}
}

// Within a version fields, values, event types and error codes are added.
func TestTheClientInGoUnderstandsALaterService(t *testing.T) {
	answers := map[string]string{
		"/v1/deliveries/dlv_1": `{"success":true,"data":{"id":"dlv_1","status":"parked","simulation":{"scenario":"storm","wind":9}},"hint":1}`,
		"/v1/events":           `{"success":true,"data":[{"type":"delivery.parked","data":{"delivery":{"id":"dlv_1"},"spot":2}}],"meta":{"total":1}}`,
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if text, ok := answers[r.URL.Path]; ok {
			_, _ = io.WriteString(w, text)
			return
		}
		w.WriteHeader(http.StatusConflict)
		_, _ = io.WriteString(w, `{"success":false,"message":"No.","error":{"code":"PARKED","since":1,"details":{"spot":2,"status":"parked"}}}`)
	}))
	defer s.Close()
	c := must(waybillapi.New(waybillapi.WithBaseURL(s.URL+"/v1"), waybillapi.WithAPIKey("svc_test_key_1")))(t)
	if d := must(c.GetDelivery(t.Context(), "dlv_1"))(t); d.Status != "parked" || d.Simulation.Scenario != "storm" {
		t.Errorf("the delivery is %+v", d)
	}
	if page := must(c.ListEvents(t.Context(), waybillapi.ListEventsParams{}))(t); page.Items[0].Type != "delivery.parked" {
		t.Errorf("the page is %+v", page)
	}
	var details waybillapi.ErrorDetails
	_, err := c.CancelDelivery(t.Context(), "dlv_1")
	if failure := asError(err); failure == nil || failure.Code != "PARKED" || failure.DecodeDetails(&details) != nil || details.Status != "parked" {
		t.Errorf("the error is %v with %+v", err, details)
	}
}

// foreign lists answers that a proxy or a sign-in page gives in place of the API.
var foreign = []struct {
	status                  int
	kind, location, content string
}{
	{200, "text/html", "", "<html>Sign in</html>"},
	{200, "", "", ""},
	{204, "", "", ""},
	{200, "application/json", "", "{}"},
	{200, "application/json", "", "null"},
	{200, "application/json", "", `{"success":true`},
	{200, "application/json", "", `{"success":false,"error":{"code":"X"}}`},
	// A POST or PATCH that follows these becomes a GET, and nothing is changed.
	{301, "", "/right/v1/x", ""},
	{302, "", "/right/v1/x", ""},
	{303, "", "/right/v1/x", ""},
}

// foreignServer gives the answers of foreign below /0, /1 and so on, and a success below /right.
func foreignServer(t *testing.T) (bases []string) {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("/right/", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"success":true,"message":"Read.","data":{"id":"pkp_1"},"meta":{}}`)
	})
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	for i, f := range foreign {
		path := "/" + strconv.Itoa(i)
		mux.HandleFunc(path+"/", func(w http.ResponseWriter, _ *http.Request) {
			w.Header()["Content-Type"] = []string{f.kind}
			if f.location != "" {
				w.Header().Set("Location", f.location)
			}
			w.WriteHeader(f.status)
			_, _ = io.WriteString(w, f.content)
		})
		bases = append(bases, s.URL+path+"/v1")
	}
	return bases
}

func TestTheClientInGoTakesNoOtherAnswerForASuccess(t *testing.T) {
	t.Parallel()
	for i, base := range foreignServer(t) {
		for _, own := range []*http.Client{nil, {}} {
			c := must(waybillapi.New(waybillapi.WithBaseURL(base), waybillapi.WithAPIKey("svc_test_key_1"), waybillapi.WithHTTPClient(own)))(t)
			_, listed := c.ListDeliveries(t.Context(), waybillapi.ListDeliveriesParams{})
			_, cancelled := c.CancelDelivery(t.Context(), "dlv_1")
			_, changed := c.UpdatePickupLocation(t.Context(), "pkp_1", waybillapi.PickupLocationChange{Active: new(false)})
			for _, err := range []error{listed, cancelled, changed} {
				if failure := asError(err); failure == nil || failure.StatusCode != foreign[i].status || failure.Code != "" ||
					!strings.Contains(failure.Message, foreign[i].location) {
					t.Errorf("%+v came as %v", foreign[i], err)
				}
			}
		}
	}
}

func TestTheClientInTypeScriptTakesNoOtherAnswerForASuccess(t *testing.T) {
	t.Parallel()
	program := filepath.Join(compiled(t), "test", "clients", "typescript", "foreign.mjs")
	input, err := json.Marshal(foreignServer(t))
	if err != nil {
		t.Fatal(err)
	}
	told := strings.Split(strings.TrimSuffix(output(t, string(input), nil, "node", program), "\n"), "\n")
	if len(told) != len(foreign) {
		t.Fatalf("%d lines for %d answers", len(told), len(foreign))
	}
	for i, f := range foreign {
		if want := fmt.Sprint(f.status, f.status, f.status); told[i] != want {
			t.Errorf("%+v: %s, want %s", f, told[i], want)
		}
	}
}
