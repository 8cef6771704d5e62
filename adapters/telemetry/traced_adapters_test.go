package telemetry

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/golang/mock/gomock"
	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"waybill/domain"
	"waybill/ports"
	"waybill/ports/mocks"
	"waybill/test/sample"
)

// recorded is what came of a request in which do was done, without its own span.
func recorded(t *testing.T, do func(ctx context.Context, tracing *Tracing)) []sdktrace.ReadOnlySpan {
	t.Helper()
	recorder := tracetest.NewSpanRecorder()
	tracing := start(recorder, resource.Empty())
	ctx, ended := tracing.Request(httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", nil), "live", "POST", "/v1/x", "req_1")
	do(ctx, tracing)
	ended(http.StatusCreated, "")
	spans := recorder.Ended()
	return spans[:len(spans)-1]
}

func value(s sdktrace.ReadOnlySpan, key attribute.Key) string {
	for _, a := range s.Attributes() {
		if a.Key == key {
			return a.Value.String()
		}
	}
	return ""
}

// An error is told by a word of ours, never by its text; what belongs to the
// business is no failure.
func TestAnErrorIsToldByItsCodeAlone(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err    error
		code   string
		failed bool
	}{
		{nil, "", false},
		{domain.QuoteUnavailable(errors.New("http://secret")), domain.CodeQuoteUnavailable, true},
		{domain.ErrNotFound, domain.CodeNotFound, false},
		{fmt.Errorf("secret: %w", ports.ErrKeyTaken), "key_taken", false},
		{fmt.Errorf("secret: %w", ports.ErrOutcomeUnknown), outcomeUnknown, true},
		{&ports.OutsideServiceAreaError{End: "pickup"}, "OUTSIDE_SERVICE_AREA", false},
		{ports.ErrNoRoute, "no_route", false},
		{context.DeadlineExceeded, timedOut, true},
		{errors.New("Ama Mensah, +233244123456"), otherError, true},
	} {
		routing := mocks.NewMockRouting(gomock.NewController(t))
		routing.EXPECT().Distance(gomock.Any(), gomock.Any()).Return(domain.Distance{}, c.err)
		spans := recorded(t, func(ctx context.Context, tracing *Tracing) {
			_, err := tracing.Routing(routing).Distance(ctx, domain.Trip{VehicleType: domain.Bike})
			if err != c.err {
				t.Fatalf("it is passed on as it was: %v, want %v", err, c.err)
			}
		})
		if len(spans) != 1 {
			t.Fatalf("spans: %v, want 1 of them", spans)
		}
		if got := spans[0].Name(); got != "distance" {
			t.Fatalf("spans[0].Name(): %q, want distance", got)
		}
		if got := value(spans[0], "error.type"); got != c.code {
			t.Fatalf("value(spans[0], error.type): %q, want %q", got, c.code)
		}
		if failed := spans[0].Status().Code == codes.Error; failed != c.failed {
			t.Fatalf("%v: a failed span: %v, want %v", c.err, failed, c.failed)
		}
		if spans[0].Status().Description != "" {
			t.Fatalf("spans[0].Status().Description: %q, want none", spans[0].Status().Description)
		}
		if got := spans[0].Events(); len(got) != 0 {
			t.Fatalf("the text of an error: %v, want none", got)
		}
	}
}

