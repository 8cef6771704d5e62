package telemetry_test

import (
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"waybill/adapters/telemetry"
	"waybill/ports"
	"waybill/test/conformance"
)

func TestPricingConformance(t *testing.T) {
	t.Parallel()
	market := conformance.Accra()
	conformance.ExaminePricing(t, market, func(*testing.T) ports.Pricing {
		return telemetry.NewMeteredPricing(&conformance.Plain{Market: market}, prometheus.NewRegistry())
	})
}
