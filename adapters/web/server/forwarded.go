package server

import (
	"log/slog"
	"net/http"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"waybill/domain"
)

const (
	// UntrustedForwardedMetric counts what a server warns of, and tells the doctor.
	UntrustedForwardedMetric = "waybill_untrusted_forwarded_for_total"
	forwardedFor             = "X-Forwarded-For"
	// forwardedPause is how long a server is silent after a warning: any client
	// can send the header.
	forwardedPause = 5 * time.Minute
)

// ProxyWatch warns of a proxy that is not in WAYBILL_TRUSTED_PROXIES: all its
// clients count as one address, and one of them can use up what they may fail.
type ProxyWatch struct {
	trusted []netip.Prefix
	log     *slog.Logger
	seen    prometheus.Counter

	mu     sync.Mutex
	silent time.Time // until then
}

// NewProxyWatch registers the counter of requests that name a client without being
// trusted to.
func NewProxyWatch(trusted []netip.Prefix, r prometheus.Registerer, log *slog.Logger) *ProxyWatch {
	w := &ProxyWatch{trusted: trusted, log: log, seen: prometheus.NewCounter(prometheus.CounterOpts{
		Name: UntrustedForwardedMetric, Help: "Requests with X-Forwarded-For from an address that is not in WAYBILL_TRUSTED_PROXIES.",
	})}
	r.MustRegister(w.seen)
	return w
}

// Around looks at each request before the handler does.
func (w *ProxyWatch) Around(next http.Handler) http.Handler {
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if r.Header.Get(forwardedFor) != "" {
			w.look(r)
		}
		next.ServeHTTP(rw, r)
	})
}

func (w *ProxyWatch) look(r *http.Request) {
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
			"and failed authentications of all clients behind it count as of one address; where that is your proxy, set WAYBILL_TRUSTED_PROXIES "+
			"to its network",
			"client_network", domain.ClientNetwork(address.String()))
	}
}
