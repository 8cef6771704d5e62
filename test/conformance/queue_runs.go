package conformance

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"waybill/ports"
)

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
	unhandled := newKind()
	for n := range 50 {
		q.notifyKind(0, unhandled, "a")
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
