package main

import (
	"context"
	"log/slog"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"waybill/configs"
	"waybill/domain"
)

const (
	forwardedFor = "X-Forwarded-For"
	// forwardedMetric counts what a server warns of, and tells the doctor.
	forwardedMetric = "waybill_untrusted_forwarded_for_total"
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
		Name: forwardedMetric, Help: "Requests with X-Forwarded-For from an address that is not in WAYBILL_TRUSTED_PROXIES.",
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

// proxies looks whether a proxy that there seems to be is trusted: a running
// server counts what it does not believe, and an address of https is not ours,
// who serve http.
func (d *diagnosis) proxies(ctx context.Context) {
	const (
		check = "proxies"
		fix   = "WAYBILL_TRUSTED_PROXIES=10.0.0.0/8, or the network that your proxy has"
	)
	if n := untrustedForwarded(told(ctx, d.c.OpsAddr, "/metrics")); n > 0 {
		d.warn(check, "the running server did not believe X-Forwarded-For of "+counted(n, "request")+
			": it came from addresses that WAYBILL_TRUSTED_PROXIES does not name; its log tells their network", fix)
		return
	}
	for _, public := range []string{d.c.LiveBaseURL, d.c.SandboxBaseURL} {
		if strings.HasPrefix(public, "https://") && len(d.c.TrustedProxies) == 0 {
			d.warn(check, public+" is a proxy's, since this program serves http alone, and WAYBILL_TRUSTED_PROXIES is empty: all clients count as one address", fix)
			return
		}
	}
	if len(d.c.TrustedProxies) == 0 {
		d.ok(check, "none is trusted; X-Forwarded-For is not believed")
		return
	}
	trusted := make([]string, len(d.c.TrustedProxies))
	for i, p := range d.c.TrustedProxies {
		trusted[i] = p.String()
	}
	d.ok(check, "X-Forwarded-For is believed of "+strings.Join(trusted, ", "))
}

// untrustedForwarded reads the count out of what a server tells of itself.
func untrustedForwarded(metrics string) int {
	for line := range strings.Lines(metrics) {
		if value, ok := strings.CutPrefix(strings.TrimSpace(line), forwardedMetric+" "); ok {
			n, err := strconv.ParseFloat(value, 64)
			if err == nil {
				return int(n)
			}
		}
	}
	return 0
}
