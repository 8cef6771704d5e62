package routing_test

import (
	"testing"

	waybillrouting "waybill/adapters/routing"
	"waybill/domain"
	"waybill/ports"
	"waybill/test/conformance"
)

func TestRoutingConformance(t *testing.T) {
	t.Parallel()
	conformance.ExamineRouting(t, conformance.Ground{
		Source: domain.DistanceStraightLine,
		Places: []domain.Coordinates{{Latitude: 5.5560, Longitude: -0.1969}, {Latitude: 5.67, Longitude: -0.01},
			{Latitude: 6.6885, Longitude: -1.6244}},
	}, func(*testing.T) ports.Routing { return waybillrouting.NewStraightLine() })
}
