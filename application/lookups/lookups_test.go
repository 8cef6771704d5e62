package lookups_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"waybill/application/lookups"
)

// table knows the even numbers.
type table struct {
	takes time.Duration
	fails error

	mu    sync.Mutex
	asked [][]int
	at    []time.Time
	under atomic.Int64
	most  int64
}

func (t *table) find(ctx context.Context, of []int) (known []int, err error) {
	t.mu.Lock()
	t.asked, t.at = append(t.asked, of), append(t.at, time.Now())
	t.most = max(t.most, t.under.Add(1))
	t.mu.Unlock()
	defer t.under.Add(-1)
	select {
	case <-time.After(t.takes):
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	for _, n := range of {
		if n%2 == 0 {
			known = append(known, n)
		}
	}
	return known, t.fails
}

// play looks up all from from to to at once, and returns the longest duration.
func (t *table) play(test *testing.T, l *lookups.Lookups[int], from, to int) (slowest time.Duration) {
	begun := time.Now()
	var all sync.WaitGroup
	for n := from; n < to; n++ {
		all.Go(func() {
			if known, err := l.Exists(test.Context(), n); err != nil || known != (n%2 == 0) {
				test.Errorf("%d: %v, %v", n, known, err)
			}
		})
	}
	all.Wait()
	return time.Since(begun)
}

func TestConcurrentCallersShareOneLookUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var ta table
		l := lookups.New(1000, ta.find)
		if took := ta.play(t, l, 0, 1); took != 0 {
			t.Errorf("who asks alone waits %v", took)
		}
		if took := ta.play(t, l, 0, 900); took != 100*time.Millisecond || len(ta.asked) != 2 || len(ta.asked[1]) != 900 {
			t.Errorf("it took %v and %d questions", took, len(ta.asked))
		}
		if took := ta.play(t, l, 0, 5000); took != 500*time.Millisecond {
			t.Errorf("five thousand took %v", took)
		}
		for i := 1; i < len(ta.at); i++ {
			if apart := ta.at[i].Sub(ta.at[i-1]); apart < 100*time.Millisecond {
				t.Errorf("question %d came %v after the one before", i, apart)
			}
		}
		if most := slices.MaxFunc(ta.asked, func(a, b []int) int { return len(a) - len(b) }); len(most) > 1000 {
			t.Errorf("one question had %d", len(most))
		}
	})
}

func TestASlowTableIsAskedOneQuestionAtATimeAndTheCrowdIsBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ta := table{takes: time.Second}
		l := lookups.New(1000, ta.find)
		var all sync.WaitGroup
		var crowded atomic.Int64
		for n := range 30_000 {
			all.Go(func() {
				known, err := l.Exists(t.Context(), n)
				switch {
				case errors.Is(err, lookups.ErrCrowded):
					crowded.Add(1)
				case err != nil || known != (n%2 == 0):
					t.Errorf("%d: %v, %v", n, known, err)
				}
			})
		}
		all.Wait()
		if n := crowded.Load(); n < 8_000 || n > 10_000 {
			t.Errorf("%d of 30,000 were turned away, and 20 times 1,000 may wait", n)
		}
		if ta.most != 1 {
			t.Errorf("%d questions were under way at once", ta.most)
		}
		if took := ta.play(t, l, 0, 10); took > 2*time.Second {
			t.Errorf("afterwards it took %v", took)
		}
	})
}

func TestAFailureIsToldToAllAndForgotten(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ta := table{fails: errors.New("no answer")}
		l := lookups.New(1000, ta.find)
		var all sync.WaitGroup
		for n := range 10 {
			all.Go(func() {
				if _, err := l.Exists(t.Context(), n); !errors.Is(err, ta.fails) {
					t.Errorf("%d: %v", n, err)
				}
			})
		}
		all.Wait()
		ta.fails = nil
		ta.play(t, l, 0, 10)
		ta.takes = time.Hour
		begun := time.Now()
		if _, err := l.Exists(t.Context(), 2); !errors.Is(err, context.DeadlineExceeded) || time.Since(begun) > 2100*time.Millisecond {
			t.Errorf("a table that hangs: %v after %v", err, time.Since(begun))
		}
	})
}

func TestTheFirstMayLeaveAndTheOthersAreAnswered(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var ta table
		l := lookups.New(1000, ta.find)
		ta.play(t, l, 0, 1)
		ctx, leave := context.WithCancel(t.Context())
		var all sync.WaitGroup
		all.Go(func() { _, _ = l.Exists(ctx, 1) })
		synctest.Wait()
		all.Go(func() {
			if known, err := l.Exists(t.Context(), 2); !known || err != nil {
				t.Errorf("%v, %v", known, err)
			}
		})
		synctest.Wait()
		leave()
		all.Wait()
		gone, leave := context.WithCancel(t.Context())
		all.Go(func() { ta.play(t, l, 4, 5) })
		synctest.Wait()
		leave()
		if _, err := l.Exists(gone, 6); err != nil && !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		all.Wait()
	})
}

func TestNoCallerWaitsBeyondItsDeadline(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ta := table{takes: time.Hour} // a query ends after two seconds then
		l := lookups.New(1000, ta.find)
		var all sync.WaitGroup
		for n := range 100 {
			all.Go(func() {
				time.Sleep(time.Duration(n) * 110 * time.Millisecond)
				ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
				defer cancel()
				begun := time.Now()
				if _, err := l.Exists(ctx, n); err == nil || time.Since(begun) > 3*time.Second {
					t.Errorf("%d: %v after %v", n, err, time.Since(begun))
				}
			})
		}
		all.Wait()
		time.Sleep(time.Minute) // the queries end by themselves
	})
}

func TestAPanicIsAFailureForItsCallers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := lookups.New(1000, func(context.Context, []int) ([]int, error) { panic("no such table") })
		for n := range 3 {
			if _, err := l.Exists(t.Context(), n); err == nil || !strings.Contains(err.Error(), "no such table") {
				t.Errorf("%d: %v", n, err)
			}
		}
	})
}
