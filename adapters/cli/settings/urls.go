package settings

import (
	"net"
	"net/url"
	"slices"
	"strings"

	"waybill/configs"
)

// PublicURLs holds the addresses at which clients reach the service.
type PublicURLs struct {
	Live, Sandbox string // end in /v1
	Tracking      string
	Portal        string
	Console       string // of its listener, without the path of the console
}

// PublicURLsOf derives missing settings from the origins.
func PublicURLsOf(c *configs.Config, liveOrigin, sandboxOrigin string) PublicURLs {
	u := PublicURLs{Live: c.LiveBaseURL, Sandbox: c.SandboxBaseURL, Tracking: c.TrackingBaseURL, Portal: portalURL(c, c.PortalAddr),
		Console: siteURL(c.ConsoleBaseURL, "", "8082")}
	if u.Live == "" {
		u.Live = liveOrigin + "/v1"
	}
	if u.Sandbox == "" {
		u.Sandbox = sandboxOrigin + "/v1"
	}
	if u.Tracking == "" {
		u.Tracking = strings.TrimSuffix(u.Live, "/v1") + "/track"
	}
	return u
}

// Reachable replaces "all addresses", which no client can call.
func Reachable(host string) string {
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		return "127.0.0.1"
	}
	return host
}

// OriginOf returns the origin at which this machine will reach a listener that is not open yet.
func OriginOf(address string) string {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return "http://" + address
	}
	return "http://" + net.JoinHostPort(Reachable(host), port)
}

// TrackingURL returns the address before references in tracking links. A data directory knows
// the last address of its server, which matters with port 0.
func (p *CommandLine) TrackingURL(c *configs.Config) string {
	live := "http://" + c.LiveAddr
	if last, ran := DataDir(p.DataDir).lastRunOn(c.DatabaseURL); ran {
		live = strings.TrimSuffix(last["WAYBILL_LIVE_URL"], "/v1")
	}
	return PublicURLsOf(c, live, "").Tracking
}

// Origin returns the origin at which this machine reaches the listener.
func Origin(l net.Listener) string {
	host, port, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		return "http://" + l.Addr().String()
	}
	return "http://" + net.JoinHostPort(Reachable(host), port)
}

// portalURL returns the address of the portal. Passkeys do not work on IP addresses, so the
// default is a name.
func portalURL(c *configs.Config, address string) string {
	return siteURL(c.PortalBaseURL, address, "8084")
}

// siteURL returns the setting or, without it, this machine at the port of an address. A process
// without the site has no address.
func siteURL(setting, address, port string) string {
	if setting != "" {
		return strings.TrimSuffix(setting, "/")
	}
	if _, own, err := net.SplitHostPort(address); err == nil {
		port = own
	}
	return "http://localhost:" + port
}

// WithPortal returns the URLs with the portal on an open listener; nil: there is none here.
func (u PublicURLs) WithPortal(c *configs.Config, l net.Listener) PublicURLs {
	if l != nil {
		u.Portal = portalURL(c, l.Addr().String())
	}
	return u
}

// PortalFor returns the address of the portal for people, or "" without one.
func PortalFor(c *configs.Config, u PublicURLs) string {
	if c.PortalAddr == "" && c.PortalBaseURL == "" {
		return ""
	}
	return u.Portal
}

// PortalURL returns the address before the path of a link to the portal.
func (p *CommandLine) PortalURL(c *configs.Config) string {
	if last, ran := DataDir(p.DataDir).lastRunOn(c.DatabaseURL); ran && last["WAYBILL_PORTAL_URL"] != "" && c.PortalBaseURL == "" {
		return last["WAYBILL_PORTAL_URL"]
	}
	return portalURL(c, c.PortalAddr)
}

// WithConsole returns the URLs with the console on the open operations listener.
func (u PublicURLs) WithConsole(c *configs.Config, l net.Listener) PublicURLs {
	u.Console = siteURL(c.ConsoleBaseURL, l.Addr().String(), "8082")
	return u
}

// ConsolePath is the path of the console on the operations listener.
const ConsolePath = "/console"

// ConsoleURL returns the address before the path of a link to the console.
func (p *CommandLine) ConsoleURL(c *configs.Config) string {
	if last, ran := DataDir(p.DataDir).lastRunOn(c.DatabaseURL); ran && last["WAYBILL_CONSOLE_URL"] != "" && c.ConsoleBaseURL == "" {
		return last["WAYBILL_CONSOLE_URL"]
	}
	return siteURL(c.ConsoleBaseURL, c.OpsAddr, "8082") + ConsolePath
}

// OpsHosts returns the names of the operations listener.
func OpsHosts(c *configs.Config, u PublicURLs) []string {
	if at, err := url.Parse(u.Console); err == nil && at.Hostname() != "" {
		return append(slices.Clone(c.OpsHosts), at.Hostname())
	}
	return c.OpsHosts
}
