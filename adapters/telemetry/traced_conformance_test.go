package telemetry

import (
	"testing"

	"go.opentelemetry.io/otel/sdk/resource"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"waybill/ports"
	"waybill/test/conformance/pricing"
)

func TestTracedPricingConformance(t *testing.T) {
	t.Parallel()
	market := pricing.Accra()
	pricing.Examine(t, market, func(t *testing.T) ports.Pricing {
		return start(tracetest.NewSpanRecorder(), resource.Empty()).Pricing(&pricing.Plain{Market: market})
	})
}
