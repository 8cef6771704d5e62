package dispatch_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"waybill/domain"
	"waybill/test/stage"
)

// worker is a process on the box of a world: its own queue, drainer and sweeper.
func (w *world) worker(t *testing.T, ids *stage.IDs) (stop func()) {
	queue := newQueue(8)
	view := &world{box: w.box.view(w.around), queue: queue, clock: w.clock, began: w.began, flying: map[string]int{}, most: map[string]int{}}
	d := view.drainerOver(view.box, w, ids)
	ctx, cancel := context.WithCancel(t.Context())
	var all sync.WaitGroup
	all.Go(func() { _ = queue.Run(ctx, d.Handlers()) })
	all.Go(func() { view.sweeper().Run(ctx) })
	all.Go(func() { d.Run(ctx) })
	return func() { cancel(); all.Wait() }
}

// sentBetween counts what was sent to an endpoint from one time to another.
func (w *world) sentBetween(url string, from, to time.Duration) (n int) {
	for _, s := range w.sent() {
		if s.url == url && s.at >= from && s.at < to {
			n++
		}
	}
	return n
}

func TestAPauseStopsEveryWorkerWithinTwoSecondsAndLosesNothing(t *testing.T) {
	t.Parallel()
	inWorld(t, func(t *testing.T, w *world) {
		sandbox, live := w.addEndpoint(1), w.addEndpoint(2)
		w.change(live, func(e *boxed) { e.Tenant.Environment = domain.Live })
		w.addEvents(sandbox, 4000)
		w.addEvents(live, 4000)
		w.always(takes(100 * time.Millisecond)) // 160 a second for each
		ids := &stage.IDs{}
		first, second := w.worker(t, ids), w.worker(t, ids)
		defer func() { second() }()

		time.Sleep(time.Second) // the slices of drains that began end at 5 s by themselves
		w.pause(domain.Sandbox, true)
		time.Sleep(9 * time.Second)
		first()
		restarted := w.worker(t, ids) // and one that begins while it is paused
		defer restarted()
		time.Sleep(10*time.Second + 500*time.Millisecond) // between two looks of the workers
		sandboxURL, liveURL := w.endpoint(sandbox).URL, w.endpoint(live).URL
		if n := w.sentBetween(sandboxURL, 3*time.Second, 20*time.Second); n > 0 {
			t.Errorf("%d webhooks were sent to the sandbox from 2 s after the pause on", n)
		}
		if before, during := w.sentBetween(liveURL, 0, time.Second), w.sentBetween(liveURL, 5*time.Second, 20*time.Second); before == 0 ||
			during < 2*before {
			t.Errorf("live sent %d in 1 s before the pause of the sandbox and %d in 15 s of it", before, during)
		}
		if d := w.endpoint(sandbox); len(d.pending) == 0 {
			t.Error("nothing waits")
		}
		w.pause(domain.Sandbox, false)
		time.Sleep(2 * time.Minute)
		w.wantArrived(t, 8000)
		if w.sentBetween(sandboxURL, 20*time.Second, 22*time.Second+500*time.Millisecond) == 0 {
			t.Error("nothing was sent within 2 s of the resuming")
		}
		if n := len(w.sent()); n != 8000 {
			t.Errorf("%d were sent, want each once", n)
		}
	})
}

func TestAWorkerThatWasCutOffHearsOfAPauseByItself(t *testing.T) {
	t.Parallel()
	inWorld(t, func(t *testing.T, w *world) {
		e := w.addEndpoint(1)
		w.addEvents(e, 2000)
		w.always(takes(100 * time.Millisecond))
		w.failing("Pauses", 2*time.Second, 10*time.Second)
		defer w.worker(t, &stage.IDs{})()
		time.Sleep(3 * time.Second)
		w.pause(domain.Sandbox, true) // not heard: but no drain begins, and the slice of the one that runs is over at 5 s
		time.Sleep(17 * time.Second)
		if n := w.sentBetween(w.endpoint(e).URL, 6*time.Second, 20*time.Second); n > 0 {
			t.Errorf("%d were sent", n)
		}
		w.pause(domain.Sandbox, false)
		time.Sleep(time.Minute)
		w.wantArrived(t, 2000)
	})
}

func TestAProcessLogsThatThePeoplesPauseBeginsAndEnds(t *testing.T) {
	t.Parallel()
	inWorld(t, func(t *testing.T, w *world) {
		d := w.drainer()
		ctx, cancel := context.WithCancel(t.Context())
		var all sync.WaitGroup
		all.Go(func() { d.Run(ctx) })
		w.pause(domain.Live, true)
		time.Sleep(3 * time.Second)
		w.pause(domain.Live, false)
		time.Sleep(3 * time.Second)
		cancel()
		all.Wait()
		if log := w.logged.String(); strings.Count(log, "people have paused the sending") != 1 ||
			strings.Count(log, "people have resumed the sending") != 1 {
			t.Error(log)
		}
	})
}
