package telemetry_test

import (
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"waybill/adapters/telemetry"
	"waybill/ports"
	"waybill/test/conformance/pricing"
)

func TestPricingConformance(t *testing.T) {
	t.Parallel()
	market := pricing.Accra()
	pricing.Examine(t, market, func(*testing.T) ports.Pricing {
		return telemetry.NewMeteredPricing(&pricing.Plain{Market: market}, prometheus.NewRegistry())
	})
}
