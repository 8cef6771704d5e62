package main

import (
	"net/netip"

	"github.com/prometheus/client_golang/prometheus"

	"waybill/adapters/web/connections"
	"waybill/configs"
)

// doorways are the bounds of what comes in through each listener.
type doorways struct {
	live, sandbox, ops connections.Options
}

func newDoorways(c *configs.Config, r prometheus.Registerer) doorways {
	live, sandbox, ops := connectionsOf(c.MaxConnections, openFiles())
	metrics := connections.NewMetrics(r)
	through := func(name string, most int, proxies []netip.Prefix) connections.Options {
		return connections.Options{Name: name, Most: most, Proxies: proxies, Metrics: metrics}
	}
	return doorways{
		live:    through("live", live, c.TrustedProxies),
		sandbox: through("sandbox", sandbox, c.TrustedProxies),
		ops:     through("operations", ops, c.TrustedProxies),
	}
}

// connectionsOf divides the connections that a process may have among its
// listeners. Where it may open few files, they take at most five eighths of them:
// the others are for the database, Redis, webhooks and the services it asks.
func connectionsOf(most, files int) (live, sandbox, ops int) {
	live = min(most, files*2/5)
	return live, live / 2, max(live/16, 16)
}
