package webhooksend

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"math"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"waybill/adapters/turns"
	"waybill/domain"
	"waybill/ports"
)

var _ ports.WebhookSender = (*Sender)(nil)

// limits holds the timeouts of an attempt and of its parts, and of an idle connection.
type limits struct{ lookup, connect, handshake, attempt, idle time.Duration }

var defaultLimits = limits{
	lookup: 3 * time.Second, connect: 3 * time.Second, handshake: 5 * time.Second,
	attempt: 15 * time.Second, idle: 30 * time.Second,
}

const (
	// idlePerHost is enough for several endpoints of one host at full speed, so that
	// connections are kept and not made anew.
	idlePerHost = 64
	idleInAll   = 512
	// attemptsPerHost is as much as all endpoints of one application may have in flight at a
	// host. Each owner of webhooks has so many: customers may share a host.
	attemptsPerHost = 256
	maxHeaders      = 16 << 10 // informational responses included
	maxAnswer       = 16 << 10 // of the body
)

// resumable is how many TLS sessions are cached. Resuming one saves most of a handshake.
const resumable = 256

// Options configures what is trusted. The zero Options are for production.
type Options struct {
	// AllowPrivate allows loopback and private addresses, for development. Link-local, metadata
	// and other reserved ones stay refused.
	AllowPrivate bool
	Resolver     *net.Resolver  // nil: Go's own, as the host is configured
	RootCAs      *x509.CertPool // nil: the host's
}

// Sender sends webhooks. It is safe for concurrent use.
type Sender struct {
	dialer  *dialer
	keeping *http.Transport // keeps connections
	fresh   *http.Transport // makes one for each request, where a kept one was closed
	limits  limits

	attempts *turns.Turns // in flight, by host and owner
}

// New creates a sender. Close it after use.
func New(o Options) *Sender { return newSender(o, defaultLimits) }

func newSender(o Options, l limits) *Sender {
	if o.Resolver == nil {
		o.Resolver = &net.Resolver{PreferGo: true}
	}
	d := &dialer{
		resolver: o.Resolver, private: o.AllowPrivate, limits: l, connect: connectTCP,
		tls: &tls.Config{
			MinVersion:         tls.VersionTLS12,
			RootCAs:            o.RootCAs,
			NextProtos:         []string{"http/1.1"},
			ClientSessionCache: tls.NewLRUClientSessionCache(resumable),
		},
	}
	keeping := &http.Transport{
		DialContext: d.plain, DialTLSContext: d.secured,
		MaxIdleConns: idleInAll, MaxIdleConnsPerHost: idlePerHost, IdleConnTimeout: l.idle,
		MaxResponseHeaderBytes: maxHeaders, DisableCompression: true,
		TLSNextProto: map[string]func(string, *tls.Conn) http.RoundTripper{}, // HTTP/1.1 only
	}
	fresh := keeping.Clone()
	fresh.DisableKeepAlives = true
	return &Sender{limits: l, dialer: d, keeping: keeping, fresh: fresh, attempts: turns.New(math.MaxInt, attemptsPerHost)}
}

// Close closes the connections that are kept open. A Send in flight continues.
func (s *Sender) Close() { s.keeping.CloseIdleConnections() }

// Send posts the message once.
func (s *Sender) Send(ctx context.Context, m ports.WebhookMessage) domain.WebhookResult {
	began := time.Now()
	r := s.send(ctx, m)
	r.StartedAt, r.Duration = domain.Millis(began), time.Since(began)
	return r
}

func (s *Sender) send(ctx context.Context, m ports.WebhookMessage) domain.WebhookResult {
	to, err := parseURL(m.URL)
	if err != nil {
		return domain.WebhookResult{Error: classOf(err, false)}
	}
	ctx, cancel := context.WithTimeout(ctx, s.limits.attempt)
	defer cancel()
	attempt := strings.ToLower(to.Host) + " " + m.Owner
	if s.attempts.Take(ctx, attempt, "") != nil {
		return domain.WebhookResult{Error: domain.ErrorTimeoutConnect}
	}
	defer s.attempts.Give(attempt)
	r, stale := post(ctx, s.keeping, to, m)
	if stale {
		r, _ = post(ctx, s.fresh, to, m)
	}
	return r
}

// post sends the message once. stale reports that the receiver had closed the kept connection:
// not a byte came back.
func post(ctx context.Context, over *http.Transport, to *url.URL, m ports.WebhookMessage) (r domain.WebhookResult, stale bool) {
	var connected, reused bool
	var answered atomic.Bool // set by the goroutine that reads
	request, err := newRequest(httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GotConn:              func(c httptrace.GotConnInfo) { connected, reused = true, c.Reused },
		GotFirstResponseByte: func() { answered.Store(true) },
	}), to, m)
	if err != nil {
		return domain.WebhookResult{Error: classOf(err, false)}, false
	}
	answer, err := over.RoundTrip(request)
	if err != nil {
		return domain.WebhookResult{Error: classOf(err, connected)}, reused && !answered.Load() && !timedOut(err)
	}
	defer answer.Body.Close() // before its end: the connection is closed, too
	if answer.StatusCode < 200 || answer.StatusCode > 599 {
		return domain.WebhookResult{Error: domain.ErrorReset}, false
	}
	return resultOf(answer), false
}

// Resolvable looks the host up, for at most three seconds.
func (s *Sender) Resolvable(ctx context.Context, address string) error {
	to, err := parseURL(address)
	if err != nil {
		return domain.WebhookURLBlocked("It is not an absolute address such as https://example.com/hooks.")
	}
	_, err = s.dialer.lookup(ctx, to.Hostname())
	var unknown *net.DNSError
	switch {
	case err == nil:
		return nil
	case errors.Is(err, errReserved):
		// The message does not say which address: that would map the network.
		return domain.WebhookURLBlocked("The host resolves to an address that is private or reserved. " + domain.ListenInstead)
	case errors.As(err, &unknown) && unknown.IsNotFound:
		return domain.WebhookURLBlocked("The host does not resolve.")
	}
	return domain.WebhookURLBlocked("The host could not be resolved just now.")
}
