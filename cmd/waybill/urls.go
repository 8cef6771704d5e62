package main

import (
	"net"
	"strings"

	"waybill/configs"
)

// publicURLs is how clients reach the service.
type publicURLs struct {
	live, sandbox string // end in /v1
	tracking      string
}

// publicURLsOf derives what the settings leave open from the origins.
func publicURLsOf(c *configs.Config, liveOrigin, sandboxOrigin string) publicURLs {
	u := publicURLs{live: c.LiveBaseURL, sandbox: c.SandboxBaseURL, tracking: c.TrackingBaseURL}
	if u.live == "" {
		u.live = liveOrigin + "/v1"
	}
	if u.sandbox == "" {
		u.sandbox = sandboxOrigin + "/v1"
	}
	if u.tracking == "" {
		u.tracking = strings.TrimSuffix(u.live, "/v1") + "/track"
	}
	return u
}

// reachable replaces "all addresses", which nobody can call.
func reachable(host string) string {
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		return "127.0.0.1"
	}
	return host
}

// originOf is how a listener that is not open yet will be reached from here.
func originOf(address string) string {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return "http://" + address
	}
	return "http://" + net.JoinHostPort(reachable(host), port)
}

// trackingURL is what the servers put before references. A data directory
// knows the address its server took last, which matters with port 0.
func (p *commandLine) trackingURL(c *configs.Config) string {
	live := "http://" + c.LiveAddr
	if last, ran := dataDir(p.dataDir).lastRunOn(c.DatabaseURL); ran {
		live = strings.TrimSuffix(last["WAYBILL_LIVE_URL"], "/v1")
	}
	return publicURLsOf(c, live, "").tracking
}

// origin is how the listener is reached from this machine.
func origin(l net.Listener) string {
	host, port, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		return "http://" + l.Addr().String()
	}
	return "http://" + net.JoinHostPort(reachable(host), port)
}
