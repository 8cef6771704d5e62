package web

import (
	"net/netip"
	"strings"

	"github.com/gin-gonic/gin"

	"waybill/adapters/web/server"
)

const forwardedFor = "X-Forwarded-For"

// readForwardedFor rewrites X-Forwarded-For to its plain addresses. gin accepts only those: not
// the port that some load balancers add, and of several lines only the first.
func readForwardedFor(c *gin.Context) {
	lines := c.Request.Header[forwardedFor]
	if len(lines) == 0 {
		return
	}
	if known := server.ForwardedAddresses(lines); len(known) > 0 {
		c.Request.Header[forwardedFor] = []string{strings.Join(Each(known, netip.Addr.String), ",")}
	} else {
		delete(c.Request.Header, forwardedFor)
	}
}
