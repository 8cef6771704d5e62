package conformance

import (
	"context"
	"fmt"
	"math/rand/v2"
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

// ExamineQueue examines an adapter of ports.Queue. open returns two views of the same
// queue: those of two processes where the adapter joins processes, else twice
// the same. workers is how many handlers of a kind each Run runs at a time.
// Kinds have names of their own in every test, so that all queues may share one
// server.
//
// An adapter may forget notifications, but not here, where nothing disturbs them. Its
// own tests are about the faults that lose them.
func ExamineQueue(t *testing.T, workers int, open func(t *testing.T) (one, other ports.Queue)) {
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
		{"a run ends when its context does, and not before", (*queued).ends},
		{"a handler that panics harms nobody", (*queued).panics},
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
