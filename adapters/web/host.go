package web

import (
	"net/url"
	"strings"

	"golang.org/x/net/idna"
)

// asBrowsers converts host names as browsers do before a lookup (UTS 46, non-transitional).
var asBrowsers = idna.New(idna.MapForLookup(), idna.BidiRule(), idna.Transitional(false))

// ASCIIHost returns an address with its host in ASCII: https://bücher.example/a becomes
// https://xn--bcher-kva.example/a. All the rest stays to the byte. An address that has no host, or
// one that cannot be converted, comes back as it is.
func ASCIIHost(address string) string {
	scheme, rest, found := strings.Cut(address, "://")
	if !found {
		return address
	}
	end := strings.IndexAny(rest, `/?#\`)
	if end < 0 {
		end = len(rest)
	}
	u, err := url.Parse(scheme + "://" + rest[:end])
	if err != nil || u.User != nil || isASCII(u.Hostname()) {
		return address
	}
	host, err := asBrowsers.ToASCII(u.Hostname())
	if err != nil {
		return address
	}
	if port := u.Port(); port != "" {
		host += ":" + port
	}
	return scheme + "://" + host + rest[end:]
}

func isASCII(text string) bool {
	return strings.IndexFunc(text, func(r rune) bool { return r > 127 }) < 0
}
