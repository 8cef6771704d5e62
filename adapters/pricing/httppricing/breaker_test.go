package httppricing_test

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
	"waybill/adapters/pricing/httppricing"
	"waybill/domain"
	"waybill/ports"
)

// service is a pricing service without a network, so that time can be that of a synctest
// bubble.
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

// inBubble runs a test on a client of a working service.
func inBubble(t *testing.T, f func(t *testing.T, s *service, c *httppricing.Client)) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &service{}
		s.will(200, good)
		f(t, s, ask(t, httppricing.Options{URL: "http://pricing", HTTPClient: &http.Client{Transport: s}}))
	})
}

// tripOf returns one of many trips of a business.
func tripOf(business string, e domain.Environment, n int) domain.Trip {
	other := trip
	other.BusinessID, other.Environment, other.Dropoff.Latitude = domain.ID(business), e, 5+float64(n)/1000
	return other
}

// outage sends enough failing requests to open the breaker.
func outage(t *testing.T, c *httppricing.Client, e domain.Environment) (last error) {
	t.Helper()
	for i := range 6 {
		_, last = c.Price(t.Context(), tripOf(fmt.Sprint("biz_", i%2), e, i))
		if !domain.HasCode(last, domain.CodeQuoteUnavailable) {
			t.Fatalf("call %d: %v", i, last)
		}
	}
	return last
}

func works(t *testing.T, c *httppricing.Client, trip domain.Trip) {
	t.Helper()
	if _, err := c.Price(t.Context(), trip); err != nil {
		t.Fatal(err)
	}
}

func TestBadAnswersAreOfTheirTripAlone(t *testing.T) {
	inBubble(t, func(t *testing.T, s *service, c *httppricing.Client) {
		var asked int64
		for status, body := range map[int]string{
			400: "", 404: "", 429: "", 500: "", 503: "", 302: "", 200: "<html>", 422: `{"code":"TOO_HEAVY"}`,
			201: good, 403: strings.Repeat("x", 1<<20),
		} {
			s.will(status, body)
			for range 4 {
				outage(t, c, domain.Live)
				asked += 6
			}
		}
		s.will(200, good)
		works(t, c, trip)
		if got := s.asked.Load(); got != asked+1 {
			t.Errorf("the service was asked %d times, want %d: each trip for itself", got, asked+1)
		}
	})
}

func TestAServiceThatHangsCostsNothingSoonAndItsReturnIsNoticedWithinASecond(t *testing.T) {
	inBubble(t, func(t *testing.T, s *service, c *httppricing.Client) {
		s.hang.Store(true)
		outage(t, c, domain.Live)
		began := time.Now()
		for range 20 {
			outage(t, c, domain.Live)
		}
		if took := time.Since(began); took != 0 || s.asked.Load() != 5 {
			t.Errorf("120 trips took %v, and the service was asked %d times, want at once and 5", took, s.asked.Load())
		}
		// Trips go on to come, and some hang for their two seconds.
		for range 30 {
			time.Sleep(100 * time.Millisecond)
			go func() { _, _ = c.Price(t.Context(), trip) }()
		}
		synctest.Wait()
		s.will(200, good)
		back := time.Now()
		for {
			if _, err := c.Price(t.Context(), trip); err == nil {
				break
			}
			time.Sleep(10 * time.Millisecond)
		}
		if took := time.Since(back); took > time.Second {
			t.Errorf("noticed after %v", took)
		}
		for range 10 {
			works(t, c, trip)
		}
		time.Sleep(2 * time.Second) // those that hung have ended
		works(t, c, trip)
	})
}

func TestOneBusinessWhoseTripsHangHoldsUpNoOther(t *testing.T) {
	inBubble(t, func(t *testing.T, s *service, c *httppricing.Client) {
		s.hang.Store(true)
		for i := range 500 {
			go func() { _, _ = c.Price(t.Context(), tripOf("biz_greedy", domain.Live, i)) }()
		}
		synctest.Wait()
		s.will(200, good)
		began := time.Now()
		works(t, c, tripOf("biz_other", domain.Live, 1))
		if took := time.Since(began); took != 0 {
			t.Errorf("another business waited %v", took)
		}
		time.Sleep(5 * time.Second)
		works(t, c, tripOf("biz_other", domain.Live, 2))
	})
}

