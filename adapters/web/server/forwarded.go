package server

import (
	"log/slog"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"waybill/domain"
)

const (
	// UntrustedForwardedMetric counts the requests that a server warns about. The doctor
	// command reads it.
	UntrustedForwardedMetric = "waybill_untrusted_forwarded_for_total"
	forwardedFor             = "X-Forwarded-For"
	// forwardedPause sets the pause after a warning: any client can send the header.
	forwardedPause = 5 * time.Minute
)

// ProxyWatch warns about a proxy that is not in WAYBILL_TRUSTED_PROXIES. All its clients count
// as one address, and one of them can use up the limit of failures for all.
type ProxyWatch struct {
	trusted []netip.Prefix
	log     *slog.Logger
	seen    prometheus.Counter

	mu     sync.Mutex
	silent time.Time // no warnings until then
}

// NewProxyWatch registers the counter of requests with an X-Forwarded-For from an untrusted
// address.
func NewProxyWatch(trusted []netip.Prefix, r prometheus.Registerer, log *slog.Logger) *ProxyWatch {
	w := &ProxyWatch{trusted: trusted, log: log, seen: prometheus.NewCounter(prometheus.CounterOpts{
		Name: UntrustedForwardedMetric, Help: "Requests with X-Forwarded-For from an address that is not in WAYBILL_TRUSTED_PROXIES.",
	})}
	r.MustRegister(w.seen)
	return w
}

// Around checks each request before the handler gets it.
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
	if err != nil || contained(w.trusted, address) {
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

func contained(networks []netip.Prefix, address netip.Addr) bool {
	return slices.ContainsFunc(networks, func(p netip.Prefix) bool { return p.Contains(address) })
}

// ForwardedAddresses returns the addresses in the lines of X-Forwarded-For after the last invalid
// entry, such as unknown. Each proxy appends to the list, so those are newer.
func ForwardedAddresses(lines []string) (known []netip.Addr) {
	for entry := range strings.SplitSeq(strings.Join(lines, ","), ",") {
		if entry = strings.TrimSpace(entry); entry == "" {
			continue
		}
		if address, ok := forwardedAddress(entry); ok {
			known = append(known, address)
		} else {
			known = nil
		}
	}
	return known
}

// forwardedAddress reads one entry: an address, optionally with a port or a zone, and with or
// without quotes and brackets.
func forwardedAddress(entry string) (netip.Addr, bool) {
	entry = strings.Trim(entry, `"`)
	if with, err := netip.ParseAddrPort(entry); err == nil {
		return with.Addr().Unmap().WithZone(""), true
	}
	if inside, ok := strings.CutPrefix(entry, "["); ok {
		entry = strings.TrimSuffix(inside, "]")
	}
	address, err := netip.ParseAddr(entry)
	return address.Unmap().WithZone(""), err == nil
}
