package guarded_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/goleak"

	"waybill/adapters/ratelimit/guarded"
	"waybill/domain"
	"waybill/ports"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var (
	errGone = errors.New("connection refused")
	bucket  = ports.Bucket{Scope: "key", Name: "a", Limit: domain.RateLimit{Limit: 5, Window: time.Minute}}
)

// counter is a limiter that tells its name as the scope of its answers.
type counter struct {
	name   string
	taken  atomic.Int64
	asked  atomic.Int64
	fails  atomic.Bool
	hangs  atomic.Bool
	panics atomic.Bool

	beside atomic.Bool  // its failures are told by other calls too
	slow   atomic.Int64 // until it answers

	told  func(ports.Bucket, time.Duration, int64, int64)
	added atomic.Int64 // of a shared one
	owed  atomic.Int64 // of a local one
	ample atomic.Bool  // so has a local one
	due   atomic.Bool  // so finds a local one
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
	switch {
	case c.fails.Load() && c.beside.Load():
		return ports.Allowance{}, besideError{errGone}
	case c.fails.Load():
		return ports.Allowance{}, errGone
	}
	return ports.Allowance{Admitted: true, Scope: c.name}, nil
}

func (c *counter) Tell(told func(ports.Bucket, time.Duration, int64, int64)) { c.told = told }

func (c *counter) Add(ctx context.Context, _ ports.Bucket, n int, _ uint64) error {
	if c.panics.Load() {
		panic("a defect")
	}
	c.added.Add(int64(n))
	_, err := c.answer(ctx, int64(n))
	return err
}

func (c *counter) Remember(_ ports.Bucket, _ time.Duration, count, _ int64) { c.taken.Store(count) }
func (c *counter) Owed(ports.Bucket) (int, uint64)                          { return int(c.owed.Load()), 1 }
func (c *counter) Settle(_ ports.Bucket, n int)                             { c.owed.Add(int64(-n)) }

func (c *counter) TakeAmple(b ...ports.Bucket) (a ports.Allowance, due, begun []ports.Bucket, counted bool) {
	if !c.ample.Load() {
		return ports.Allowance{}, nil, nil, false
	}
	switch owed := c.owed.Add(1); {
	case c.due.Load():
		due = b
	case owed == 1:
		begun = b
	}
	return ports.Allowance{Admitted: true, Scope: "ample"}, due, begun, true
}

func (c *counter) GiveBackOwed(...ports.Bucket) bool {
	if c.owed.Load() == 0 {
		return false
	}
	c.owed.Add(-1)
	return true
}

type besideError struct{ error }

func (besideError) Beside() {}

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

// scene is a guarded limiter in a bubble, where time is the test's.
type scene struct {
	*testing.T
	*guarded.Limiter
	shared, local *counter
	logged        bytes.Buffer
	registry      *prometheus.Registry
}

func play(t *testing.T, f func(s *scene)) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &scene{T: t, shared: &counter{name: "shared"}, local: &counter{name: "local"}, registry: prometheus.NewRegistry()}
		s.Limiter = guarded.New(s.shared, s.local, s.registry, slog.New(slog.NewTextHandler(&s.logged, nil)))
		f(s)
	})
}

