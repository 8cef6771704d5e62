package circuitbreaker

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"waybill/domain"
)

// The limits of a service that is asked about trips.
const (
	// An outage needs failures of several trips of several businesses.
	outageTrips      = 3
	outageBusinesses = 2

	// idleConnections are kept open in each environment. Beyond four times as many a request
	// waits for one, so that a burst cannot use up the file descriptors of the process.
	idleConnections = 64
	mostConnections = 4 * idleConnections
	// mostPerBusiness limits how many of them one business uses.
	mostPerBusiness = mostConnections / 2

	maxHeaders = 16 << 10
)

// ServiceOptions configures a service that is asked about trips over HTTP.
type ServiceOptions struct {
	// Timeout limits each request, including the wait for a connection.
	Timeout time.Duration
	// HTTPClient replaces the clients made here, for tests. Its redirect policy and its cookies
	// are not used.
	HTTPClient *http.Client
	// OnChange is called when an outage of an environment begins or ends. It may be nil.
	OnChange func(e domain.Environment, gone bool)
}

// Service sends requests about trips. Each environment has its own connections and its own
// breaker.
type Service struct {
	timeout time.Duration
	sides   map[domain.Environment]*side
}

// side is the service as one environment uses it.
type side struct {
	client  *http.Client
	breaker *Breaker
	shares  shares
}

// NewService creates a service. It does not connect yet.
func NewService(o ServiceOptions) *Service {
	s := &Service{timeout: o.Timeout, sides: map[domain.Environment]*side{}}
	for _, e := range []domain.Environment{domain.Live, domain.Sandbox} {
		b := BreakerOptions{Questions: outageTrips, Callers: outageBusinesses}
		if o.OnChange != nil {
			b.OnChange = func(open bool) { o.OnChange(e, open) }
		}
		s.sides[e] = &side{client: newClient(o.HTTPClient), breaker: NewBreaker(b), shares: shares{most: mostPerBusiness}}
	}
	return s
}

func newClient(replacement *http.Client) *http.Client {
	client := &http.Client{}
	if replacement != nil {
		*client = *replacement
		client.Jar = nil
	} else {
		client.Transport = newTransport()
	}
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return client
}

func newTransport() *http.Transport {
	return &http.Transport{
		Proxy:                  nil,
		DialContext:            (&net.Dialer{KeepAlive: 15 * time.Second}).DialContext,
		TLSClientConfig:        &tls.Config{MinVersion: tls.VersionTLS12},
		MaxIdleConns:           idleConnections,
		MaxIdleConnsPerHost:    idleConnections,
		MaxConnsPerHost:        mostConnections,
		IdleConnTimeout:        30 * time.Second,
		MaxResponseHeaderBytes: maxHeaders,
		DisableCompression:     true, // small responses gain nothing, and large ones are refused
	}
}

// side returns the side of an environment. A trip without one is no customer's and uses the
// sandbox.
func (s *Service) side(e domain.Environment) *side {
	if known, ok := s.sides[e]; ok {
		return known
	}
	return s.sides[domain.Sandbox]
}

// Ask asks about a trip, or fails at once while the service is gone. ask gets a context that
// ends with the timeout, and marks connection errors with Transport.
func (s *Service) Ask(ctx context.Context, trip domain.Trip, ask func(context.Context, *http.Client) error) error {
	side, business := s.side(trip.Environment), trip.BusinessID
	trip.BusinessID = "" // two businesses may ask about one trip
	return side.breaker.Do(Call{Caller: business, Question: trip}, func() (Evidence, error) {
		bounded, cancel := context.WithTimeout(ctx, s.timeout)
		defer cancel()
		leave, err := side.shares.enter(bounded, business)
		if err != nil {
			return None, err
		}
		defer leave()
		err = ask(bounded, side.client)
		return OfHTTP(ctx, err), err
	})
}

// Client returns a client for other requests than about a trip.
func (s *Service) Client() *http.Client { return s.sides[domain.Sandbox].client }

// Close closes the connections that are kept open. Requests in flight continue.
func (s *Service) Close() {
	for _, side := range s.sides {
		side.client.CloseIdleConnections()
	}
}

// shares limits the requests in flight of each business. A business without any takes no
// memory.
type shares struct {
	most int

	mu    sync.Mutex
	taken map[domain.ID]*share
}

type share struct {
	users  int // waiting ones included
	places chan struct{}
}

// enter waits for a slot of the business until ctx ends.
func (s *shares) enter(ctx context.Context, business domain.ID) (leave func(), err error) {
	s.mu.Lock()
	mine := s.taken[business]
	if mine == nil {
		mine = &share{places: make(chan struct{}, s.most)}
		if s.taken == nil {
			s.taken = map[domain.ID]*share{}
		}
		s.taken[business] = mine
	}
	mine.users++
	s.mu.Unlock()
	forget := func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if mine.users--; mine.users == 0 {
			delete(s.taken, business)
		}
	}
	select {
	case mine.places <- struct{}{}:
		return func() { <-mine.places; forget() }, nil
	case <-ctx.Done():
		forget()
		return nil, fmt.Errorf("%d questions of this business are under way, the most there may be: %w", s.most, context.Cause(ctx))
	}
}
