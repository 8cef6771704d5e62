package opsapi

import (
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"github.com/gin-gonic/gin"

	"waybill/adapters/web"
	"waybill/domain"
)

// ownHost admits only requests that call this listener by one of its names. Health and metrics
// take no token, so a web page could read them too: under its own host name, pointed at the
// address of the listener (DNS rebinding). The Host header is then that name, also behind a
// published port of a container. So it checks the Host of every request, wherever it comes
// from.
func (a *API) ownHost(c *gin.Context) {
	if a.isOwn(c.Request.Host) {
		return
	}
	fail(c, http.StatusForbidden, foreignHost(c.Request.Host))
	c.Abort()
}

func foreignHost(host string) *domain.Error {
	return &domain.Error{Code: "HOST_NOT_ALLOWED",
		Message: "The request came for Host " + web.Shown(host) + ". This listener is called by its IP address, as localhost, by the host of " +
			"WAYBILL_CONSOLE_BASE_URL, or by a name in WAYBILL_OPS_HOSTS; a proxy before it has to send such a Host."}
}

// isOwn reports whether a Host is an address, this machine, or a configured name. Browsers
// always send one. A probe of HTTP/1.0 may send none.
func (a *API) isOwn(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.ToLower(strings.TrimSuffix(strings.Trim(host, "[]"), "."))
	if _, err := netip.ParseAddr(host); err == nil || host == "" || host == "localhost" {
		return true
	}
	return slices.ContainsFunc(a.options.Hosts, func(own string) bool { return strings.EqualFold(own, host) })
}
