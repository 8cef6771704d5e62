package admission

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"waybill/domain"
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

func TestNoCallerWaitsForAPermitForLongerThanItsPatience(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPermits(1, ListPatience)
		p.enter(t.Context(), sandboxOfA)
		begun := time.Now()
		if p.enter(t.Context(), sandboxOfA) || time.Since(begun) != ListPatience {
			t.Errorf("waited %v", time.Since(begun))
		}
		begun = time.Now()
		if p.enter(withoutPatience(t), sandboxOfA) || time.Since(begun) != 0 {
			t.Errorf("a caller that has gone waited %v", time.Since(begun))
		}
		if !p.enter(t.Context(), liveOfA) {
			t.Error("the other environment was kept out")
		}
	})
}

// withoutPatience is of a caller that has gone.
func withoutPatience(t *testing.T) context.Context {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx
}

func TestAnApplicationHasFourBulksInFlightBesideItsRequests(t *testing.T) {
	t.Parallel()
	a := &Admission{inFlight: newPermits(MaxInFlight, 0), bulks: newPermits(MaxBulks, 0)}
	grant := &Grant{}
	grant.Credential.Application.ID, grant.Credential.Key.Environment = "app_a", domain.Sandbox
	var leaves []func()
	for i := range 4 {
		leave, err := a.EnterBulk(t.Context(), grant)
		if err != nil {
			t.Fatalf("bulk %d: %v", i+1, err)
		}
		leaves = append(leaves, leave)
	}
	if a.bulks.enter(t.Context(), holder{"app_a", domain.Sandbox}) {
		t.Error("a fifth bulk began")
	}
	if !a.bulks.enter(t.Context(), holder{"app_a", domain.Live}) || !a.bulks.enter(t.Context(), holder{"app_b", domain.Sandbox}) {
		t.Error("a bulk of another environment or application was refused")
	}
	if _, err := a.Enter(t.Context(), grant); err != nil {
		t.Errorf("another request was refused: %v", err)
	}
	leaves[0]()
	if _, err := a.EnterBulk(t.Context(), grant); err != nil {
		t.Errorf("a bulk has ended, and the next one is refused: %v", err)
	}
}
