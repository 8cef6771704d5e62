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

// The set-up of a service that is asked about trips.
const (
	// An outage is one of several trips of several businesses.
	outageTrips      = 3
	outageBusinesses = 2

	// idleConnections are kept open in each environment. Beyond four times as
	// many a question waits for one, so that a burst cannot take every file
	// descriptor of the process.
	idleConnections = 64
	mostConnections = 4 * idleConnections
	// mostPerBusiness is how many of them one business uses.
	mostPerBusiness = mostConnections / 2

	maxHeaders = 16 << 10
)

// ServiceOptions describe a service that is asked about trips over HTTP.
type ServiceOptions struct {
	// Timeout bounds each question, with the wait for a connection.
	Timeout time.Duration
	// HTTPClient replaces those made here, for tests. Its redirect policy and its
	// cookies are not used.
	HTTPClient *http.Client
	// OnChange hears of an outage of an environment, and of its end; nil: nothing
	// hears of it.
	OnChange func(e domain.Environment, gone bool)
}

// Service is asked about trips, of each environment over connections of its own
// and behind a breaker of its own.
type Service struct {
	timeout time.Duration
	sides   map[domain.Environment]*side
}

// side is the service as one environment sees it.
type side struct {
	client  *http.Client
	breaker *Breaker
	shares  shares
}

// NewService connects to nothing yet.
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
		DisableCompression:     true, // small answers gain nothing, and large ones are refused
	}
}

// side is the sandbox's for a trip of no environment: such a one is no customer's.
func (s *Service) side(e domain.Environment) *side {
	if known, ok := s.sides[e]; ok {
		return known
	}
	return s.sides[domain.Sandbox]
}

// Ask asks about a trip, or fails at once while the service is gone. ask gets a
// context that ends with the time-out, and marks errors of its connection by
// Transport.
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

// Client asks the service about something else than a trip.
func (s *Service) Client() *http.Client { return s.sides[domain.Sandbox].client }

// Close closes the connections that are kept open; questions under way go on.
func (s *Service) Close() {
	for _, side := range s.sides {
		side.client.CloseIdleConnections()
	}
}

// shares bound how many questions each business has under way. A business
// without any takes no memory.
type shares struct {
	most int

	mu    sync.Mutex
	taken map[domain.ID]*share
}

type share struct {
	users  int // with those that wait
	places chan struct{}
}

// enter waits for a place of the business until ctx ends.
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
