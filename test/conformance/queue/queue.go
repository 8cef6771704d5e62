// Package queue is the exam of ports.Queue.
package queue

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"waybill/ports"
)

const (
	// notifiedWithin is how long the suite waits for what should take moments.
	notifiedWithin = 60 * time.Second
	// aMoment is how long it watches for what should never happen.
	aMoment = 100 * time.Millisecond
	// aFew bounds the runs that wait while others run for the same ID.
	aFew = 4
)

// Examine examines an adapter of ports.Queue. open returns two views of the same
// queue: those of two processes where the adapter joins processes, else twice
// the same. workers is how many handlers of a kind each Run runs at a time.
// Kinds have names of their own in every test, so that all queues may share one
// server.
//
// That an adapter may forget a notification is not used up here: nothing disturbs these
// notifications. What they may be lost to is the adapter's own test.
func Examine(t *testing.T, workers int, open func(t *testing.T) (one, other ports.Queue)) {
	for _, c := range []struct {
		name string
		run  func(q *queued)
	}{
		{"the ID of a notification reaches the handler as it is", (*queued).everyID},
		{"notifications before anyone runs are heard, once each", (*queued).beforeRun},
		{"notifications while handlers run for the ID are few", (*queued).fewWhileRunning},
		{"every notification while handlers run leads to another run", (*queued).notifyWhileRunning},
		{"no notification is forgotten however runs and notifications meet", (*queued).noneForgotten},
		{"a kind whose workers hang holds up no other", (*queued).hangingKind},
		{"a kind without a handler waits and delays no other", (*queued).unhandledKind},
		{"several runs share the work", (*queued).shared},
		{"a run that is stopped waits for its handlers, whom it does not disturb", (*queued).stopped},
		{"a run that is stopped starts no handler any more", (*queued).noneAfterStop},
		{"a run ends when its context does, and not before", (*queued).ends},
		{"a handler that panics harms nobody", (*queued).panics},
		{"of many at once every notification is heard", (*queued).many},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			one, other := open(t)
			c.run(&queued{T: t, views: []ports.Queue{one, other}, workers: workers, kind: newKind()})
		})
	}
}

type queued struct {
	*testing.T
	views   []ports.Queue
	workers int
	kind    ports.JobKind
}

func newKind() ports.JobKind { return ports.JobKind(fmt.Sprintf("exam-%x", rand.Uint64())) }

func (q *queued) notify(view int, id string) {
	q.Helper()
	q.notifyKind(view, q.kind, id)
}

func (q *queued) notifyKind(view int, kind ports.JobKind, id string) {
	q.Helper()
	if err := q.views[view].Notify(q.Context(), kind, id); err != nil {
		q.Errorf("notify of %q: %v", id, err)
	}
}

// start runs the kind with one handler; stop ends the run and waits for it.
func (q *queued) start(view int, handle ports.Handler) (stop func()) {
	return q.startKinds(view, map[ports.JobKind]ports.Handler{q.kind: handle})
}

func (q *queued) startKinds(view int, handlers map[ports.JobKind]ports.Handler) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- q.views[view].Run(ctx, handlers) }()
	stop = sync.OnceFunc(func() {
		cancel()
		select {
		case err := <-done:
			if err != nil {
				q.Errorf("Run: %v", err)
			}
		case <-time.After(notifiedWithin):
			q.Error("Run does not return")
		}
	})
	q.Cleanup(stop)
	return stop
}

func (q *queued) until(what string, holds func() bool) {
	q.Helper()
	for deadline := time.Now().Add(notifiedWithin); !holds(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			q.Fatalf("in vain waited until %s", what)
		}
	}
}

// runs counts the runs for each ID.
type runs struct {
	mu    sync.Mutex
	of    map[string]int
	begun int
}

func (r *runs) handle(_ context.Context, id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.of == nil {
		r.of = map[string]int{}
	}
	r.of[id]++
	r.begun++
}

func (r *runs) times(id string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.of[id]
}

func (r *runs) ids() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.of)
}

func (r *runs) all() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.begun
}

// gate is a handler that waits until it is opened, and counts. It has to be
// opened before the end of the test, which waits for it.
type gate struct {
	runs
	opened chan struct{}
	open   func()
	ended  atomic.Int64
}

func newGate() *gate {
	opened := make(chan struct{})
	return &gate{opened: opened, open: sync.OnceFunc(func() { close(opened) })}
}

func (g *gate) handle(ctx context.Context, id string) {
	g.runs.handle(ctx, id)
	<-g.opened
	g.ended.Add(1)
}

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

func (q *queued) hangingKind() {
	g := newGate()
	defer g.open()
	var heard runs
	other := newKind()
	q.startKinds(0, map[ports.JobKind]ports.Handler{q.kind: g.handle, other: heard.handle})
	for n := range 3 * q.workers {
		q.notify(0, fmt.Sprint(n))
	}
	q.until("all workers of a kind hang", func() bool { return g.all() == q.workers })
	for n := range 20 {
		id := fmt.Sprint("quick ", n)
		q.notifyKind(n%2, other, id)
		q.until("the other kind ran", func() bool { return heard.times(id) > 0 })
	}
	if n := g.all(); n != q.workers {
		q.Errorf("%d handlers of a kind run, want %d", n, q.workers)
	}
	if n := heard.all(); n != 20 {
		q.Errorf("the other kind ran %d times, want 20", n)
	}
}

