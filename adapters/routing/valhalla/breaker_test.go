package valhalla_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"waybill/adapters/routing/valhalla"
	"waybill/ports"
)

// service is an engine without a network, so that time can be the bubble's.
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

// inBubble runs a test on a client of an engine that answers well.
func inBubble(t *testing.T, f func(t *testing.T, s *service, c *valhalla.Client)) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &service{}
		s.will(200, good)
		f(t, s, ask(t, valhalla.Options{URL: "http://valhalla", HTTPClient: &http.Client{Transport: s}}))
	})
}

func fails(t *testing.T, c *valhalla.Client, times int) {
	t.Helper()
	for range times {
		requireFault(t, c)
	}
}

func works(t *testing.T, c *valhalla.Client) {
	t.Helper()
	if _, err := c.Distance(t.Context(), trip); err != nil {
		t.Fatal(err)
	}
}

func TestTheBreakerOpensAtTheFifthFailureInARowAndThenFailsAtOnce(t *testing.T) {
	inBubble(t, func(t *testing.T, s *service, c *valhalla.Client) {
		s.will(500, "")
		fails(t, c, 4)
		s.will(200, good)
		works(t, c) // four in a row do not open it, and a success starts the count anew
		s.hang.Store(true)
		began := time.Now()
		fails(t, c, 5)
		if took := time.Since(began); took != 5*time.Second || s.asked.Load() != 10 {
			t.Fatalf("asked %d times in %v, want 10 in 5s", s.asked.Load(), took)
		}
		began = time.Now()
		fails(t, c, 100)
		if s.asked.Load() != 10 || time.Since(began) != 0 {
			t.Errorf("asked %d times, want 10; the failures took %v", s.asked.Load(), time.Since(began))
		}
	})
}

func TestAnOpenBreakerLetsOneProbeThroughAfterFiveSeconds(t *testing.T) {
	inBubble(t, func(t *testing.T, s *service, c *valhalla.Client) {
		s.will(500, "")
		fails(t, c, 5)
		s.will(200, good)
		time.Sleep(5 * time.Second)
		fails(t, c, 1)
		if s.asked.Load() != 5 {
			t.Fatalf("asked %d times within the pause, want 5", s.asked.Load())
		}
		time.Sleep(time.Millisecond)

		s.hang.Store(true)
		probe := make(chan error)
		go func() {
			_, err := c.Distance(t.Context(), trip)
			probe <- err
		}()
		synctest.Wait()
		fails(t, c, 20) // the probe is under way
		if s.asked.Load() != 6 {
			t.Errorf("asked %d times while the probe was under way, want 6", s.asked.Load())
		}
		if err := <-probe; !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the probe answered %v", err)
		}
		fails(t, c, 3) // its failure opened the breaker again
		if s.asked.Load() != 6 {
			t.Errorf("asked %d times after the failed probe, want 6", s.asked.Load())
		}
		s.will(200, good)
		time.Sleep(5001 * time.Millisecond)
		for range 10 {
			works(t, c)
		}
	})
}

func TestNoWayIsNoFailure(t *testing.T) {
	inBubble(t, func(t *testing.T, s *service, c *valhalla.Client) {
		for _, code := range []string{"171", "442"} {
			s.will(500, "")
			fails(t, c, 4)
			s.will(400, `{"error_code":`+code+`}`)
			for range 50 {
				var outside *ports.OutsideServiceAreaError
				if _, err := c.Distance(t.Context(), trip); !errors.Is(err, ports.ErrNoRoute) && !errors.As(err, &outside) {
					t.Fatal(err)
				}
			}
			s.will(500, "")
			fails(t, c, 4)
			s.will(200, good)
			works(t, c)
		}
	})
}

func TestACallerWhoGoesAwayIsNoFailure(t *testing.T) {
	inBubble(t, func(t *testing.T, s *service, c *valhalla.Client) {
		leave := func() {
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(time.Second/2, cancel)
			if _, err := c.Distance(ctx, trip); !errors.Is(err, context.Canceled) {
				t.Fatalf("got %v", err)
			}
		}
		s.hang.Store(true)
		for range 20 {
			leave()
		}
		s.will(200, good)
		works(t, c)

		// Nor does a probe whose caller left keep the next one out.
		s.will(500, "")
		fails(t, c, 5)
		time.Sleep(5001 * time.Millisecond)
		s.hang.Store(true)
		leave()
		s.will(200, good)
		works(t, c)
	})
}
