package doctor

import (
	"context"
	"strconv"
	"strings"

	"waybill/adapters/cli/term"
	"waybill/adapters/web/server"
)

// proxies checks that a proxy, if there seems to be one, is trusted. A running server counts
// the forwarded addresses that it ignores. An https address means a proxy, since this program
// serves http.
func (d *diagnosis) proxies(ctx context.Context) {
	const (
		check = "proxies"
		fix   = "WAYBILL_TRUSTED_PROXIES=10.0.0.0/8, or the network that your proxy has"
	)
	if n := untrustedForwarded(responseAt(ctx, d.c.OpsAddr, "/metrics")); n > 0 {
		d.warn(check, "the running server did not believe X-Forwarded-For of "+term.Counted(n, "request")+
			": it came from addresses that WAYBILL_TRUSTED_PROXIES does not name; its log tells their network", fix)
		return
	}
	for _, public := range []string{d.c.LiveBaseURL, d.c.SandboxBaseURL} {
		if strings.HasPrefix(public, "https://") && len(d.c.TrustedProxies) == 0 {
			d.warn(check, public+" is a proxy's, since this program serves http alone, and WAYBILL_TRUSTED_PROXIES is empty: all clients count as "+
				"one address", fix)
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

// untrustedForwarded reads the count from the metrics of a server.
func untrustedForwarded(metrics string) int {
	for line := range strings.Lines(metrics) {
		if value, ok := strings.CutPrefix(strings.TrimSpace(line), server.UntrustedForwardedMetric+" "); ok {
			n, err := strconv.ParseFloat(value, 64)
			if err == nil {
				return int(n)
			}
		}
	}
	return 0
}
