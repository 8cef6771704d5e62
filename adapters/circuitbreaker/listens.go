package circuitbreaker

import (
	"context"
	"net"
	"net/url"
)

// Listens reports whether anything listens at an address. The pricing protocol
// has no other question than a price, and a price for no customer would show in
// the service's figures; whether prices come of it is for the doctor to ask.
func Listens(ctx context.Context, address string) error {
	u, err := url.Parse(address)
	if err != nil {
		return err // was told with the settings
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
