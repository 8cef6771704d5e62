package circuitbreaker

import (
	"context"
	"net"
	"net/url"
)

// Listens reports whether anything listens at an address. The pricing protocol has only the
// price request, and a price for no customer would show in the figures of the service. The
// doctor command checks whether real prices come back.
func Listens(ctx context.Context, address string) error {
	u, err := url.Parse(address)
	if err != nil {
		return err // the settings reported it
	}
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", net.JoinHostPort(u.Hostname(), port))
	if err != nil {
		return err
	}
	return conn.Close()
}
