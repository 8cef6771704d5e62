package access

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"waybill/domain"
	"waybill/ports"
)

var (
	liveOfA    = holder{"app_a", domain.Live}
	sandboxOfA = holder{"app_a", domain.Sandbox}
	liveOfB    = holder{"app_b", domain.Live}
)

func TestAnApplicationHasNoMoreThanItsShareInFlight(t *testing.T) {
	t.Parallel()
	p := newPermits(MaxInFlight, 0)
	var wg sync.WaitGroup
	var entered atomic.Int32
	for range 2 * MaxInFlight {
		wg.Go(func() {
			if p.enter(t.Context(), liveOfA) {
				entered.Add(1)
			}
		})
	}
	wg.Wait()
	if got := entered.Load(); got != MaxInFlight {
		t.Errorf("%d entered, want %d", got, MaxInFlight)
	}
	for _, other := range []holder{liveOfB, sandboxOfA} {
		if !p.enter(t.Context(), other) {
			t.Errorf("%v was kept out", other)
		}
		p.leave(other)
	}
	p.leave(liveOfA)
	if !p.enter(t.Context(), liveOfA) || p.enter(t.Context(), liveOfA) {
		t.Error("one place was free, and one only")
	}
	for range MaxInFlight {
		p.leave(liveOfA)
	}
	if len(p.lines) != 0 {
		t.Errorf("applications without requests are remembered: %v", p.lines)
	}
}

func TestAFreePermitGoesToTheLongestWaiter(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPermits(2, time.Second)
		p.enter(t.Context(), liveOfA)
		p.enter(t.Context(), liveOfA)
		var order []int
		for i := range 3 {
			go func() {
				if p.enter(t.Context(), liveOfA) {
					order = append(order, i)
				}
			}()
			synctest.Wait()
		}
		p.leave(liveOfA)
		synctest.Wait()
		p.leave(liveOfA)
		synctest.Wait()
		if len(order) != 2 || order[0] != 0 || order[1] != 1 {
			t.Errorf("entered: %v, want the first two in their order", order)
		}
		if p.enter(withoutPatience(t), liveOfA) {
			t.Error("the permits that were handed over were given out again")
		}
		time.Sleep(time.Second) // the third gives up
		synctest.Wait()
		p.leave(liveOfA)
		p.leave(liveOfA)
		if len(order) != 2 || len(p.lines) != 0 {
			t.Errorf("entered: %v, remembered: %v", order, p.lines)
		}
	})
}

// withoutPatience is of a caller that has gone.
func withoutPatience(t *testing.T) context.Context {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx
}

// freeOfCharge is a limiter that a refused request is given back to.
type freeOfCharge struct {
	ports.RateLimiter
	givenBack atomic.Int64
}

func (f *freeOfCharge) GiveBack(context.Context, ...ports.Bucket) error {
	f.givenBack.Add(1)
	return nil
}

func TestOfTwentyFiveBulksFourAreAtWorkAndSixteenWaitTenSecondsInTheirOrder(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		limiter := &freeOfCharge{}
		a := NewAdmission(nil, limiter, nil, nil, Limits{})
		grant := func(application domain.ID, e domain.Environment) *Grant {
			g := &Grant{}
			g.Credential.Application.ID, g.Credential.Key.Environment = application, e
			return g
		}
		ours := grant("app_a", domain.Sandbox)
		var begun []int
		var late []time.Duration
		refused := 0
		var mu sync.Mutex // of these three: several bulks give up at the same moment
		ends := make([]func(), 25)
		for i := range ends {
			go func() {
				leave, err := a.EnterBulk(t.Context(), ours)
				if err != nil {
					wantCrowded(t, err, MaxBulks+MaxWaitingBulks)
					mu.Lock()
					defer mu.Unlock()
					refused++
					return
				}
				arrived := time.Now()
				done, err := a.AwaitBulkTurn(t.Context(), ours)
				if err != nil {
					wantCrowded(t, err, MaxBulks)
					mu.Lock()
					late = append(late, time.Since(arrived))
					mu.Unlock()
					leave()
					return
				}
				mu.Lock()
				defer mu.Unlock()
				begun = append(begun, i)
				ends[i] = func() { done(); leave(); synctest.Wait() }
			}()
			synctest.Wait()
		}
		want := []int{0, 1, 2, 3}
		if !slices.Equal(begun, want) || refused != 5 || limiter.givenBack.Load() != 5 {
			t.Fatalf("at work: %v; %d were refused, %d of them not counted", begun, refused, limiter.givenBack.Load())
		}
		for _, other := range []*Grant{grant("app_a", domain.Live), grant("app_b", domain.Sandbox)} {
			leave, err := a.EnterBulk(t.Context(), other)
			if err != nil {
				t.Fatal(err)
			}
			done, err := a.AwaitBulkTurn(t.Context(), other)
			if err != nil {
				t.Fatalf("a bulk of another environment or application waits: %v", err)
			}
			done()
			leave()
		}
		for range MaxInFlight {
			if _, err := a.Enter(t.Context(), ours); err != nil {
				t.Fatalf("bulks take the place of another request: %v", err)
			}
		}
		time.Sleep(9 * time.Second)
		ends[2]()
		ends[0]()
		if want = append(want, 4, 5); !slices.Equal(begun, want) {
			t.Errorf("begun: %v, want %v", begun, want)
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if len(late) != 14 || slices.Min(late) != BulkPatience || slices.Max(late) != BulkPatience || limiter.givenBack.Load() != 19 {
			t.Errorf("%d gave up after %v, %d were not counted", len(late), late, limiter.givenBack.Load())
		}
		for _, i := range []int{1, 3, 4, 5} {
			ends[i]()
		}
		if len(a.bulks.lines)+len(a.bulkTurns.lines) != 0 {
			t.Errorf("applications without bulks are remembered: %v, %v", a.bulks.lines, a.bulkTurns.lines)
		}
	})
}

func TestABulkWhoseCallerLeavesGivesItsTurnToTheNext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a, grant := NewAdmission(nil, &freeOfCharge{}, nil, nil, Limits{}), &Grant{}
		var first func()
		for range MaxBulks {
			done, err := a.AwaitBulkTurn(t.Context(), grant)
			if err != nil {
				t.Fatal(err)
			}
			first = done
		}
		ctx, leaves := context.WithCancel(t.Context())
		go func() {
			_, err := a.AwaitBulkTurn(ctx, grant)
			wantCrowded(t, err, MaxBulks)
		}()
		synctest.Wait()
		begun := false
		go func() {
			_, err := a.AwaitBulkTurn(t.Context(), grant)
			begun = err == nil
		}()
		synctest.Wait()
		leaves()
		synctest.Wait()
		first()
		synctest.Wait()
		if !begun {
			t.Error("the turn went to a caller that has left")
		}
	})
}

func wantCrowded(t *testing.T, err error, limit int) {
	t.Helper()
	var e *domain.Error
	if !errors.As(err, &e) || e.Code != domain.CodeRateLimitExceeded || e.Details["scope"] != "concurrency" || e.Details["limit"] != limit ||
		e.RetryAfter != time.Second {
		t.Errorf("refused with %+v", err)
	}
}
