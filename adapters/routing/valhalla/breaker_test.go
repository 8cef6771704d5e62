package valhalla_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"waybill/adapters/circuitbreaker"
	"waybill/adapters/routing/valhalla"
	"waybill/domain"
	"waybill/ports"
)

// service is an engine without a network, so that time can be that of a synctest bubble.
type service struct {
	asked  atomic.Int64
	status atomic.Int64
	body   atomic.Value
	hang   atomic.Bool
}

func (s *service) RoundTrip(r *http.Request) (*http.Response, error) {
	s.asked.Add(1)
	if s.hang.Load() {
		<-r.Context().Done()
		return nil, r.Context().Err()
	}
	return &http.Response{
		StatusCode: int(s.status.Load()), Header: http.Header{}, Request: r,
		Body: io.NopCloser(strings.NewReader(s.body.Load().(string))),
	}, nil
}

func (s *service) will(status int, body string) {
	s.hang.Store(false)
	s.status.Store(int64(status))
	s.body.Store(body)
}

// inBubble runs a test on a client of a working engine.
func inBubble(t *testing.T, f func(t *testing.T, s *service, c *valhalla.Client)) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &service{}
		s.will(200, good)
		f(t, s, ask(t, valhalla.Options{URL: "http://valhalla", HTTPClient: &http.Client{Transport: s}}))
	})
}

// outage sends enough failing requests to open the breaker.
func outage(t *testing.T, c *valhalla.Client, e domain.Environment) (last error) {
	t.Helper()
	for i := range 6 {
		other := trip
		other.BusinessID, other.Environment, other.Dropoff.Latitude = domain.ID(fmt.Sprint("biz_", i%2)), e, 5.6+float64(i)/1000
		if _, last = c.Distance(t.Context(), other); last == nil {
			t.Fatalf("call %d succeeds", i)
		}
	}
	return last
}

func works(t *testing.T, c *valhalla.Client, e domain.Environment) {
	t.Helper()
	other := trip
	other.Environment = e
	if _, err := c.Distance(t.Context(), other); err != nil {
		t.Fatal(err)
	}
}

func TestWhatTheEngineAnswersIsOfItsTripAlone(t *testing.T) {
	inBubble(t, func(t *testing.T, s *service, c *valhalla.Client) {
		for body, status := range map[string]int{
			"": 500, "<html>": 200, "busy": 503, `{"error_code":125}`: 400, `{"error_code":154}`: 400,
			`{"error_code":442}`: 400, `{"error_code":171}`: 400, good: 404,
		} {
			s.will(status, body)
			for range 4 {
				if err := outage(t, c, domain.Live); errors.Is(err, circuitbreaker.ErrOpen) {
					t.Fatalf("%d %s is taken for an outage", status, body)
				}
			}
		}
		s.will(200, good)
		works(t, c, domain.Live)
	})
}

// The engine's limit is its operator's: such a trip exists, and is not measured.
func TestATripThatTheEngineFindsTooLongHasAnEstimateAndIsNoFailure(t *testing.T) {
	inBubble(t, func(t *testing.T, s *service, c *valhalla.Client) {
		s.will(400, `{"error_code":154,"error":"Path distance exceeds the max distance limit: 500000 meters"}`)
		far := domain.Trip{
			Environment: domain.Live, VehicleType: domain.Car,
			Pickup: domain.Coordinates{Latitude: 5.6037, Longitude: -0.1870}, Dropoff: domain.Coordinates{Latitude: 10.7856, Longitude: -0.8514},
		}
		d, err := c.Distance(t.Context(), far)
		var tooLong *ports.TripTooLongError
		if !errors.As(err, &tooLong) || d != (domain.Distance{}) || errors.Is(err, ports.ErrNoRoute) {
			t.Fatalf("got %+v, %v", d, err)
		}
		// 580.8 km are between them.
		if e := tooLong.Distance; e.Source != domain.DistanceStraightLine || e.Kilometres < 754 || e.Kilometres > 757 {
			t.Errorf("the estimate is %+v, want 1.3 times the straight line", e)
		}
		if s.asked.Load() != 1 {
			t.Errorf("asked %d times", s.asked.Load())
		}
	})
}

func TestAnEngineThatHangsCostsNothingSoonAndOnlyItsEnvironment(t *testing.T) {
	inBubble(t, func(t *testing.T, s *service, c *valhalla.Client) {
		s.hang.Store(true)
		began := time.Now()
		if err := outage(t, c, domain.Sandbox); !errors.Is(err, circuitbreaker.ErrOpen) {
			t.Fatalf("not taken for gone: %v", err)
		}
		if took := time.Since(began); took != 5*time.Second || s.asked.Load() != 5 {
			t.Errorf("asked %d times in %v, want 5 in 5s", s.asked.Load(), took)
		}
		s.will(200, good)
		works(t, c, domain.Live)
		time.Sleep(250 * time.Millisecond)
		works(t, c, domain.Sandbox)
	})
}

func TestCallersThatGoAwayAreNoOutage(t *testing.T) {
	inBubble(t, func(t *testing.T, s *service, c *valhalla.Client) {
		s.hang.Store(true)
		for i := range 20 {
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(time.Second/2, cancel)
			other := trip
			other.BusinessID, other.Dropoff.Latitude = domain.ID(fmt.Sprint("biz_", i%2)), 5.6+float64(i)/1000
			if _, err := c.Distance(ctx, other); !errors.Is(err, context.Canceled) {
				t.Fatalf("got %v", err)
			}
		}
		s.will(200, good)
		works(t, c, domain.Live)
	})
}

func TestAnEngineThatIsNotThereIsTakenForGone(t *testing.T) {
	t.Parallel()
	for name, url := range map[string]string{
		"refuses": "http://127.0.0.1:1", "closes": tcp(t, readRequest),
		"closes within the body": tcp(t, func(c net.Conn) {
			readRequest(c)
			_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nx")
		}),
	} {
		if err := outage(t, ask(t, valhalla.Options{URL: url}), domain.Live); !errors.Is(err, circuitbreaker.ErrOpen) {
			t.Errorf("%s: not taken for gone: %v", name, err)
		}
	}
}
