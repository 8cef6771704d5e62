package main

import (
	"log/slog"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"waybill/adapters/web"
	"waybill/adapters/web/connections"
	"waybill/configs"
)

// connectionBounds limit the connections of each listener.
type connectionBounds struct {
	live, sandbox, ops, portal connections.Options
}

func newConnectionBounds(c *configs.Config, r prometheus.Registerer) connectionBounds {
	live, sandbox, ops := connections.Bounds(c.MaxConnections, connections.OpenFiles())
	metrics := connections.NewMetrics(r)
	through := func(name string, most int, idle time.Duration) connections.Options {
		return connections.Options{Name: name, Most: most, Proxies: c.TrustedProxies, Metrics: metrics, Idle: idle}
	}
	return connectionBounds{
		live:    through("live", live, c.HTTPIdleTimeout),
		sandbox: through("sandbox", sandbox, c.HTTPIdleTimeout),
		ops:     through("operations", ops, 0), // its own
		portal:  through("portal", ops, c.HTTPIdleTimeout),
	}
}

func newProxyWatch(c *configs.Config, r prometheus.Registerer, log *slog.Logger) *connections.ProxyWatch {
	return connections.NewProxyWatch(c.TrustedProxies, r, log)
}

// around is what sees each request to a listener with public addresses first.
func around(watch *connections.ProxyWatch, addresses ...string) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler { return watch.Around(web.StrictTransport(next, addresses...)) }
}
