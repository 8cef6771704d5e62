package httppricing_test

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

	"waybill/adapters/pricing/httppricing"
	"waybill/domain"
	"waybill/ports"
)

// service is a pricing service without a network, so that time can be the bubble's.
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

// inBubble runs a test on a client of a service that answers well.
func inBubble(t *testing.T, f func(t *testing.T, s *service, c *httppricing.Client)) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &service{}
		s.will(200, good)
		f(t, s, ask(t, httppricing.Options{URL: "http://pricing", HTTPClient: &http.Client{Transport: s}}))
	})
}

func fails(t *testing.T, c *httppricing.Client, times int) {
	t.Helper()
	for range times {
		requireFault(t, c, 2*time.Second)
	}
}

func works(t *testing.T, c *httppricing.Client) {
	t.Helper()
	if _, err := c.Price(t.Context(), trip); err != nil {
		t.Fatal(err)
	}
}

func TestTheBreakerOpensAtTheFifthFailureInARowAndThenFailsAtOnce(t *testing.T) {
	inBubble(t, func(t *testing.T, s *service, c *httppricing.Client) {
		s.will(500, "")
		fails(t, c, 4)
		s.will(200, good)
		works(t, c) // four in a row do not open it, and a success starts the count anew
		s.hang.Store(true)
		fails(t, c, 4)
		if s.asked.Load() != 9 {
			t.Fatalf("asked %d times, want 9", s.asked.Load())
		}
		fails(t, c, 1)
		began := time.Now()
		fails(t, c, 100)
		if s.asked.Load() != 10 || time.Since(began) != 0 {
			t.Errorf("asked %d times, want 10; the failures took %v", s.asked.Load(), time.Since(began))
		}
	})
}

func TestAnOpenBreakerLetsOneProbeThroughAfterFiveSeconds(t *testing.T) {
	inBubble(t, func(t *testing.T, s *service, c *httppricing.Client) {
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
			_, err := c.Price(t.Context(), trip)
			probe <- err
		}()
		synctest.Wait()
		fails(t, c, 20) // the probe is under way
		if s.asked.Load() != 6 {
			t.Errorf("asked %d times while the probe was under way, want 6", s.asked.Load())
		}
		if err := <-probe; !domain.HasCode(err, domain.CodeQuoteUnavailable) {
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

func TestAPointOutsideTheAreaIsNoFailure(t *testing.T) {
	inBubble(t, func(t *testing.T, s *service, c *httppricing.Client) {
		s.will(500, "")
		fails(t, c, 4)
		s.will(422, `{"code":"OUTSIDE_SERVICE_AREA","field":"pickup"}`)
		for range 50 {
			var outside *ports.OutsideServiceAreaError
			if _, err := c.Price(t.Context(), trip); !errors.As(err, &outside) {
				t.Fatal(err)
			}
		}
		s.will(500, "")
		fails(t, c, 4)
		s.will(200, good)
		works(t, c)
	})
}

func TestACallerWhoGoesAwayIsNoFailure(t *testing.T) {
	inBubble(t, func(t *testing.T, s *service, c *httppricing.Client) {
		leave := func() {
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(time.Second, cancel)
			if _, err := c.Price(ctx, trip); !domain.HasCode(err, domain.CodeQuoteUnavailable) || !errors.Is(err, context.Canceled) {
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

func TestATimeOutOfTheServiceIsAFailureAfterTwoSeconds(t *testing.T) {
	inBubble(t, func(t *testing.T, s *service, c *httppricing.Client) {
		s.hang.Store(true)
		for range 5 {
			began := time.Now()
			requireFault(t, c, 2*time.Second)
			if took := time.Since(began); took != 2*time.Second {
				t.Errorf("given up after %v, want 2s", took)
			}
		}
		requireFault(t, c, 0)
		if s.asked.Load() != 5 {
			t.Errorf("asked %d times, want 5", s.asked.Load())
		}
	})
}
