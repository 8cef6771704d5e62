package main

import (
	"log/slog"
	"strings"
	"testing"

	"github.com/golang/mock/gomock"
	"github.com/prometheus/client_golang/prometheus"

	"waybill/ports"
	"waybill/ports/mocks"
	"waybill/test/stage"
)

// Without a collector nothing stands between the adapters: what goes in comes
// out, the very same.
func TestWithoutACollectorNothingIsWrapped(t *testing.T) {
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "")
	t.Setenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "")
	registry := prometheus.NewRegistry()
	f, end, err := newTracing(t.Context(), registry, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer end()
	if f != nil {
		t.Fatalf("f: %v, want nil", f)
	}
	c := gomock.NewController(t)
	var (
		pricing ports.Pricing       = mocks.NewMockPricing(c)
		routing ports.Routing       = mocks.NewMockRouting(c)
		sender  ports.WebhookSender = mocks.NewMockWebhookSender(c)
		db      ports.Database      = mocks.NewMockDatabase(c)
	)
	if f.tracing().Pricing(pricing) != pricing {
		t.Fatal("f.tracing().Pricing(pricing) is not the same as pricing")
	}
	if f.tracing().Routing(routing) != routing {
		t.Fatal("f.tracing().Routing(routing) is not the same as routing")
	}
	if f.tracing().WebhookSender(sender) != sender {
		t.Fatal("f.tracing().WebhookSender(sender) is not the same as sender")
	}
	if f.tracing().Database(db) != db {
		t.Fatal("f.tracing().Database(db) is not the same as db")
	}
	if f.requests() != nil {
		t.Fatalf("f.requests(): %v, want nil", f.requests())
	}
	if f.headers() != nil {
		t.Fatal("headers are read without a tracer")
	}
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	if len(families) != 0 {
		t.Fatalf("families: %v, want none", families)
	}
}

func TestAVariableForTracesThatCannotBeUsedIsAWarning(t *testing.T) {
	for _, wrong := range []string{"OTEL_EXPORTER_OTLP_PROTOCOL=grpc", "OTEL_EXPORTER_OTLP_HEADERS=authorization", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=collector:4317"} {
		t.Run(wrong, func(t *testing.T) {
			name, value, _ := strings.Cut(wrong, "=")
			t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1")
			t.Setenv(name, value)
			var logged stage.Log
			_, end, err := newTracing(t.Context(), prometheus.NewRegistry(), slog.New(slog.NewTextHandler(&logged, nil)))
			if err != nil {
				t.Fatalf("the process would not start: %v", err)
			}
			end()
			if strings.Count(logged.String(), "level=WARN") != 1 || !strings.Contains(logged.String(), name) {
				t.Errorf("logged %s, want one warning of %s", logged.String(), name)
			}
		})
	}
}
