package redis_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"waybill/adapters/redis"
	"waybill/domain"
	"waybill/ports"
)

var (
	errGone       = errors.New("connection refused")
	guardedBucket = ports.Bucket{Scope: "key", Name: "a", Limit: domain.RateLimit{Limit: 5, Window: time.Minute}}
)

// counter is a limiter that returns its name as the scope of its answers.
type counter struct {
	name  string
	taken atomic.Int64
	asked atomic.Int64
	fails atomic.Bool
	hangs atomic.Bool

	slow atomic.Int64 // until it answers

	observe func(ports.Bucket, time.Duration, int64, int64)
}

func (c *counter) answer(ctx context.Context, taken int64) (ports.Allowance, error) {
	c.asked.Add(1)
	if c.hangs.Load() {
		<-ctx.Done()
		return ports.Allowance{}, ctx.Err()
	}
	if slow := time.Duration(c.slow.Load()); slow > 0 {
		select {
		case <-time.After(slow):
		case <-ctx.Done():
			return ports.Allowance{}, ctx.Err()
		}
	}
	c.taken.Add(taken) // a limiter that fails may have counted
	if c.fails.Load() {
		return ports.Allowance{}, errGone
	}
	return ports.Allowance{Admitted: true, Scope: c.name}, nil
}

func (c *counter) Observe(observe func(ports.Bucket, time.Duration, int64, int64)) {
	c.observe = observe
}

func (c *counter) Remember(_ ports.Bucket, _ time.Duration, count, _ int64) { c.taken.Store(count) }

func (c *counter) Take(ctx context.Context, _ ...ports.Bucket) (ports.Allowance, error) {
	return c.answer(ctx, 1)
}

func (c *counter) Peek(ctx context.Context, _ ...ports.Bucket) (ports.Allowance, error) {
	return c.answer(ctx, 0)
}

func (c *counter) GiveBack(ctx context.Context, _ ...ports.Bucket) error {
	_, err := c.answer(ctx, -1)
	return err
}

// scene is a guarded limiter in a synctest bubble, where the test controls time.
type scene struct {
	*testing.T
	*redis.GuardedLimiter
	shared, local *counter
	logged        bytes.Buffer
	registry      *prometheus.Registry
}

func play(t *testing.T, f func(s *scene)) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &scene{T: t, shared: &counter{name: "shared"}, local: &counter{name: "local"}, registry: prometheus.NewRegistry()}
		s.GuardedLimiter = redis.NewGuardedLimiter(s.shared, s.local, s.registry, slog.New(slog.NewTextHandler(&s.logged, nil)))
		f(s)
	})
}

// answers takes so many times and expects each answer from one limiter. Only the first few may
// wait.
func (s *scene) answers(from string, times int) {
	s.Helper()
	for range times {
		if a, err := s.Take(s.Context(), guardedBucket); err != nil || a.Scope != from {
			s.Fatalf("got %+v, %v, want the answer of the %s limiter", a, err, from)
		}
	}
}

func (s *scene) fallbacks() int {
	s.Helper()
	families, err := s.registry.Gather()
	if err != nil || len(families) != 1 || families[0].GetName() != "waybill_rate_limiter_fallbacks_total" {
		s.Fatalf("metrics %v, %v", families, err)
	}
	return int(families[0].GetMetric()[0].GetCounter().GetValue())
}

func (s *scene) lines() int { return strings.Count(s.logged.String(), "\n") }

func TestASharedLimiterThatAnswersIsTheOnlyOneAsked(t *testing.T) {
	play(t, func(s *scene) {
		s.answers("shared", 20)
		if err := s.GiveBack(s.Context(), guardedBucket); err != nil {
			s.Error(err)
		}
		if a, err := s.Peek(s.Context(), guardedBucket); err != nil || a.Scope != "shared" {
			s.Errorf("got %+v, %v", a, err)
		}
		if s.local.asked.Load() != 0 || s.shared.taken.Load() != 19 || s.fallbacks() != 0 || s.lines() != 0 {
			s.Errorf("local asked %d times, shared counts %d, %d fallbacks, logged %q", s.local.asked.Load(), s.shared.taken.Load(), s.fallbacks(),
				s.logged.String())
		}
	})
}

