package main

import (
	"log/slog"
	"net/http"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"waybill/adapters/cli/doctor"
	"waybill/configs"
	"waybill/domain"
)

const (
	forwardedFor = "X-Forwarded-For"
	// forwardedPause is how long a server is silent after a warning: any client
	// can send the header.
	forwardedPause = 5 * time.Minute
)

// forwardedWatch warns of a proxy that is not in WAYBILL_TRUSTED_PROXIES: all its
// clients count as one address, and one of them can use up what they may fail.
type forwardedWatch struct {
	trusted []netip.Prefix
	log     *slog.Logger
	seen    prometheus.Counter

	mu     sync.Mutex
	silent time.Time // until then
}

func newForwardedWatch(c *configs.Config, r prometheus.Registerer, log *slog.Logger) *forwardedWatch {
	w := &forwardedWatch{trusted: c.TrustedProxies, log: log, seen: prometheus.NewCounter(prometheus.CounterOpts{
		Name: doctor.ForwardedMetric, Help: "Requests with X-Forwarded-For from an address that is not in WAYBILL_TRUSTED_PROXIES.",
	})}
	r.MustRegister(w.seen)
	return w
}

// around looks at each request before the handler does.
func (w *forwardedWatch) around(next http.Handler) http.Handler {
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if r.Header.Get(forwardedFor) != "" {
			w.look(r)
		}
		next.ServeHTTP(rw, r)
	})
}

func (w *forwardedWatch) look(r *http.Request) {
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	address := peer.Addr().Unmap().WithZone("")
	if err != nil || slices.ContainsFunc(w.trusted, func(p netip.Prefix) bool { return p.Contains(address) }) {
		return
	}
	w.seen.Inc()
	w.mu.Lock()
	now := time.Now()
	warns := !now.Before(w.silent)
	if warns {
		w.silent = now.Add(forwardedPause)
	}
	w.mu.Unlock()
	if warns {
		w.log.Warn("proxies", "warning", forwardedFor+" is not believed: it came from an address that WAYBILL_TRUSTED_PROXIES does not name, "+
			"and failed authentications of all clients behind it count as of one address; where that is your proxy, set WAYBILL_TRUSTED_PROXIES to its network",
			"client_network", domain.ClientNetwork(address.String()))
	}
}
