package main

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"waybill/adapters/cli/settings"
	"waybill/adapters/routing"
	"waybill/adapters/routing/valhalla"
	"waybill/adapters/telemetry"
	"waybill/configs"
	"waybill/ports"
)

// routingEngine measures roads for the prices of this process. It is nil if none is set, and if
// a pricing service measures for itself.
type routingEngine struct{ *valhalla.Client }

func newRoutingEngine(c *configs.Config) (routingEngine, func(), error) {
	return tracedRoutingEngine(c, nil, nil)
}

// tracedRoutingEngine returns the result of newRoutingEngine, with traces if they are on.
func tracedRoutingEngine(c *configs.Config, f *tracing, o *telemetry.Outages) (routingEngine, func(), error) {
	if c.RoutingURL == "" || c.PricingURL != "" {
		return routingEngine{}, func() {}, nil
	}
	client, err := valhalla.New(valhalla.Options{
		URL: c.RoutingURL, Timeout: c.RoutingTimeout, BikeCosting: c.RoutingBike, Header: f.headers(), OnChange: o.Of("routing"),
	})
	if err != nil {
		return routingEngine{}, nil, settings.BadSetting(c, "routing_url", err)
	}
	return routingEngine{client}, client.Close, nil
}

// newRouting returns a cache in front of the routing engine. Only without a routing engine may
// a straight line stand in for a road.
func newRouting(engine routingEngine, r prometheus.Registerer, f *tracing) (ports.Routing, error) {
	if engine.Client == nil {
		return routing.NewStraightLine(), nil
	}
	return routing.NewCached(f.tracing().Routing(telemetry.NewMeteredRouting(engine, r)), time.Now, r)
}
