package waybillapi

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Client calls the API on one host with one key. Make it with New.
type Client struct {
	base    *url.URL
	key     string
	agent   string
	http    *http.Client
	retries Retries
}

// Option settles something of a Client.
type Option func(*Client) error

// New makes a client. The base URL and the API key have to be among the options.
func New(options ...Option) (*Client, error) {
	c := &Client{agent: "waybill-go/1.0", retries: DefaultRetries()}
	for _, option := range options {
		if err := option(c); err != nil {
			return nil, err
		}
	}
	if c.base == nil {
		return nil, errors.New("waybillapi: there is no base URL; pass WithBaseURL")
	}
	if c.key == "" {
		return nil, errors.New("waybillapi: there is no API key; pass WithAPIKey")
	}
	if c.http == nil {
		// Fetching webhooks waits 20 s, and a bulk takes its time.
		c.http = &http.Client{Timeout: 90 * time.Second}
	}
	if c.http.CheckRedirect == nil {
		// Following a redirect would make a GET of a POST, and a success of what changed nothing.
		own := *c.http
		own.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
		c.http = &own
	}
	return c, nil
}

// WithBaseURL sets the host and the version, such as http://127.0.0.1:8081/v1.
// The host decides between live and sandbox.
func WithBaseURL(base string) Option {
	return func(c *Client) error {
		parsed, err := url.Parse(strings.TrimRight(base, "/"))
		if err != nil {
			return fmt.Errorf("waybillapi: the base URL: %w", err)
		}
		if parsed.Scheme != "https" && parsed.Scheme != "http" || parsed.Host == "" || parsed.RawQuery != "" || parsed.Fragment != "" {
			return fmt.Errorf("waybillapi: the base URL %q is not of the form https://host/v1", base)
		}
		c.base = parsed
		return nil
	}
}

// WithAPIKey sets the key, svc_live_key_... or svc_test_key_....
func WithAPIKey(key string) Option {
	return func(c *Client) error {
		if strings.ContainsAny(key, " \t\r\n") {
			return errors.New("waybillapi: the API key has a space or a line break in it; trim what it was read from")
		}
		c.key = key
		return nil
	}
}

// WithHTTPClient sends by this client in place of one with a time-out of 90 s. A redirect is an
// Error, unless the client has a CheckRedirect of its own.
func WithHTTPClient(client *http.Client) Option {
	return func(c *Client) error {
		c.http = client
		return nil
	}
}

// WithUserAgent names the program that calls, before the name of this package.
func WithUserAgent(name string) Option {
	return func(c *Client) error {
		c.agent = name + " " + c.agent
		return nil
	}
}

// WithRetries says how often and how long a call is tried; NoRetries has it sent
// once.
func WithRetries(retries Retries) Option {
	return func(c *Client) error {
		c.retries = retries
		return nil
	}
}

// CallOption settles something of one call.
type CallOption func(*sending)

// WithIdempotencyKey names a write that accepts a key and is no create. A create
// takes its key as an argument, which wins.
func WithIdempotencyKey(key string) CallOption {
	return func(s *sending) {
		if s.keyed == optional {
			s.key = key
		}
	}
}

// WithRequestID sends an ID that comes back with the answer and stands in the
// logs of the service. It is the same on every try.
func WithRequestID(id string) CallOption {
	return func(s *sending) { s.header.Set("X-Request-ID", id) }
}

// WithCallRetries has this call tried by rules of its own.
func WithCallRetries(retries Retries) CallOption {
	return func(s *sending) { s.retries = retries }
}

// WithIfNoneMatch makes a read fail with ErrNotModified while the answer is the
// one that had this ETag.
func WithIfNoneMatch(etag string) CallOption {
	return func(s *sending) { s.header.Set("If-None-Match", etag) }
}

// WithSandboxError has the sandbox answer with this error in place of acting;
// the live host ignores it.
func WithSandboxError(code ErrorCode) CallOption {
	return func(s *sending) { s.header.Set("X-Sandbox-Error", string(code)) }
}

// WithAnswer fills answer with what came beside the data, of the last try.
func WithAnswer(answer *Answer) CallOption {
	return func(s *sending) { s.answer = answer }
}

// Answer is the part of an answer beside its data.
type Answer struct {
	StatusCode int
	Message    string
	RequestID  string
	ETag       string
	Replayed   bool // the stored answer of an earlier call with the same key
	Tries      int  // how often the call was sent
	Header     http.Header
}
