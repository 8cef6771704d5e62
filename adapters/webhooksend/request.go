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

// parseURL reads an address that can be sent to. Other alphabets in the host
// come as xn--: some of their digits and dots would count as ASCII ones later.
func parseURL(address string) (*url.URL, error) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Hostname() == "" || !printable(u.Host) {
		return nil, &failure{domain.ErrorBlockedIP, errNoTarget}
	}
	return u, nil
}

// newRequest makes the request of a message. Its URL has the host in small
// letters, so that one host has one set of connections.
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

// printable reports whether all are ASCII characters that show.
func printable(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r > '~' })
}

// escape mends what net/url lets through in a query, such as spaces.
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
