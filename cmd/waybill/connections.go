package main

import (
	"log/slog"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"waybill/adapters/web"
	"waybill/adapters/web/server"
	"waybill/configs"
)

// connectionBounds limits the connections of each listener.
type connectionBounds struct {
	live, sandbox, ops, portal server.Options
}

func newConnectionBounds(c *configs.Config, r prometheus.Registerer) connectionBounds {
	live, sandbox, ops := server.Bounds(c.MaxConnections, server.OpenFiles())
	metrics := server.NewMetrics(r)
	through := func(name string, most int, idle time.Duration) server.Options {
		return server.Options{Name: name, Most: most, Proxies: c.TrustedProxies, Metrics: metrics, Idle: idle}
	}
	return connectionBounds{
		live:    through("live", live, c.HTTPIdleTimeout),
		sandbox: through("sandbox", sandbox, c.HTTPIdleTimeout),
		ops:     through("operations", ops, 0), // its own
		portal:  through("portal", ops, c.HTTPIdleTimeout),
	}
}

func newProxyWatch(c *configs.Config, r prometheus.Registerer, log *slog.Logger) *server.ProxyWatch {
	return server.NewProxyWatch(c.TrustedProxies, r, log)
}

// around returns the middleware that handles each request to a listener with public addresses
// first.
func around(watch *server.ProxyWatch, addresses ...string) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler { return watch.Around(web.StrictTransport(next, addresses...)) }
}