// A transaction that is run again has made the events of its last run only, and
// one that fails has made none.
func TestEventsAreToldOfAfterTheCommit(t *testing.T) {
	t.Parallel()
	c := gomock.NewController(t)
	deliveries := mocks.NewMockDeliveryStore(c)
	deliveries.EXPECT().Update(gomock.Any(), gomock.Any(), gomock.Any(), gomock.Any()).Return(nil).AnyTimes()
	webhooks := mocks.NewMockWebhookStore(c)
	webhooks.EXPECT().Publish(gomock.Any(), gomock.Any(), gomock.Any()).Return(nil).AnyTimes()
	webhooks.EXPECT().PublishTo(gomock.Any(), gomock.Any(), gomock.Any()).Return(domain.WebhookDelivery{}, errors.New("no")).AnyTimes()
	storage := mocks.NewMockStorage(c)
	for _, end := range []error{nil, errors.New("rolled back")} {
		storage.EXPECT().InTx(gomock.Any(), gomock.Any()).DoAndReturn(
			func(ctx context.Context, fn func(context.Context, ports.Stores) error) error {
				stores := ports.Stores{Deliveries: deliveries, Webhooks: webhooks}
				if err := fn(ctx, stores); err != nil { // does not commit
					t.Fatal(err)
				}
				if err := fn(ctx, stores); err != nil {
					t.Fatal(err)
				}
				return end
			})
		spans := recorded(t, func(ctx context.Context, tracing *Tracing) {
			err := tracing.Storage(storage).InTx(ctx, func(ctx context.Context, tx ports.Stores) error {
				_, _ = tx.Webhooks.PublishTo(ctx, domain.WebhookEndpoint{}, domain.FeedEvent{ID: "evt_3"})
				return errors.Join(
					tx.Deliveries.Update(ctx, domain.Tenant{}, sample.Delivery(), ports.EventWrite{Event: domain.Event{ID: "evt_1"}}),
					tx.Webhooks.Publish(ctx, domain.WebhookEndpoint{}, domain.FeedEvent{ID: "evt_2"}))
			})
			if err != end {
				t.Fatalf("err: %v, want %v", err, end)
			}
		})
		var told []string
		for _, s := range spans {
			told = append(told, s.Name()+value(s, "waybill.event_id"))
		}
		if end != nil {
			if diff := cmp.Diff([]string{"transaction"}, told); diff != "" {
				t.Fatalf("told (-want +got):\n%s", diff)
			}
			continue
		}
		if diff := cmp.Diff([]string{"eventevt_1", "eventevt_2", "transaction"}, told); diff != "" {
			t.Fatalf("told (-want +got):\n%s", diff)
		}
		if got := value(spans[2], "waybill.tries"); got != "2" {
			t.Fatalf("value(spans[2], waybill.tries): %q, want 2", got)
		}
		if got := spans[2].Links(); len(got) != 2 {
			t.Fatalf("spans[2].Links(): %v, want 2 of them", got)
		}
	}
}

// Of a run of bookings the first n were made.
func TestOfARunOfBookingsThoseAreToldThatWereMade(t *testing.T) {
	t.Parallel()
	bookings := mocks.NewMockBookings(gomock.NewController(t))
	bookings.EXPECT().BookRun(gomock.Any(), gomock.Any()).Return(2, nil)
	var writes []ports.BookingWrite
	for _, id := range []domain.ID{"evt_1", "evt_2", "evt_3"} {
		writes = append(writes, ports.BookingWrite{Delivery: sample.Delivery(), Event: ports.EventWrite{Event: domain.Event{ID: id}}})
	}
	spans := recorded(t, func(ctx context.Context, tracing *Tracing) {
		n, err := tracing.Bookings(bookings).BookRun(ctx, writes)
		if err != nil {
			t.Fatal(err)
		}
		if n != 2 {
			t.Fatalf("n: %d, want 2", n)
		}
	})
	if len(spans) != 3 {
		t.Fatalf("spans: %v, want 3 of them", spans)
	}
	if got := value(spans[1], "waybill.event_id"); got != "evt_2" {
		t.Fatalf("value(spans[1], waybill.event_id): %q, want evt_2", got)
	}
	if got := value(spans[2], "waybill.deliveries"); got != "3" {
		t.Fatalf("value(spans[2], waybill.deliveries): %q, want 3", got)
	}
	if got := value(spans[2], "waybill.booked"); got != "2" {
		t.Fatalf("value(spans[2], waybill.booked): %q, want 2", got)
	}
}