func (q *queued) unhandledKind() {
	var heard runs
	q.start(0, heard.handle)
	nobodys := newKind()
	for n := range 50 {
		q.notifyKind(0, nobodys, "a")
		q.notify(0, fmt.Sprint(n))
	}
	for n := range 50 {
		q.until("it has run", func() bool { return heard.times(fmt.Sprint(n)) > 0 })
	}
	if heard.times("a") != 0 {
		q.Error("the notification of another kind was heard")
	}
}

func (q *queued) shared() {
	one, other := newGate(), newGate()
	defer one.open()
	defer other.open()
	q.start(0, one.handle)
	q.start(1, other.handle)
	for n := range 2 * q.workers {
		q.notify(n%2, fmt.Sprint(n))
	}
	q.until("all workers of both work", func() bool { return one.all()+other.all() == 2*q.workers })
}

func (q *queued) stopped() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	g := newGate()
	defer g.open()
	var disturbed, unbounded atomic.Int64
	done := make(chan struct{})
	go func() {
		defer close(done)
		err := q.views[0].Run(ctx, map[ports.JobKind]ports.Handler{q.kind: func(ctx context.Context, id string) {
			if end, ok := ctx.Deadline(); !ok || time.Until(end) > time.Minute {
				unbounded.Add(1)
			}
			g.handle(ctx, id)
			if ctx.Err() != nil {
				disturbed.Add(1)
			}
		}})
		if err != nil {
			q.Errorf("Run: %v", err)
		}
		if ended, begun := g.ended.Load(), int64(g.all()); ended != begun {
			q.Errorf("Run returned while %d of %d handlers ran", begun-ended, begun)
		}
	}()
	for n := range 3 * q.workers {
		q.notify(0, fmt.Sprint(n))
	}
	q.until("all workers are busy", func() bool { return g.all() == q.workers })
	cancel()
	select {
	case <-done:
		q.Error("Run did not wait")
	case <-time.After(aMoment):
	}
	g.open()
	select {
	case <-done:
	case <-time.After(notifiedWithin):
		q.Fatal("Run does not return")
	}
	if n := g.all(); n != q.workers {
		q.Errorf("%d handlers began after the context had ended", n-q.workers)
	}
	if n := disturbed.Load(); n > 0 {
		q.Errorf("the contexts of %d handlers ended with that of Run", n)
	}
	if n := unbounded.Load(); n > 0 {
		q.Errorf("the contexts of %d handlers do not end within a minute", n)
	}
}

func (q *queued) noneAfterStop() {
	var stopped atomic.Bool
	var first, second runs
	stop := q.start(0, func(ctx context.Context, id string) {
		if stopped.Load() {
			q.Error("a handler began after Run had returned")
		}
		first.handle(ctx, id)
	})
	for n := range 20 * q.workers {
		q.notify(0, fmt.Sprint("before ", n))
	}
	q.until("it works", func() bool { return first.all() > 0 })
	stop()
	stopped.Store(true)
	for n := range 20 {
		q.notify(n%2, fmt.Sprint("after ", n))
	}
	q.start(1, second.handle)
	for n := range 20 {
		q.until("another run has it", func() bool { return second.times(fmt.Sprint("after ", n)) > 0 })
	}
}

func (q *queued) ends() {
	for _, handlers := range []map[ports.JobKind]ports.Handler{nil, {q.kind: func(context.Context, string) {}}} {
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan error, 1)
		go func() { done <- q.views[0].Run(ctx, handlers) }()
		select {
		case err := <-done:
			q.Errorf("with %d handlers it returned %v before its context ended", len(handlers), err)
			done <- nil
		case <-time.After(aMoment):
		}
		cancel()
		select {
		case err := <-done:
			if err != nil {
				q.Errorf("with %d handlers: %v", len(handlers), err)
			}
		case <-time.After(notifiedWithin):
			q.Fatalf("with %d handlers it does not return", len(handlers))
		}
		// With a context that has ended it returns as well.
		if err := q.views[0].Run(ctx, handlers); err != nil {
			q.Errorf("with %d handlers: %v", len(handlers), err)
		}
	}
}

func (q *queued) panics() {
	g := newGate()
	defer g.open()
	var panicked runs
	stop := q.start(0, func(ctx context.Context, id string) {
		if strings.HasPrefix(id, "bad") {
			panicked.handle(ctx, id)
			panic("planned for the test: " + id)
		}
		g.handle(ctx, id)
	})
	for n := range 3 * q.workers {
		q.notify(n%2, fmt.Sprint("bad ", n))
	}
	q.until("all have panicked", func() bool { return panicked.all() >= 3*q.workers })
	for n := range q.workers {
		q.notify(n%2, fmt.Sprint("good ", n))
	}
	q.until("all workers work again", func() bool { return g.all() == q.workers })
	g.open()
	stop()
	if n := panicked.all(); n != 3*q.workers {
		q.Errorf("%d handlers that panic were called %d times", 3*q.workers, n)
	}
}

func (q *queued) many() {
	const ids, callers = 10_000, 8
	var heard runs
	q.start(0, heard.handle)
	var notifying sync.WaitGroup
	for caller := range callers {
		notifying.Go(func() {
			for n := caller; n < ids; n += callers {
				q.notify(n%2, fmt.Sprintf("dlv_%032x/%d", n, n%7))
			}
		})
	}
	notifying.Wait()
	q.until("all have run", func() bool { return heard.ids() == ids })
}