// answers asks so often and wants each answer from one limiter, without waiting
// more than in the first few.
func (s *scene) answers(from string, times int) {
	s.Helper()
	for range times {
		if a, err := s.Take(s.Context(), bucket); err != nil || a.Scope != from {
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
		if err := s.GiveBack(s.Context(), bucket); err != nil {
			s.Error(err)
		}
		if a, err := s.Peek(s.Context(), bucket); err != nil || a.Scope != "shared" {
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

		// One a second tries again, and that is no news.
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
			_, _ = s.Take(s.Context(), bucket)
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

func TestAFailureThatAnotherCallTellsOfIsNoOther(t *testing.T) {
	play(t, func(s *scene) {
		s.shared.fails.Store(true)
		s.shared.beside.Store(true)
		s.answers("local", 100)
		s.shared.fails.Store(false)
		s.answers("shared", 1)
		if s.fallbacks() != 100 || s.lines() != 0 {
			t.Errorf("%d fallbacks, want 100; logged %q", s.fallbacks(), s.logged.String())
		}
	})
}

func TestACallerThatGoesAwayIsAnsweredHereAndIsNoFailure(t *testing.T) {
	play(t, func(s *scene) {
		leave := func() {
			ctx, cancel := context.WithCancel(s.Context())
			time.AfterFunc(time.Millisecond, cancel)
			if a, err := s.Take(ctx, bucket); err != nil || a.Scope != "local" {
				s.Fatalf("got %+v, %v", a, err)
			}
		}
		s.shared.hangs.Store(true)
		for range 20 {
			leave()
		}
		s.shared.hangs.Store(false)
		s.answers("shared", 1)

		// Nor does a probe whose caller left keep the next one out.
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
			if a, err := s.Peek(s.Context(), bucket); err != nil || a.Scope != "local" {
				s.Errorf("got %+v, %v", a, err)
			}
			if err := s.GiveBack(s.Context(), bucket); err != nil {
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
			if err := s.GiveBack(s.Context(), bucket); err != nil {
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
		if a, err := s.Take(s.Context(), bucket); !errors.Is(err, errGone) || a.Admitted {
			s.Errorf("got %+v, %v", a, err)
		}
	})
}

func TestWhatTheSharedLimiterTellsIsRemembered(t *testing.T) {
	play(t, func(s *scene) {
		s.shared.told(bucket, time.Second, 7, 3)
		if got := s.local.taken.Load(); got != 7 {
			s.Errorf("the local limiter goes on from %d, want 7", got)
		}
	})
}

// However many come at once, what was counted here is told once, and before
// anything else is asked.
func TestWhatIsOwedIsToldOnceAndFirst(t *testing.T) {
	play(t, func(s *scene) {
		s.local.owed.Store(5)
		var all sync.WaitGroup
		for range 50 {
			all.Go(func() {
				if a, err := s.Take(s.Context(), bucket); err != nil || a.Scope != "shared" {
					s.Errorf("got %+v, %v", a, err)
				}
			})
		}
		all.Wait()
		if added, taken := s.shared.added.Load(), s.shared.taken.Load(); added != 5 || taken != 55 || s.fallbacks() != 0 {
			s.Errorf("%d were told, %d counted, %d fallbacks; want 5, 55 and none", added, taken, s.fallbacks())
		}
	})
}

func TestWhileWhatIsOwedCannotBeToldRequestsAreCountedHere(t *testing.T) {
	play(t, func(s *scene) {
		s.local.owed.Store(5)
		s.shared.hangs.Store(true)
		for range 3 {
			began := time.Now()
			s.answers("local", 1)
			if took := time.Since(began); took != 30*time.Millisecond {
				s.Errorf("answered after %v, want 30ms", took)
			}
		}
		if s.local.owed.Load() != 5 || s.shared.asked.Load() != 3 {
			s.Errorf("%d are owed, the shared limiter was asked %d times", s.local.owed.Load(), s.shared.asked.Load())
		}
		s.shared.hangs.Store(false)
		s.answers("shared", 1)
		if s.local.owed.Load() != 0 {
			s.Errorf("%d are owed still", s.local.owed.Load())
		}
	})
}

func TestAPanicWhileWhatIsOwedIsToldKeepsNoCallerWaiting(t *testing.T) {
	play(t, func(s *scene) {
		s.local.owed.Store(5)
		s.shared.panics.Store(true)
		func() {
			defer func() {
				if recover() == nil {
					s.Error("the panic was swallowed")
				}
			}()
			_, _ = s.Take(s.Context(), bucket)
		}()
		s.shared.panics.Store(false)
		s.answers("shared", 1)
		if owed := s.local.owed.Load(); owed != 0 {
			s.Errorf("%d are owed still", owed)
		}
	})
}
