package httppricing

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"waybill/adapters/circuitbreaker"
	"waybill/domain"
	"waybill/ports"
)

var _ ports.Pricing = (*Client)(nil)

const (
	// DefaultTimeout limits how long one response may take.
	DefaultTimeout = 2 * time.Second
	// MaxTimeout is the longest setting. It keeps the promise of ports.Pricing to return within
	// 2.5 seconds.
	MaxTimeout = 2400 * time.Millisecond

	maxAnswer = 64 << 10
)

// Options configures a client.
type Options struct {
	URL      string        // such as http://pricing.internal:9000; /prices is added
	Timeout  time.Duration // zero: DefaultTimeout
	Currency string        // a response in another one is an error
	// Header adds headers that belong to the context of a request. It may be nil.
	Header func(context.Context, http.Header)
	// OnChange is called when an outage of the service begins or ends for an environment. It
	// may be nil.
	OnChange func(e domain.Environment, gone bool)
	// HTTPClient replaces the clients made here, for tests. Its redirect policy and its cookies
	// are not used.
	HTTPClient *http.Client
}

// Client sends requests to one pricing service.
type Client struct {
	endpoint string
	currency string
	header   func(context.Context, http.Header)
	service  *circuitbreaker.Service
}

// New checks the options. It does not connect yet.
func New(o Options) (*Client, error) {
	endpoint, err := pricesURL(o.URL)
	if err != nil {
		return nil, err
	}
	if o.Timeout == 0 {
		o.Timeout = DefaultTimeout
	}
	if o.Timeout < 0 || o.Timeout > MaxTimeout {
		return nil, fmt.Errorf("the time-out is %v; it may be up to %v", o.Timeout, MaxTimeout)
	}
	if o.Currency == "" {
		return nil, errors.New("no currency to ask for")
	}
	return &Client{
		endpoint: endpoint,
		currency: o.Currency,
		header:   o.Header,
		service: circuitbreaker.NewService(circuitbreaker.ServiceOptions{
			Timeout: o.Timeout, HTTPClient: o.HTTPClient, OnChange: o.OnChange,
		}),
	}, nil
}

func pricesURL(base string) (string, error) {
	u, err := url.Parse(base)
	if err != nil {
		// The cause repeats the URL, which may contain a password.
		return "", errors.New("the URL cannot be parsed")
	}
	switch {
	case u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return "", fmt.Errorf("%q is no URL of a service; write http://host:port", u.Redacted())
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return "", errors.New("the URL may have no user, query or fragment")
	}
	return strings.TrimRight(u.String(), "/") + "/prices", nil
}

// Price asks the service once. While the service is gone it fails at once.
func (c *Client) Price(ctx context.Context, trip domain.Trip) (domain.Quote, error) {
	body, err := json.Marshal(newQuestion(trip, c.currency))
	if err != nil {
		return domain.Quote{}, unavailable(err)
	}
	var quote domain.Quote
	err = c.service.Ask(ctx, trip, func(ctx context.Context, client *http.Client) (err error) {
		quote, err = c.ask(ctx, client, body)
		return err
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
	return domain.QuoteUnavailable(fmt.Errorf("ask for a price: %w", cause))
}

func (c *Client) ask(ctx context.Context, client *http.Client, body []byte) (domain.Quote, error) {
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
	// An empty value is not sent. It tells net/http that the request may be sent again if the
	// service had closed the kept connection.
	req.Header["Idempotency-Key"] = []string{}

	res, err := client.Do(req)
	if err != nil {
		return domain.Quote{}, circuitbreaker.Transport(err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK && res.StatusCode != http.StatusUnprocessableEntity {
		return domain.Quote{}, fmt.Errorf("the service answered %d", res.StatusCode)
	}
	answer, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer+1))
	if err != nil {
		return domain.Quote{}, circuitbreaker.Transport(err)
	}
	if len(answer) > maxAnswer {
		return domain.Quote{}, fmt.Errorf("the answer is over %d KiB", maxAnswer>>10)
	}
	if res.StatusCode == http.StatusUnprocessableEntity {
		return domain.Quote{}, readRefusal(answer)
	}
	return readQuote(answer, c.currency)
}

// Close closes the connections that are kept open. A Price in flight continues.
func (c *Client) Close() { c.service.Close() }
