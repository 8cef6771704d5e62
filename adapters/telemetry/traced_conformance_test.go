package telemetry

import (
	"testing"

	"go.opentelemetry.io/otel/sdk/resource"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"waybill/ports"
	"waybill/test/conformance"
)

func TestTracedPricingConformance(t *testing.T) {
	t.Parallel()
	market := conformance.Accra()
	conformance.ExaminePricing(t, market, func(t *testing.T) ports.Pricing {
		return start(tracetest.NewSpanRecorder(), resource.Empty()).Pricing(&conformance.Plain{Market: market})
	})
}
