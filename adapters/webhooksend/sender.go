package webhooksend

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"time"

	"waybill/domain"
	"waybill/ports"
)

var _ ports.WebhookSender = (*Sender)(nil)

// limits are the time limits of an attempt and of its parts, and of an idle
// connection.
type limits struct{ lookup, connect, handshake, attempt, idle time.Duration }

var defaultLimits = limits{
	lookup: 3 * time.Second, connect: 3 * time.Second, handshake: 5 * time.Second,
	attempt: 15 * time.Second, idle: 30 * time.Second,
}

// resumable is how many TLS sessions are remembered; resuming one saves most of
// a handshake.
const resumable = 256

// Options say what is trusted. The zero Options are for production.
type Options struct {
	// AllowPrivate lets loopback and private addresses through, for development.
	// Link-local, metadata and other reserved ones stay refused.
	AllowPrivate bool
	Resolver     *net.Resolver  // nil: Go's own, as the host is configured
	RootCAs      *x509.CertPool // nil: the host's
}

// Sender sends webhooks. It is safe for concurrent use.
type Sender struct {
	dialer  *dialer
	pool    *pool
	targets targets
	limits  limits
}

// New makes a sender. Close it after use.
func New(o Options) *Sender { return newSender(o, defaultLimits) }

func newSender(o Options, l limits) *Sender {
	if o.Resolver == nil {
		o.Resolver = &net.Resolver{PreferGo: true}
	}
	return &Sender{
		limits: l,
		pool:   newPool(l.idle),
		dialer: &dialer{
			resolver: o.Resolver, private: o.AllowPrivate, limits: l, connect: connectTCP,
			tls: &tls.Config{
				MinVersion:         tls.VersionTLS12,
				RootCAs:            o.RootCAs,
				NextProtos:         []string{"http/1.1"},
				ClientSessionCache: tls.NewLRUClientSessionCache(resumable),
			},
		},
	}
}

// Close closes the connections that are kept open, and keeps no other. A Send
// under way goes on.
func (s *Sender) Close() { s.pool.close() }

// Send posts the message once.
func (s *Sender) Send(ctx context.Context, m ports.WebhookMessage) domain.WebhookResult {
	began := time.Now()
	r, err := s.send(ctx, m, began.Add(s.limits.attempt))
	if err != nil {
		r = domain.WebhookResult{Error: classOf(err)}
	}
	r.StartedAt, r.Duration = domain.Millis(began), time.Since(began)
	return r
}

func (s *Sender) send(ctx context.Context, m ports.WebhookMessage, deadline time.Time) (domain.WebhookResult, error) {
	to := s.targets.find(m.URL)
	if to == nil {
		return domain.WebhookResult{}, &failure{domain.ErrorBlockedIP, errNoTarget}
	}
	buffer := requests.Get().(*[]byte)
	defer requests.Put(buffer)
	request, err := to.request((*buffer)[:0], m)
	if err != nil {
		return domain.WebhookResult{}, err
	}
	*buffer = request
	h, err := s.pool.enter(ctx, to.key(m.Owner), deadline)
	if err != nil {
		return domain.WebhookResult{}, err
	}
	defer s.pool.leave(h)
	if c := s.pool.take(h); c != nil {
		r, err := s.exchange(ctx, h, c, request, deadline)
		if !errors.Is(err, errUnanswered) {
			return r, err
		}
		// The receiver had closed it. Once more, on a connection that is new.
	}
	c, err := s.dialer.open(ctx, to, deadline)
	if err != nil {
		return domain.WebhookResult{}, err
	}
	return s.exchange(ctx, h, c, request, deadline)
}

// exchange sends the request and reads the answer; then the connection is kept
// or closed.
func (s *Sender) exchange(ctx context.Context, h *host, c *conn, request []byte, deadline time.Time) (domain.WebhookResult, error) {
	_ = c.SetDeadline(deadline) // fails only where it is closed, as will what follows
	stop := context.AfterFunc(ctx, func() { _ = c.SetDeadline(time.Unix(1, 0)) })
	r, reusable, err := c.roundTrip(request)
	if stop() && reusable {
		s.pool.put(h, c)
	} else {
		c.close()
	}
	return r, err
}

// Resolvable looks the host up, for at most three seconds.
func (s *Sender) Resolvable(ctx context.Context, address string) error {
	to := parseTarget(address)
	if to == nil {
		return domain.WebhookURLBlocked("It is not an absolute address such as https://example.com/hooks.")
	}
	_, err := s.dialer.lookup(ctx, to.host)
	var unknown *net.DNSError
	switch {
	case err == nil:
		return nil
	case errors.Is(err, errReserved):
		// Which address it was is nothing to tell: it would map the network.
		return domain.WebhookURLBlocked("The host resolves to an address that is private or reserved.")
	case errors.As(err, &unknown) && unknown.IsNotFound:
		return domain.WebhookURLBlocked("The host does not resolve.")
	}
	return domain.WebhookURLBlocked("The host could not be resolved just now.")
}
