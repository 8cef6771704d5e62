package httppricing

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/sony/gobreaker/v2"

	"waybill/domain"
	"waybill/ports"
)

var _ ports.Pricing = (*Client)(nil)

const (
	// DefaultTimeout is how long one answer may take.
	DefaultTimeout = 2 * time.Second
	// MaxTimeout is the longest setting; it keeps the promise of ports.Pricing
	// to answer within 2.5 seconds.
	MaxTimeout = 2400 * time.Millisecond

	maxAnswer  = 64 << 10
	maxHeaders = 16 << 10

	breakerFailures = 5 // in a row
	breakerPause    = 5 * time.Second

	// connections are kept open for as many requests at once. Beyond four
	// times as many a request waits for one, so that a burst cannot take every
	// file descriptor of the process.
	connections = 64
)

// Options say whom to ask.
type Options struct {
	URL      string        // such as http://pricing.internal:9000; /prices is added
	Timeout  time.Duration // zero: DefaultTimeout
	Currency string        // an answer in another one is a fault
	// Header adds to the headers of each request what belongs to its context;
	// nil: nothing.
	Header func(context.Context, http.Header)
	// HTTPClient replaces the one made here, for tests. Its redirect policy
	// and its cookies are not used.
	HTTPClient *http.Client
}

// Client asks one pricing service.
type Client struct {
	endpoint string
	currency string
	timeout  time.Duration
	header   func(context.Context, http.Header)
	http     *http.Client
	breaker  *gobreaker.CircuitBreaker[domain.Quote]
}

// New checks the options and connects to nothing yet.
func New(o Options) (*Client, error) {
	endpoint, err := pricesURL(o.URL)
	if err != nil {
		return nil, err
	}
	if o.Timeout == 0 {
		o.Timeout = DefaultTimeout
	}
	if o.Timeout < 0 || o.Timeout > MaxTimeout {
		return nil, fmt.Errorf("httppricing: the time-out is %v; it may be up to %v", o.Timeout, MaxTimeout)
	}
	if o.Currency == "" {
		return nil, errors.New("httppricing: no currency to ask for")
	}
	client := &http.Client{Transport: newTransport()}
	if o.HTTPClient != nil {
		*client = *o.HTTPClient
		client.Jar = nil
	}
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &Client{
		endpoint: endpoint,
		currency: o.Currency,
		timeout:  o.Timeout,
		header:   o.Header,
		http:     client,
		breaker:  newBreaker(),
	}, nil
}

func pricesURL(base string) (string, error) {
	u, err := url.Parse(base)
	if err != nil {
		// The cause repeats the URL, with the password somebody may have put there.
		return "", errors.New("httppricing: the URL cannot be parsed")
	}
	switch {
	case u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return "", fmt.Errorf("httppricing: %q is no URL of a service; write http://host:port", u.Redacted())
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return "", errors.New("httppricing: the URL may have no user, query or fragment")
	}
	return strings.TrimRight(u.String(), "/") + "/prices", nil
}

func newTransport() *http.Transport {
	return &http.Transport{
		Proxy:                  nil,
		DialContext:            (&net.Dialer{KeepAlive: 15 * time.Second}).DialContext,
		TLSClientConfig:        &tls.Config{MinVersion: tls.VersionTLS12},
		MaxIdleConns:           connections,
		MaxIdleConnsPerHost:    connections,
		MaxConnsPerHost:        4 * connections,
		IdleConnTimeout:        30 * time.Second,
		MaxResponseHeaderBytes: maxHeaders,
		DisableCompression:     true, // an answer is 200 bytes
	}
}

func newBreaker() *gobreaker.CircuitBreaker[domain.Quote] {
	return gobreaker.NewCircuitBreaker[domain.Quote](gobreaker.Settings{
		Name:        "pricing",
		MaxRequests: 1,
		Timeout:     breakerPause,
		ReadyToTrip: func(c gobreaker.Counts) bool { return c.ConsecutiveFailures >= breakerFailures },
		IsSuccessful: func(err error) bool {
			var outside *ports.OutsideServiceAreaError
			return err == nil || errors.As(err, &outside)
		},
		IsExcluded: func(err error) bool {
			var gone *callerGoneError
			return errors.As(err, &gone)
		},
	})
}

// callerGoneError tells the breaker that a failure says nothing about the service.
type callerGoneError struct{ cause error }

func (e *callerGoneError) Error() string { return "the caller went away: " + e.cause.Error() }
func (e *callerGoneError) Unwrap() error { return e.cause }

// Price asks the service once. While the breaker is open it fails at once.
func (c *Client) Price(ctx context.Context, trip domain.Trip) (domain.Quote, error) {
	body, err := json.Marshal(newQuestion(trip, c.currency))
	if err != nil {
		return domain.Quote{}, unavailable(err)
	}
	quote, err := c.breaker.Execute(func() (domain.Quote, error) {
		quote, err := c.ask(ctx, body)
		if err != nil && ctx.Err() != nil {
			return quote, &callerGoneError{err}
		}
		return quote, err
	})
	var outside *ports.OutsideServiceAreaError
	switch {
	case err == nil:
		return quote, nil
	case errors.As(err, &outside):
		return domain.Quote{}, outside
	}
	return domain.Quote{}, unavailable(err)
}

func unavailable(cause error) error {
	return domain.QuoteUnavailable(fmt.Errorf("httppricing: %w", cause))
}

func (c *Client) ask(ctx context.Context, body []byte) (domain.Quote, error) {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.endpoint, bytes.NewReader(body))
	if err != nil {
		return domain.Quote{}, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", "waybill")
	if c.header != nil {
		c.header(ctx, req.Header)
	}
	// Present and empty, it is not sent and tells net/http that the request may
	// go out again where the service had closed the kept connection.
	req.Header["Idempotency-Key"] = []string{}

	res, err := c.http.Do(req)
	if err != nil {
		return domain.Quote{}, err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK && res.StatusCode != http.StatusUnprocessableEntity {
		return domain.Quote{}, fmt.Errorf("the service answered %d", res.StatusCode)
	}
	answer, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer+1))
	if err != nil {
		return domain.Quote{}, err
	}
	if len(answer) > maxAnswer {
		return domain.Quote{}, fmt.Errorf("the answer is over %d KiB", maxAnswer>>10)
	}
	if res.StatusCode == http.StatusUnprocessableEntity {
		return domain.Quote{}, readRefusal(answer)
	}
	return readQuote(answer, c.currency)
}

// Close closes the connections that are kept open; a Price under way goes on.
func (c *Client) Close() { c.http.CloseIdleConnections() }
