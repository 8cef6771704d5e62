package conformance

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

func (q *queued) everyID() {
	var heard runs
	q.start(0, heard.handle)
	ids := []string{
		"dlv_0123456789abcdef0123456789abcdef/1", "dlv_0123456789abcdef0123456789abcdef/10", "whe_0123456789abcdef0123456789abcdef",
		"a", "a:0", "a:0:0", "a b", "{a}", "a{b}c", "a\nb", "*", `"\`, "ä 配達", strings.Repeat("x", 512),
	}
	for round := 1; round <= 3; round++ {
		for i, id := range ids {
			q.notify(i%2, id)
		}
		for _, id := range ids {
			q.until(fmt.Sprintf("%q has run %d times", id, round), func() bool { return heard.times(id) >= round })
		}
	}
	if n := heard.ids(); n != len(ids) {
		q.Errorf("%d IDs were heard, want %d", n, len(ids))
	}
}

func (q *queued) beforeRun() {
	ids := []string{"a", "b", "c"}
	var notifying sync.WaitGroup
	for caller := range 8 {
		notifying.Go(func() {
			for n := range 300 {
				q.notify(caller%2, ids[n%len(ids)])
			}
		})
	}
	notifying.Wait()
	q.notify(0, "last") // runs after what waits: the queue is one
	var heard runs
	stop := q.start(1, heard.handle)
	for _, id := range append(ids, "last") {
		q.until(id+" has run", func() bool { return heard.times(id) > 0 })
	}
	stop()
	for _, id := range append(ids, "last") {
		if n := heard.times(id); n != 1 {
			q.Errorf("%q ran %d times, want once", id, n)
		}
	}
}

func (q *queued) fewWhileRunning() {
	g := newGate()
	stop := q.start(0, g.handle)
	defer g.open()
	q.notify(0, "busy")
	for n := 1; n < q.workers; n++ {
		q.notify(0, fmt.Sprint("other ", n))
	}
	q.until("all workers are busy", func() bool { return g.all() == q.workers })
	var notifying sync.WaitGroup
	for caller := range 4 {
		notifying.Go(func() {
			for range 100 {
				q.notify(caller%2, "busy")
			}
		})
	}
	notifying.Wait()
	q.notify(0, "last")
	g.open()
	q.until("the last has run", func() bool { return g.times("last") > 0 })
	stop()
	if n := g.times("busy") - 1; n < 1 || n > aFew {
		q.Errorf("400 notifications while it ran led to %d runs, want one or a few", n)
	}
}

func (q *queued) notifyWhileRunning() {
	g := newGate()
	q.start(0, g.handle)
	defer g.open()
	for n := 1; n <= q.workers; n++ {
		q.notify(n%2, "a")
		q.until(fmt.Sprintf("%d handlers run for it", n), func() bool { return g.times("a") == n })
	}
	q.notify(0, "a")
	g.open()
	q.until("one more has run for it", func() bool { return g.times("a") > q.workers })
}

func (q *queued) noneForgotten() {
	const ids, notifications = 4, 150
	var written, seen [ids]atomic.Int64
	handle := func(_ context.Context, id string) {
		var n int
		_, _ = fmt.Sscan(id, &n)
		now := written[n].Load()
		time.Sleep(rand.N(3 * time.Millisecond)) // the work
		for old := seen[n].Load(); old < now && !seen[n].CompareAndSwap(old, now); old = seen[n].Load() {
		}
	}
	q.start(0, handle)
	q.start(1, handle)
	for range 3 { // the end of each is where a lost notification shows
		var notifying sync.WaitGroup
		for caller := range 4 {
			notifying.Go(func() {
				for range notifications / 3 {
					n := rand.N(ids)
					written[n].Add(1)
					q.notify(caller%2, fmt.Sprint(n))
				}
			})
		}
		notifying.Wait()
		for n := range ids {
			q.until(fmt.Sprintf("what was written for %d last is seen", n), func() bool { return seen[n].Load() == written[n].Load() })
		}
	}
}
