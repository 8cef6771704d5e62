package telemetry

import (
	"context"
	"log/slog"
	"net/http/httptest"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/sdk/resource"

	"waybill/domain"
	"waybill/ports"
	"waybill/test/sample"
)

// booked books at once.
type booked struct{ ports.Bookings }

func (booked) Book(context.Context, ports.BookingWrite) error { return nil }

// BenchmarkAFollowedCreate is what traces add to a create: three spans, two
// links, and the queue.
func BenchmarkAFollowedCreate(b *testing.B) {
	tracing := start(newQueue(&exporter{}, standardQueue, prometheus.NewRegistry(), slog.New(slog.DiscardHandler)), resource.Empty())
	bookings := tracing.Bookings(booked{})
	request := httptest.NewRequestWithContext(b.Context(), "POST", "/v1/deliveries", nil)
	w := ports.BookingWrite{Delivery: sample.Delivery(), Event: ports.EventWrite{Event: domain.Event{ID: "evt_1"}}}
	b.ReportAllocs()
	for b.Loop() {
		ctx, ended := tracing.Request(request, "live", "POST", "/v1/deliveries", "req_1")
		_ = bookings.Book(ctx, w)
		ended(201, "app_1")
	}
	_ = tracing.Close(context.Background())
}
