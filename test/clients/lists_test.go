package clients

import (
	"errors"
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
