package circuitbreaker

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"waybill/domain"
)

const testTimeout = 2 * time.Second

func tripOf(business domain.ID, e domain.Environment, n int) domain.Trip {
	return domain.Trip{BusinessID: business, Environment: e, Dropoff: domain.Coordinates{Latitude: float64(n)}}
}

// hangs is a request that gets no response.
func hangs(ctx context.Context, _ *http.Client) error {
	<-ctx.Done()
	return Transport(ctx.Err())
}

func answers(context.Context, *http.Client) error { return nil }

func TestOneBusinessUsesHalfTheConnectionsOfItsEnvironmentAndNoneOfTheOther(t *testing.T) {
	t.Parallel()
	const share, asked = 128, 400 // of 256 connections
	synctest.Test(t, func(t *testing.T) {
		s := NewService(ServiceOptions{Timeout: testTimeout})
		var under, refused atomic.Int32
		for i := range asked {
			go func() {
				err := s.Ask(t.Context(), tripOf("greedy", domain.Sandbox, i), func(ctx context.Context, c *http.Client) error {
					under.Add(1)
					defer under.Add(-1)
					return hangs(ctx, c)
				})
				if errors.Is(err, context.DeadlineExceeded) {
					refused.Add(1)
				}
			}()
		}
		synctest.Wait()
		if n := under.Load(); n != share {
			t.Errorf("%d questions of one business are under way, want %d", n, share)
		}
		began := time.Now()
		for _, trip := range []domain.Trip{tripOf("other", domain.Sandbox, 1), tripOf("greedy", domain.Live, 1),
			tripOf("other", domain.Live, 1)} {
			if err := s.Ask(t.Context(), trip, answers); err != nil || time.Since(began) > 0 {
				t.Errorf("%s on %s: %v after %v", trip.BusinessID, trip.Environment, err, time.Since(began))
			}
		}
		time.Sleep(testTimeout)
		synctest.Wait()
		if n := refused.Load(); n != asked {
			t.Errorf("%d questions ended after their time-out, want all %d", n, asked)
		}
		for e, side := range s.sides {
			if n := len(side.shares.taken); n != 0 {
				t.Errorf("%s remembers %d businesses without a question", e, n)
			}
		}
	})
}

func TestAnOutageAsTheSandboxSeesItIsNoneOnLive(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var told []string
		s := NewService(ServiceOptions{Timeout: testTimeout, OnChange: func(e domain.Environment, gone bool) {
			told = append(told, fmt.Sprint(e, " ", gone))
		}})
		for i := range 8 {
			_ = s.Ask(t.Context(), tripOf(domain.ID(fmt.Sprint("business ", i%2)), domain.Sandbox, i), hangs)
		}
		if err := s.Ask(t.Context(), tripOf("business 1", domain.Sandbox, 99), answers); !errors.Is(err, ErrOpen) {
			t.Errorf("the sandbox answers %v", err)
		}
		if err := s.Ask(t.Context(), tripOf("business 1", domain.Live, 99), answers); err != nil {
			t.Errorf("live answers %v", err)
		}
		if len(told) != 1 || told[0] != "sandbox true" {
			t.Errorf("told %v", told)
		}
	})
}

// Two businesses with one trip each are no outage, however often they ask.
func TestOneTripOfManyBusinessesIsNoOutage(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := NewService(ServiceOptions{Timeout: testTimeout})
		for i := range 20 {
			_ = s.Ask(t.Context(), tripOf(domain.ID(fmt.Sprint("business ", i)), domain.Live, 1), hangs)
		}
		if err := s.Ask(t.Context(), tripOf("business 3", domain.Live, 99), answers); err != nil {
			t.Errorf("live answers %v", err)
		}
	})
}
