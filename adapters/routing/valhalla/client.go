package valhalla

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

var _ ports.Routing = (*Client)(nil)

const (
	// DefaultTimeout limits how long one distance may take.
	DefaultTimeout = time.Second
	// MaxTimeout is the longest setting. It leaves a price, which has 2.5 seconds, enough time
	// to report the failure.
	MaxTimeout = 1900 * time.Millisecond

	maxAnswer = 1 << 20 // the line of a way across Ghana is some 100 KB
)

// Options configures a client.
type Options struct {
	URL     string        // such as http://valhalla.internal:8002; /route is added
	Timeout time.Duration // zero: DefaultTimeout
	// BikeCosting is the engine's costing for a bike: motor_scooter, motorcycle or bicycle.
	// Empty: motor_scooter.
	BikeCosting string
	// Header adds headers that belong to the context of each route request. It may be nil.
	Header func(context.Context, http.Header)
	// OnChange is called when an outage of the engine begins or ends for an environment. It may
	// be nil.
	OnChange func(e domain.Environment, gone bool)
	// HTTPClient replaces the clients made here, for tests. Its redirect policy and its cookies
	// are not used.
	HTTPClient *http.Client
}

// Client sends requests to one engine.
type Client struct {
	base     string
	costings map[domain.VehicleType]string
	timeout  time.Duration
	header   func(context.Context, http.Header)
	service  *circuitbreaker.Service
}

// New checks the options. It does not connect yet.
func New(o Options) (*Client, error) {
	base, err := baseURL(o.URL)
	if err != nil {
		return nil, err
	}
	if o.Timeout == 0 {
		o.Timeout = DefaultTimeout
	}
	if o.Timeout < 0 || o.Timeout > MaxTimeout {
		return nil, fmt.Errorf("the time-out is %v; it may be up to %v", o.Timeout, MaxTimeout)
	}
	costings, err := costingsOf(o.BikeCosting)
	if err != nil {
		return nil, err
	}
	return &Client{
		base: base, costings: costings, timeout: o.Timeout, header: o.Header,
		service: circuitbreaker.NewService(circuitbreaker.ServiceOptions{
			Timeout: o.Timeout, HTTPClient: o.HTTPClient, OnChange: o.OnChange,
		}),
	}, nil
}

func baseURL(text string) (string, error) {
	u, err := url.Parse(text)
	if err != nil {
		// The cause repeats the URL, which may contain a password.
		return "", errors.New("the URL cannot be parsed")
	}
	switch {
	case u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return "", fmt.Errorf("%q is no URL of an engine; write http://host:port", u.Redacted())
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return "", errors.New("the URL may have no user, query or fragment")
	}
	return strings.TrimRight(u.String(), "/"), nil
}

// costingsOf returns the table of the package comment.
func costingsOf(bike string) (map[domain.VehicleType]string, error) {
	switch bike {
	case "":
		bike = "motor_scooter"
	case "motor_scooter", "motorcycle", "bicycle":
	default:
		return nil, fmt.Errorf("a bike cannot be %q; it is motor_scooter, motorcycle or bicycle", bike)
	}
	return map[domain.VehicleType]string{
		domain.Bike: bike, domain.Car: "auto", domain.Van: "auto", domain.Truck: "truck",
	}, nil
}

// Distance returns the length of the fastest way by road, in kilometres to the metre. While the
// engine is gone it fails at once.
func (c *Client) Distance(ctx context.Context, trip domain.Trip) (domain.Distance, error) {
	costing, ok := c.costings[trip.VehicleType]
	if !ok {
		return domain.Distance{}, fmt.Errorf("no costing for a vehicle %q", trip.VehicleType)
	}
	body, err := json.Marshal(newQuestion(trip, costing))
	if err != nil {
		return domain.Distance{}, fmt.Errorf("ask the routing engine: %w", err) // coordinates that are not finite numbers
	}
	var distance domain.Distance
	err = c.service.Ask(ctx, trip, func(ctx context.Context, client *http.Client) (err error) {
		distance, err = c.measure(ctx, client, trip, costing, body)
		return err
	})
	if err != nil {
		return domain.Distance{}, fmt.Errorf("ask the routing engine: %w", err)
	}
	return distance, nil
}

// measure requests the way. If an end is off all roads, it finds out which one.
func (c *Client) measure(ctx context.Context, client *http.Client, trip domain.Trip, costing string, body []byte) (domain.Distance, error) {
	distance, err := c.ask(ctx, client, body)
	if err == nil {
		err = plausible(trip, distance.Kilometres)
	}
	switch {
	case err == nil:
		return distance, nil
	case errors.Is(err, errTooLong):
		return domain.Distance{}, &ports.TripTooLongError{Distance: estimate(trip)}
	case !errors.Is(err, errOffRoad):
		return domain.Distance{}, err
	}
	trip.Dropoff = trip.Pickup
	body, err = json.Marshal(newQuestion(trip, costing))
	if err != nil {
		return domain.Distance{}, err
	}
	_, err = c.ask(ctx, client, body)
	switch {
	case err == nil:
		return domain.Distance{}, &ports.OutsideServiceAreaError{End: "dropoff"}
	case errors.Is(err, errOffRoad):
		return domain.Distance{}, &ports.OutsideServiceAreaError{End: "pickup"}
	}
	return domain.Distance{}, err
}

func (c *Client) ask(ctx context.Context, client *http.Client, body []byte) (domain.Distance, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.base+"/route", bytes.NewReader(body))
	if err != nil {
		return domain.Distance{}, err
	}
	req.Header.Set("Content-Type", "application/json")
	// An empty value is not sent. It tells net/http that the request may be sent again if the
	// engine had closed the kept connection.
	req.Header["Idempotency-Key"] = []string{}
	if c.header != nil {
		c.header(ctx, req.Header)
	}
	status, answer, err := do(client, req)
	switch {
	case err != nil:
		return domain.Distance{}, err
	case status == http.StatusBadRequest:
		return domain.Distance{}, readRefusal(answer)
	case status != http.StatusOK:
		return domain.Distance{}, fmt.Errorf("the engine answered %d", status)
	}
	return readDistance(answer)
}

// Ping checks that the engine is there: GET /status.
func (c *Client) Ping(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.base+"/status", nil)
	if err != nil {
		return fmt.Errorf("ask the routing engine: %w", err)
	}
	status, answer, err := do(c.service.Client(), req)
	if err != nil {
		return fmt.Errorf("ask the routing engine: %w", err)
	}
	if status != http.StatusOK {
		return fmt.Errorf("the engine answered %d to GET /status", status)
	}
	return readStatus(answer)
}

func do(client *http.Client, req *http.Request) (status int, answer []byte, err error) {
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", "waybill")
	res, err := client.Do(req)
	if err != nil {
		return 0, nil, circuitbreaker.Transport(err)
	}
	defer res.Body.Close()
	answer, err = io.ReadAll(io.LimitReader(res.Body, maxAnswer+1))
	if err != nil {
		return 0, nil, circuitbreaker.Transport(err)
	}
	if len(answer) > maxAnswer {
		return 0, nil, fmt.Errorf("the answer is over %d KiB", maxAnswer>>10)
	}
	return res.StatusCode, answer, nil
}

// Close closes the connections that are kept open. A Distance in flight continues.
func (c *Client) Close() { c.service.Close() }
