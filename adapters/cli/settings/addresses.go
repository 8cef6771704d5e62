package settings

import (
	"net"
	"net/netip"
	"net/url"
	"strings"

	"waybill/configs"
)

// OnlyLocal reports public addresses that only this machine can open: the consequence, and the
// settings that fix it. Both are empty if there are none.
func OnlyLocal(c *configs.Config, u PublicURLs) (message, fix string) {
	var what, settings []string
	for _, a := range []struct{ url, what, setting string }{
		{u.Tracking, "tracking links begin with ", "WAYBILL_TRACKING_BASE_URL=https://track.example.com/track"},
		{u.Live, "the live API is told to be at ", "WAYBILL_LIVE_BASE_URL=https://api.example.com/v1"},
		{u.Sandbox, "the sandbox and its docs are told to be at ", "WAYBILL_SANDBOX_BASE_URL=https://sandbox.example.com/v1"},
		{PortalFor(c, u), "links to the portal begin with ", "WAYBILL_PORTAL_BASE_URL=https://portal.example.com"},
	} {
		if OnThisMachine(a.url) {
			what, settings = append(what, a.what+a.url), append(settings, a.setting)
		}
	}
	if len(what) == 0 {
		return "", ""
	}
	return strings.Join(what, ", ") + "; nobody else can open them", strings.Join(settings, ", ")
}

// OnThisMachine reports whether the host of an address is the loopback.
func OnThisMachine(address string) bool {
	u, err := url.Parse(address)
	if err != nil || address == "" {
		return false
	}
	host := u.Hostname()
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback() || host == "localhost" || strings.HasSuffix(host, ".localhost")
}

// ForOthers reports whether other people seem to use the installation: its database is not in a
// data directory, or the APIs listen for other machines.
func ForOthers(c *configs.Config, dir DataDir) bool {
	return OpenToOthers(c.LiveAddr, c.SandboxAddr) || c.Source("database_url") != dir.Label() && !dir.Owns(c.DatabaseURL)
}

// OpenToOthers reports whether other machines can reach one of the listen addresses.
func OpenToOthers(addresses ...string) bool {
	for _, address := range addresses {
		host, _, err := net.SplitHostPort(address)
		if err == nil && !OnThisMachine("http://"+net.JoinHostPort(host, "0")) {
			return true
		}
	}
	return false
}
