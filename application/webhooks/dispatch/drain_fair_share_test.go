package dispatch_test

import (
	"context"
	"runtime"
	"sync"
	"testing"
	"time"

	"waybill/domain"
)

// crowd counts the calls of the storage that are under way, each of which takes
// as long.
type crowd struct {
	takes time.Duration
	mu    sync.Mutex
	now   map[string]int
	most  map[string]int
}

func (c *crowd) around(_ context.Context, call string, make func() error) error {
	c.mu.Lock()
	c.now[call]++
	c.most[call] = max(c.most[call], c.now[call])
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.now[call]--
	}()
	time.Sleep(c.takes)
	return make()
}

func (c *crowd) mostAtOnce(call string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.most[call]
}

func TestBacklogsShareTheStorageAndOthersNeedNotWait(t *testing.T) {
	t.Parallel()
	inWorld(t, func(t *testing.T, w *world) {
		const endpoints, events, call, begins = 12, 600, 20 * time.Millisecond, 500 * time.Millisecond
		c := &crowd{takes: call, now: map[string]int{}, most: map[string]int{}}
		w.around = c.around
		defer w.running(t, 2*endpoints, false)()
		for n := range endpoints {
			e := w.addEndpoint(n + 1)
			w.addEvents(e, events)
			w.wake(t, e)
		}
		time.Sleep(begins)
		if done := w.recorded(); done == 0 || done == endpoints*events {
			t.Fatalf("%d are recorded when the other one begins: there are no backlogs beside it", done)
		}
		first := len(w.sent())
		other := w.addEndpoint(endpoints + 1)
		row := w.add(other, 1, 1)
		w.wake(t, other)
		time.Sleep(4 * call)

		for _, s := range w.sent()[first:] {
			if s.event == w.row(row).EventID && s.at > begins+2*call {
				t.Errorf("who has one event waited %v, want a lease and a read, %v", s.at-begins, 2*call)
			}
		}
		if d := w.row(row); d.Status != domain.WebhookSucceeded {
			t.Errorf("after a lease, a read and a write it is %s", d.Status)
		}
		storagePermits := max(1, runtime.GOMAXPROCS(0)/2)
		if n := c.mostAtOnce("Record"); n > storagePermits+1 {
			t.Errorf("%d wrote at a time, want %d and the one without a backlog", n, storagePermits)
		}
		time.Sleep(time.Minute) // longer than the leases last: a drain that waits for a permit keeps its own
		w.wantArrived(t, endpoints*events+1)
		if n := w.count("Lease"); n != endpoints+1 {
			t.Errorf("%d leases, want one for each endpoint", n)
		}
		if logged := w.logged.String(); logged != "" {
			t.Errorf("logged %s", logged)
		}
	})
}