func TestAHangingLimiterCostsFiveRequests30MillisecondsAndOneLine(t *testing.T) {
	play(t, func(s *scene) {
		s.shared.hangs.Store(true)
		for range 5 {
			began := time.Now()
			s.answers("local", 1)
			if took := time.Since(began); took != 30*time.Millisecond {
				s.Errorf("answered after %v, want 30ms", took)
			}
		}
		began := time.Now()
		s.answers("local", 1000)
		if took := time.Since(began); took != 0 || s.shared.asked.Load() != 5 {
			s.Errorf("1000 more took %v and asked %d times, want none", took, s.shared.asked.Load()-5)
		}
		if s.fallbacks() != 1005 || s.lines() != 1 || !strings.Contains(s.logged.String(), "level=WARN") {
			s.Errorf("%d fallbacks, logged %q", s.fallbacks(), s.logged.String())
		}

		// One request a second tries again, which is not logged.
		for range 10 {
			time.Sleep(time.Second + time.Millisecond)
			s.answers("local", 100)
		}
		if s.shared.asked.Load() != 15 || s.lines() != 1 {
			s.Errorf("%d probes in 10 s, want 10; logged %q", s.shared.asked.Load()-5, s.logged.String())
		}

		s.shared.hangs.Store(false)
		s.answers("local", 1)
		time.Sleep(time.Second + time.Millisecond)
		s.answers("shared", 100)
		if s.lines() != 2 || !strings.Contains(s.logged.String(), "level=INFO") {
			s.Errorf("logged %q", s.logged.String())
		}
	})
}

func TestWhileAProbeIsUnderWayOthersAreCountedHereAtOnce(t *testing.T) {
	play(t, func(s *scene) {
		s.shared.hangs.Store(true)
		s.answers("local", 5)
		time.Sleep(time.Second + time.Millisecond)
		probe := make(chan struct{})
		go func() {
			defer close(probe)
			_, _ = s.Take(s.Context(), guardedBucket)
		}()
		synctest.Wait()
		began := time.Now()
		s.answers("local", 50)
		if time.Since(began) != 0 || s.shared.asked.Load() != 6 {
			s.Errorf("took %v, asked %d times", time.Since(began), s.shared.asked.Load())
		}
		<-probe
	})
}

func TestFourFailuresInARowAreForgotten(t *testing.T) {
	play(t, func(s *scene) {
		for range 10 {
			s.shared.fails.Store(true)
			s.answers("local", 4)
			s.shared.fails.Store(false)
			s.answers("shared", 1)
		}
		if s.lines() != 0 || s.fallbacks() != 40 {
			s.Errorf("%d fallbacks, logged %q", s.fallbacks(), s.logged.String())
		}
	})
}

func TestACallerThatGoesAwayIsAnsweredHereAndIsNoFailure(t *testing.T) {
	play(t, func(s *scene) {
		leave := func() {
			ctx, cancel := context.WithCancel(s.Context())
			time.AfterFunc(time.Millisecond, cancel)
			if a, err := s.Take(ctx, guardedBucket); err != nil || a.Scope != "local" {
				s.Fatalf("got %+v, %v", a, err)
			}
		}
		s.shared.hangs.Store(true)
		for range 20 {
			leave()
		}
		s.shared.hangs.Store(false)
		s.answers("shared", 1)

		// A probe whose caller left does not block the next one either.
		s.shared.fails.Store(true)
		s.answers("local", 5)
		time.Sleep(time.Second + time.Millisecond)
		s.shared.fails.Store(false)
		s.shared.hangs.Store(true)
		leave()
		s.shared.hangs.Store(false)
		s.answers("shared", 1)
	})
}

func TestAPeekAndAReturnFallBackTooAndOpenTheBreaker(t *testing.T) {
	play(t, func(s *scene) {
		s.shared.fails.Store(true)
		for range 3 {
			if a, err := s.Peek(s.Context(), guardedBucket); err != nil || a.Scope != "local" {
				s.Errorf("got %+v, %v", a, err)
			}
			if err := s.GiveBack(s.Context(), guardedBucket); err != nil {
				s.Error(err)
			}
		}
		if s.shared.asked.Load() != 5 || s.local.taken.Load() != -3 {
			s.Errorf("shared asked %d times, want 5; local counts %d, want -3", s.shared.asked.Load(), s.local.taken.Load())
		}
	})
}

func TestWhatIsGivenBackMovesOneCountByOne(t *testing.T) {
	play(t, func(s *scene) {
		s.shared.fails.Store(true)
		s.answers("local", 5) // and the shared one counted them before it failed
		s.shared.fails.Store(false)
		time.Sleep(time.Second + time.Millisecond)
		for range 5 {
			if err := s.GiveBack(s.Context(), guardedBucket); err != nil {
				s.Error(err)
			}
		}
		if shared, local := s.shared.taken.Load(), s.local.taken.Load(); shared != 0 || local != 5 {
			s.Errorf("shared counts %d, local %d, want each return in one place", shared, local)
		}
	})
}

func TestALimitThatNeitherCanCountIsAnError(t *testing.T) {
	play(t, func(s *scene) {
		s.shared.fails.Store(true)
		s.local.fails.Store(true)
		if a, err := s.Take(s.Context(), guardedBucket); !errors.Is(err, errGone) || a.Admitted {
			s.Errorf("got %+v, %v", a, err)
		}
	})
}

func TestWhatTheSharedLimiterTellsIsRemembered(t *testing.T) {
	play(t, func(s *scene) {
		s.shared.observe(guardedBucket, time.Second, 7, 3)
		if got := s.local.taken.Load(); got != 7 {
			s.Errorf("the local limiter goes on from %d, want 7", got)
		}
	})
}