func TestWhatTheSandboxMeetsIsNotFeltOnLive(t *testing.T) {
	inBubble(t, func(t *testing.T, s *service, c *httppricing.Client) {
		s.hang.Store(true)
		if err := outage(t, c, domain.Sandbox); !errors.Is(err, circuitbreaker.ErrOpen) {
			t.Fatalf("the sandbox answers %v", err)
		}
		s.will(200, good)
		works(t, c, tripOf("biz_0", domain.Live, 1))
		time.Sleep(250 * time.Millisecond)
		works(t, c, tripOf("biz_0", domain.Sandbox, 1))
	})
}

func TestAPointOutsideTheAreaIsAnAnswer(t *testing.T) {
	inBubble(t, func(t *testing.T, s *service, c *httppricing.Client) {
		s.will(422, `{"code":"OUTSIDE_SERVICE_AREA","field":"pickup"}`)
		for range 50 {
			var outside *ports.OutsideServiceAreaError
			if _, err := c.Price(t.Context(), trip); !errors.As(err, &outside) {
				t.Fatal(err)
			}
		}
	})
}

func TestCallersThatGoAwayAreNoOutage(t *testing.T) {
	inBubble(t, func(t *testing.T, s *service, c *httppricing.Client) {
		s.hang.Store(true)
		for i := range 20 {
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(time.Second, cancel)
			if _, err := c.Price(ctx, tripOf(fmt.Sprint("biz_", i%2), domain.Live, i)); !domain.HasCode(err, domain.CodeQuoteUnavailable) ||
				!errors.Is(err, context.Canceled) {
				t.Fatalf("got %v", err)
			}
		}
		s.will(200, good)
		works(t, c, trip)
	})
}

func TestATimeOutOfTheServiceIsAFailureAfterTwoSeconds(t *testing.T) {
	inBubble(t, func(t *testing.T, s *service, c *httppricing.Client) {
		s.hang.Store(true)
		for range 5 {
			began := time.Now()
			requireFault(t, c)
			if took := time.Since(began); took != 2*time.Second {
				t.Errorf("given up after %v, want 2s", took)
			}
		}
	})
}

func TestOnlyAConnectionThatFailsShowsTheServiceGone(t *testing.T) {
	t.Parallel()
	head := "HTTP/1.1 200 OK\r\n"
	for name, c := range map[string]struct {
		fault func(net.Conn)
		gone  bool
	}{
		"resets":                  {func(c net.Conn) { readRequest(c); _ = c.(*net.TCPConn).SetLinger(0) }, true},
		"closes without a word":   {readRequest, true},
		"closes within the body":  {func(c net.Conn) { readRequest(c); _, _ = io.WriteString(c, head+"Content-Length: 9\r\n\r\nx") }, true},
		"speaks another protocol": {func(c net.Conn) { readRequest(c); _, _ = io.WriteString(c, "220 mail.example ESMTP\r\n") }, false},
		"answers half an object":  {func(c net.Conn) { readRequest(c); _, _ = io.WriteString(c, head+"Content-Length: 1\r\n\r\n{") }, false},
		"answers 500": {func(c net.Conn) {
			readRequest(c)
			_, _ = io.WriteString(c, "HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n")
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := outage(t, ask(t, httppricing.Options{URL: tcp(t, c.fault)}), domain.Live)
			if gone := errors.Is(err, circuitbreaker.ErrOpen); gone != c.gone {
				t.Errorf("taken for gone: %t, by %v", gone, err)
			}
		})
	}
	t.Run("nothing listens, and then it does", func(t *testing.T) {
		t.Parallel()
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		address := l.Addr().String()
		l.Close()
		c := ask(t, httppricing.Options{URL: "http://" + address})
		if err := outage(t, c, domain.Live); !errors.Is(err, circuitbreaker.ErrOpen) {
			t.Fatalf("not taken for gone: %v", err)
		}
		if l, err = net.Listen("tcp", address); err != nil {
			t.Skip("the port was taken meanwhile:", err)
		}
		s := &http.Server{Handler: answers(200, good)}
		served := make(chan struct{})
		go func() { defer close(served); _ = s.Serve(l) }()
		t.Cleanup(func() { s.Close(); <-served })
		back := time.Now()
		for {
			if _, err = c.Price(t.Context(), trip); err == nil {
				break
			}
			if time.Since(back) > time.Minute {
				t.Fatal("not noticed: ", err)
			}
			time.Sleep(5 * time.Millisecond) // the pace of the trips
		}
	})
}
