package dispatch_test

import (
	"context"
	"runtime"
	"sync"
	"testing"
	"time"

	"waybill/domain"
	"waybill/ports"
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

func TestSendsOfBacklogsAreAsManyAsTheProcessorsWorkOn(t *testing.T) {
	t.Parallel()
	const endpoints, events, inFlight, brief = 12, 400, 16, 2 * time.Millisecond
	for name, c := range map[string]struct {
		takes time.Duration
		most  int // sends at a time
	}{
		"at once": {brief / 2, 4*runtime.GOMAXPROCS(0) + inFlight}, // the first has no contention yet
		"slowly":  {300 * time.Millisecond, endpoints * inFlight},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inWorld(t, func(t *testing.T, w *world) {
				var mu sync.Mutex
				var all, now, most int
				w.answer = func(ports.WebhookMessage) domain.WebhookResult {
					mu.Lock()
					defer mu.Unlock()
					now++
					if all++; all < endpoints*events/2 { // the last ones are no backlog
						most = max(most, now)
					}
					time.AfterFunc(c.takes-time.Microsecond, func() {
						mu.Lock()
						defer mu.Unlock()
						now--
					})
					return takes(c.takes)
				}
				defer w.running(t, 2*endpoints, true)()
				for n := range endpoints {
					e := w.addEndpoint(n + 1)
					w.addEvents(e, events)
					w.wake(t, e)
				}
				time.Sleep(time.Minute)
				w.wantArrived(t, endpoints*events)
				if most > c.most || most < c.most/3 {
					t.Errorf("%d were on their way at a time, want %d or a few less", most, c.most)
				}
			})
		})
	}
}

func TestBacklogsLeaveTheStoragePausesWhileOthersSend(t *testing.T) {
	t.Parallel()
	inWorld(t, func(t *testing.T, w *world) {
		const endpoints, events, call = 4, 5000, 20 * time.Millisecond
		w.around = func(_ context.Context, _ string, make func() error) error {
			time.Sleep(call)
			return make()
		}
		defer w.running(t, 2*endpoints, false)()
		for n := range endpoints {
			e := w.addEndpoint(n + 1)
			w.addEvents(e, events)
			w.wake(t, e)
		}
		time.Sleep(time.Second / 2)
		alone := w.recordedIn(time.Second)
		other := w.addEndpoint(endpoints + 1)
		for n := range 20 {
			w.add(other, n+1, 1)
			time.AfterFunc(time.Duration(n)*50*time.Millisecond, func() { w.wake(t, other) })
		}
		if beside := w.recordedIn(time.Second); beside > alone*37/100 || beside < alone*20/100 {
			t.Errorf("%d were recorded beside another one, %d without: want about a quarter", beside, alone)
		}
	})
}

// recordedIn is how many are recorded within a time.
func (w *world) recordedIn(d time.Duration) int {
	before := w.recorded()
	time.Sleep(d)
	return w.recorded() - before
}
