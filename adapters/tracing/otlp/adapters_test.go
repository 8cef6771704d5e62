package otlp

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/golang/mock/gomock"
	"github.com/stretchr/testify/require"
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
			require.Equal(t, c.err, err, "it is passed on as it was")
		})
		require.Len(t, spans, 1)
		require.Equal(t, "distance", spans[0].Name())
		require.Equal(t, c.code, value(spans[0], "error.type"))
		require.Equal(t, c.failed, spans[0].Status().Code == codes.Error, "%v", c.err)
		require.Empty(t, spans[0].Status().Description)
		require.Empty(t, spans[0].Events(), "the text of an error")
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
		storage.EXPECT().InTx(gomock.Any(), gomock.Any()).DoAndReturn(func(ctx context.Context, fn func(context.Context, ports.Stores) error) error {
			stores := ports.Stores{Deliveries: deliveries, Webhooks: webhooks}
			require.NoError(t, fn(ctx, stores)) // does not commit
			require.NoError(t, fn(ctx, stores))
			return end
		})
		spans := recorded(t, func(ctx context.Context, tracing *Tracing) {
			err := tracing.Storage(storage).InTx(ctx, func(ctx context.Context, tx ports.Stores) error {
				_, _ = tx.Webhooks.PublishTo(ctx, domain.WebhookEndpoint{}, domain.FeedEvent{ID: "evt_3"})
				return errors.Join(
					tx.Deliveries.Update(ctx, domain.Tenant{}, sample.Delivery(), ports.EventWrite{Event: domain.Event{ID: "evt_1"}}),
					tx.Webhooks.Publish(ctx, domain.WebhookEndpoint{}, domain.FeedEvent{ID: "evt_2"}))
			})
			require.Equal(t, end, err)
		})
		var told []string
		for _, s := range spans {
			told = append(told, s.Name()+value(s, "waybill.event_id"))
		}
		if end != nil {
			require.Equal(t, []string{"transaction"}, told)
			continue
		}
		require.Equal(t, []string{"eventevt_1", "eventevt_2", "transaction"}, told)
		require.Equal(t, "2", value(spans[2], "waybill.tries"))
		require.Len(t, spans[2].Links(), 2)
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
		require.NoError(t, err)
		require.Equal(t, 2, n)
	})
	require.Len(t, spans, 3)
	require.Equal(t, "evt_2", value(spans[1], "waybill.event_id"))
	require.Equal(t, "3", value(spans[2], "waybill.deliveries"))
	require.Equal(t, "2", value(spans[2], "waybill.booked"))
}
