package web

import (
	"net/netip"
	"strings"

	"github.com/gin-gonic/gin"
)

const forwardedFor = "X-Forwarded-For"

// readForwardedFor rewrites X-Forwarded-For to the addresses in it, for gin takes nothing
// else: not the port that some balancers add, and of several lines the first one alone.
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

// forwardedAddresses returns the addresses behind the last entry that is none, such as
// unknown: each proxy appends to the list, so that they came after it.
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

// forwardedAddress reads one entry: an address, with a port or a zone or neither, in
// quotes and brackets or without.
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
