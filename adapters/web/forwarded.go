package web

import (
	"net/netip"
	"strings"

	"github.com/gin-gonic/gin"
)

const forwardedFor = "X-Forwarded-For"

// readForwardedFor rewrites X-Forwarded-For to its plain addresses. gin accepts only those: not
// the port that some load balancers add, and of several lines only the first.
func readForwardedFor(c *gin.Context) {
	lines := c.Request.Header[forwardedFor]
	if len(lines) == 0 {
		return
	}
	if known := forwardedAddresses(lines); len(known) > 0 {
		c.Request.Header[forwardedFor] = []string{strings.Join(known, ",")}
	} else {
		delete(c.Request.Header, forwardedFor)
	}
}

// forwardedAddresses returns the addresses after the last invalid entry, such as unknown. Each
// proxy appends to the list, so those are newer.
func forwardedAddresses(lines []string) (known []string) {
	for entry := range strings.SplitSeq(strings.Join(lines, ","), ",") {
		if entry = strings.TrimSpace(entry); entry == "" {
			continue
		}
		if address, ok := forwardedAddress(entry); ok {
			known = append(known, address.String())
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
