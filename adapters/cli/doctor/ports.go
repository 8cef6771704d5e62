package doctor

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"waybill/adapters/cli/settings"
)

// identifyTimeout limits how long the server that holds a port may take to identify itself.
const identifyTimeout = 2 * time.Second

// ports checks whether the listeners can be opened. For a port in use it finds out which
// Waybill holds it.
func (d *diagnosis) ports(ctx context.Context) {
	theirs, ours := installationAt(ctx, d.c.OpsAddr), d.installation
	type listener struct{ check, address, usedFor, sign string }
	listeners := []listener{
		{"live port", d.c.LiveAddr, "live API (WAYBILL_LIVE_ADDR)", "/v1/openapi.json"},
		{"sandbox port", d.c.SandboxAddr, "sandbox API (WAYBILL_SANDBOX_ADDR)", "/v1/openapi.json"},
		{"operations port", d.c.OpsAddr, settings.OpsUse, "/healthz"},
	}
	if d.c.PortalAddr != "" {
		listeners = append(listeners, listener{"portal port", d.c.PortalAddr, settings.PortalUse, "/signin"})
	}
	for _, wanted := range listeners {
		opened, failure := settings.ListenOn(ctx, wanted.address, wanted.usedFor)
		if failure == nil {
			_ = opened.Close()
			d.ok(wanted.check, wanted.address+" is free")
			continue
		}
		switch {
		case !isWaybill(ctx, wanted.address, wanted.sign):
			d.failed(wanted.check, failure)
		case theirs != "" && theirs == ours:
			d.warn(wanted.check, wanted.address+" has a running Waybill of this installation; a second serve here would not start: one is running",
				failure.Fix)
		case theirs != "" && ours == "":
			d.fail(wanted.check, wanted.address+" has a running Waybill, and no database was found to tell whether it is of this installation",
				failure.Fix)
		case theirs != "":
			d.fail(wanted.check, wanted.address+" has a running Waybill of another installation, with another database", failure.Fix)
		default:
			d.fail(wanted.check, wanted.address+" has a running Waybill, and nothing at "+d.c.OpsAddr+" tells of which installation", failure.Fix)
		}
	}
}

// isWaybill requests a path that only Waybill serves there.
func isWaybill(ctx context.Context, address, path string) bool {
	text := responseAt(ctx, address, path)
	return strings.Contains(text, "Waybill") || strings.Contains(text, `"message":"Alive."`)
}

// installationAt returns the installation whose process serves operators at an address, or ""
// if the listener does not say.
func installationAt(ctx context.Context, address string) string {
	var alive struct {
		Data struct {
			Installation string `json:"installation"`
		} `json:"data"`
	}
	_ = json.Unmarshal([]byte(responseAt(ctx, address, "/healthz")), &alive) // another response leaves it empty
	return alive.Data.Installation
}

// responseAt returns the beginning of the response to a GET, or "" without a success.
func responseAt(ctx context.Context, address, path string) string {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return ""
	}
	ctx, cancel := context.WithTimeout(ctx, identifyTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+net.JoinHostPort(settings.Reachable(host), port)+path, nil)
	if err != nil {
		return ""
	}
	client := &http.Client{Transport: &http.Transport{Proxy: nil, DisableKeepAlives: true}}
	res, err := client.Do(req)
	if err != nil {
		return ""
	}
	defer res.Body.Close()
	start, _ := io.ReadAll(io.LimitReader(res.Body, 256<<10)) // a part of the body is enough
	if res.StatusCode != http.StatusOK {
		return ""
	}
	return string(start)
}
