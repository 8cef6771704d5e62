package opsapi

import (
	"net"
	"net/http"
	"net/netip"
	"strings"

	"github.com/gin-gonic/gin"
)

// ownHost lets only requests through that name an address, this machine, or a
// name that no stranger can have: one without a dot, such as a container's, or of
// a private zone. What has no token may be read by whoever reaches the listener. A
// page in a browser on this machine reaches it too, by a name of its own that it
// lets lead to 127.0.0.1 (DNS rebinding); its Host is that name. What comes in from
// another machine may name the listener as it likes.
func ownHost(c *gin.Context) {
	if isOwn(c.Request.Host) || !cameByLoopback(c.Request) {
		return
	}
	fail(c, http.StatusForbidden, "HOST_NOT_ALLOWED",
		"This listener is asked by its IP address, as localhost, or by a name without a dot or under .internal; a proxy before it has to send such a Host.", nil)
	c.Abort()
}

func cameByLoopback(r *http.Request) bool {
	at, ok := r.Context().Value(http.LocalAddrContextKey).(*net.TCPAddr)
	return !ok || at.IP.IsLoopback()
}

func isOwn(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.Trim(host, "[]")
	if _, err := netip.ParseAddr(host); err == nil {
		return true
	}
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	return host == "" || !strings.Contains(host, ".") || strings.HasSuffix(host, ".localhost") ||
		strings.HasSuffix(host, ".internal") || strings.HasSuffix(host, ".local")
}
