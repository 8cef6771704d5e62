package main

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"waybill/adapters/cli/settings"
	"waybill/adapters/metrics/gauges"
	"waybill/adapters/routing/cached"
	"waybill/adapters/routing/metered"
	"waybill/adapters/routing/straightline"
	"waybill/adapters/routing/valhalla"
	"waybill/configs"
	"waybill/ports"
)

// roadEngine is what measures roads for the prices of this process; nil where
// none is set, and where a pricing service measures for itself.
type roadEngine struct{ *valhalla.Client }

func newRoadEngine(c *configs.Config) (roadEngine, func(), error) {
	return followedRoadEngine(c, nil, nil)
}

// followedRoadEngine is newRoadEngine in a process that may be followed.
func followedRoadEngine(c *configs.Config, f *follower, o *gauges.Outages) (roadEngine, func(), error) {
	if c.RoutingURL == "" || c.PricingURL != "" {
		return roadEngine{}, func() {}, nil
	}
	client, err := valhalla.New(valhalla.Options{
		URL: c.RoutingURL, Timeout: c.RoutingTimeout, BikeCosting: c.RoutingBike, Header: f.headers(), OnChange: o.Of("routing"),
	})
	if err != nil {
		return roadEngine{}, nil, settings.BadSetting(c, "routing_url", err)
	}
	return roadEngine{client}, client.Close, nil
}

// newRouting asks the engine for what is not known yet. Only where there is no
// engine may a straight line stand in for a road.
func newRouting(engine roadEngine, r prometheus.Registerer, f *follower) (ports.Routing, error) {
	if engine.Client == nil {
		return straightline.New(), nil
	}
	return cached.New(f.tracing().Routing(metered.New(engine, r)), time.Now, r)
}
