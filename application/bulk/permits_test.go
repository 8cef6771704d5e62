package bulk

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"waybill/domain"
)

// queue holds the waiters for permits. Each keeps its permit until the test ends its transaction.
type queue struct {
	*permits
	mu   sync.Mutex
	got  []string // the names of the waiters that got a permit, in order
	done []func() // each ends one of their transactions
}

// wait adds a waiter of a business after all present ones.
func (q *queue) wait(ctx context.Context, t *testing.T, business, name string) {
	t.Helper()
	go func() {
		done, err := q.take(ctx, domain.ID(business))
		if err != nil {
			if ctx.Err() == nil {
				t.Errorf("%s: %v", name, err)
			}
			return
		}
		q.mu.Lock()
		defer q.mu.Unlock()
		q.got, q.done = append(q.got, name), append(q.done, done)
	}()
	synctest.Wait()
}

// end ends the oldest transaction.
func (q *queue) end() {
	q.mu.Lock()
	first := q.done[0]
	q.done = q.done[1:]
	q.mu.Unlock()
	first()
	synctest.Wait()
}

// endAll ends all transactions, and fails unless they leave every permit free and no line.
func (q *queue) endAll(t *testing.T, writers int) {
	t.Helper()
	for len(q.done) > 0 {
		q.end()
	}
	if q.free != writers || len(q.lines) != 0 || len(q.turns) != 0 {
		t.Errorf("%d of %d permits are free, %d businesses have a line, %d a turn", q.free, writers, len(q.lines), len(q.turns))
	}
}

func TestABusinessWaitsForOnePermitOfANeighbourWhoseBulksStandBeforeIt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := &queue{permits: newPermits(Throttle{Writers: 1})}
		q.wait(t.Context(), t, "a", "holder")
		for range 40 {
			q.wait(t.Context(), t, "a", "a")
		}
		q.wait(t.Context(), t, "b", "b")
		q.end()
		q.end()
		if want := []string{"holder", "a", "b"}; !slices.Equal(q.got, want) {
			t.Errorf("permits went to %q, want %q", q.got, want)
		}
		q.endAll(t, 1)
		if len(q.got) != 42 {
			t.Errorf("%d got a permit, want all 42", len(q.got))
		}
	})
}

func TestBusinessesGetPermitsInTurnAndEachItsBulksInTheirOrder(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := &queue{permits: newPermits(Throttle{Writers: 2})}
		for _, name := range []string{"a1", "a2", "a3", "a4", "a5", "b1", "b2", "c1"} {
			q.wait(t.Context(), t, name[:1], name)
		}
		q.end()
		q.wait(t.Context(), t, "c", "c2")
		q.endAll(t, 2)
		if want := []string{"a1", "a2", "a3", "b1", "c1", "a4", "b2", "c2", "a5"}; !slices.Equal(q.got, want) {
			t.Errorf("permits went to %q, want %q", q.got, want)
		}
	})
}

func TestOneThatLeavesGivesItsPlaceUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := &queue{permits: newPermits(Throttle{Writers: 1})}
		ctx, leave := context.WithCancel(t.Context())
		q.wait(t.Context(), t, "a", "a1")
		q.wait(ctx, t, "b", "b1") // the only one of its business
		q.wait(t.Context(), t, "c", "c1")
		q.wait(ctx, t, "c", "c2")
		q.wait(t.Context(), t, "c", "c3")
		leave()
		synctest.Wait()
		if len(q.lines) != 1 || len(q.turns) != 1 || len(q.lines["c"]) != 2 {
			t.Errorf("%v wait, their turns are %v, want two of c", q.lines, q.turns)
		}
		q.endAll(t, 1)
		if want := []string{"a1", "c1", "c3"}; !slices.Equal(q.got, want) {
			t.Errorf("permits went to %q, want %q", q.got, want)
		}
	})
}

// The permit may come in the moment in which its receiver leaves.
func TestOneThatLeavesWithAPermitPassesItOn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := &queue{permits: newPermits(Throttle{Writers: 1})}
		q.wait(t.Context(), t, "a", "a1")
		leaving := q.join("b")
		q.wait(t.Context(), t, "c", "c1")
		q.end()
		q.leave("b", leaving)
		synctest.Wait()
		if want := []string{"a1", "c1"}; !slices.Equal(q.got, want) {
			t.Errorf("permits went to %q, want %q", q.got, want)
		}
		q.endAll(t, 1)
	})
}
