package webhooksend

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"waybill/domain"
	"waybill/ports"
)

// parseURL parses a URL that can be sent to. Other alphabets in the host must come as xn--:
// some of their digits and dots would later count as ASCII ones.
func parseURL(address string) (*url.URL, error) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Hostname() == "" || !printable(u.Host) {
		return nil, &failure{domain.ErrorBlockedIP, errNoTarget}
	}
	return u, nil
}

// newRequest builds the request of a message. The host of its URL is in lower case, so that one
// host has one set of connections.
func newRequest(ctx context.Context, u *url.URL, m ports.WebhookMessage) (*http.Request, error) {
	to := *u
	to.Host, to.RawQuery, to.User = strings.ToLower(u.Host), escape(u.RawQuery), nil
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, to.String(), bytes.NewReader(m.Body))
	if err != nil {
		return nil, err
	}
	r.Host = u.Host
	for name, value := range m.Header {
		r.Header.Set(name, value)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("User-Agent", "Waybill-Webhooks/1.0")
	return r, nil
}

// printable reports whether all characters are visible ASCII.
func printable(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r > '~' })
}

// escape escapes what net/url lets through in a query, such as spaces.
func escape(query string) string {
	if printable(query) {
		return query
	}
	var out strings.Builder
	for _, c := range []byte(query) {
		if c > ' ' && c <= '~' {
			out.WriteByte(c)
		} else {
			fmt.Fprintf(&out, "%%%02X", c)
		}
	}
	return out.String()
}
