package webhooksend

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"waybill/domain"
)

// mostAddresses limits how many addresses of a host are tried.
const mostAddresses = 3

// dialer connects to addresses that it has looked up and checked.
type dialer struct {
	resolver *net.Resolver
	private  bool
	tls      *tls.Config
	limits   limits
	// connect opens one connection to one address. It resolves no names.
	connect func(ctx context.Context, to netip.AddrPort) (net.Conn, error)
}

func connectTCP(ctx context.Context, to netip.AddrPort) (net.Conn, error) {
	d := net.Dialer{KeepAlive: 15 * time.Second}
	c, err := d.DialTCP(ctx, "tcp", netip.AddrPort{}, to)
	if err != nil {
		return nil, err // not c: it would be a nil pointer in a net.Conn
	}
	return c, nil
}

// lookup resolves the host. If one address is reserved it refuses all: a mixed result is no
// accident.
func (d *dialer) lookup(ctx context.Context, host string) ([]netip.Addr, error) {
	addresses, err := d.resolve(ctx, host)
	if err == nil && len(addresses) == 0 {
		err = errors.New("the answer is empty")
	}
	if err != nil {
		return nil, &failure{domain.ErrorDNS, err}
	}
	for i, a := range addresses {
		if !mayReach(a, d.private) {
			return nil, &failure{domain.ErrorBlockedIP, errReserved}
		}
		addresses[i] = a.Unmap()
	}
	return addresses, nil
}

func (d *dialer) resolve(ctx context.Context, host string) ([]netip.Addr, error) {
	if a, err := netip.ParseAddr(strings.TrimSuffix(host, ".")); err == nil {
		return []netip.Addr{a}, nil
	}
	ctx, cancel := context.WithTimeout(ctx, d.limits.lookup)
	defer cancel()
	if !d.private && !strings.HasSuffix(host, ".") {
		host += "." // absolute: a search list could add a name of this network
	}
	return d.resolver.LookupNetIP(ctx, "ip", host)
}

// plain connects to a host and port.
func (d *dialer) plain(ctx context.Context, _, address string) (net.Conn, error) {
	host, text, err := net.SplitHostPort(address)
	if err != nil {
		return nil, &failure{domain.ErrorBlockedIP, errNoTarget}
	}
	port, err := strconv.ParseUint(text, 10, 16)
	if err != nil {
		return nil, &failure{domain.ErrorBlockedIP, errNoTarget}
	}
	addresses, err := d.lookup(ctx, host)
	if err != nil {
		return nil, err
	}
	c, err := d.connectAny(ctx, addresses[:min(len(addresses), mostAddresses)], uint16(port))
	if err != nil {
		return nil, &failure{connectClass(err), err}
	}
	return c, nil
}

// secured connects to a host and port, with a TLS handshake.
func (d *dialer) secured(ctx context.Context, network, address string) (net.Conn, error) {
	raw, err := d.plain(ctx, network, address)
	if err != nil {
		return nil, err
	}
	host, _, _ := net.SplitHostPort(address)
	c, err := d.secure(ctx, raw, host)
	if err != nil {
		_ = raw.Close()
		return nil, &failure{handshakeClass(err), err}
	}
	return abrupt{c, raw}, nil
}

// abrupt is a TLS connection that closes at once. Otherwise it would first send a notice, and
// wait for a receiver that reads nothing.
type abrupt struct {
	net.Conn
	raw net.Conn
}

func (c abrupt) Close() error { return c.raw.Close() }

func (d *dialer) connectAny(ctx context.Context, addresses []netip.Addr, port uint16) (c net.Conn, err error) {
	deadline := time.Now().Add(d.limits.connect)
	for i, a := range addresses {
		// Each address gets an even share of the remaining time, so that the last one is tried
		// too.
		share := time.Until(deadline) / time.Duration(len(addresses)-i)
		if c, err = d.connectWithin(ctx, share, netip.AddrPortFrom(a, port)); err == nil {
			return c, nil
		}
	}
	return nil, err
}

func (d *dialer) connectWithin(ctx context.Context, limit time.Duration, to netip.AddrPort) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	return d.connect(ctx, to)
}

func (d *dialer) secure(ctx context.Context, raw net.Conn, host string) (net.Conn, error) {
	config := d.tls.Clone()
	config.ServerName = strings.TrimSuffix(host, ".")
	c := tls.Client(raw, config)
	ctx, cancel := context.WithTimeout(ctx, d.limits.handshake)
	defer cancel()
	return c, c.HandshakeContext(ctx)
}
