package memory

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"waybill/ports"
	"waybill/test/conformance"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var silent = slog.New(slog.DiscardHandler)

func TestConformance(t *testing.T) {
	t.Parallel()
	conformance.ExamineQueue(t, workers, func(*testing.T) (one, other ports.Queue) {
		q := NewQueue(QueueOptions{}, silent)
		return q, q
	})
}

// run runs the handlers until the test ends or stop is called.
func run(t *testing.T, q *Queue, handlers map[ports.JobKind]ports.Handler) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { _ = q.Run(ctx, handlers) })
	stop = sync.OnceFunc(func() {
		cancel()
		running.Wait()
	})
	t.Cleanup(stop)
	return stop
}

func until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); !holds(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("in vain waited until %s", what)
		}
	}
}

func TestAKindHasTheWorkersThatItsOptionNames(t *testing.T) {
	t.Parallel()
	q := NewQueue(QueueOptions{Workers: map[ports.JobKind]int{"few": 2, "many": 20}}, silent)
	opened := make(chan struct{})
	defer close(opened)
	handlers := map[ports.JobKind]ports.Handler{}
	begun := map[ports.JobKind]*atomic.Int64{"few": {}, "many": {}, "unnamed": {}}
	for backlog, n := range begun {
		handlers[backlog] = func(context.Context, string) {
			n.Add(1)
			<-opened
		}
	}
	run(t, q, handlers)
	for backlog := range handlers {
		for n := range 50 {
			_ = q.Notify(t.Context(), backlog, fmt.Sprint(n))
		}
	}
	want := map[ports.JobKind]int64{"few": 2, "many": 20, "unnamed": workers}
	for backlog, n := range begun {
		until(t, "all workers are busy", func() bool { return n.Load() >= want[backlog] })
	}
	<-time.After(20 * time.Millisecond) // in which one too many would begin
	for backlog, n := range begun {
		if n := n.Load(); n != want[backlog] {
			t.Errorf("%d handlers of %s run, want %d", n, backlog, want[backlog])
		}
	}
}

func TestWhatWaitsIsBoundedAndTheQueueWorksAgainWhenItHasRun(t *testing.T) {
	t.Parallel()
	q := NewQueue(QueueOptions{}, silent)
	for n := range maxWaiting + 1000 {
		_ = q.Notify(t.Context(), "a", fmt.Sprint(n))
	}
	if l := q.kinds["a"]; len(l.order) != maxWaiting || len(l.waiting) != maxWaiting {
		t.Fatalf("%d and %d wait, want %d", len(l.order), len(l.waiting), maxWaiting)
	}
	var heard atomic.Int64
	run(t, q, map[ports.JobKind]ports.Handler{"a": func(context.Context, string) { heard.Add(1) }})
	until(t, "all have run", func() bool { return heard.Load() == maxWaiting })
	_ = q.Notify(t.Context(), "a", "what was lost")
	until(t, "it is heard again", func() bool { return heard.Load() == maxWaiting+1 })
}

func TestANotificationThatWakesAWorkerThatLeavesIsHeardByAnother(t *testing.T) {
	t.Parallel()
	q := NewQueue(QueueOptions{}, silent)
	var heard atomic.Int64
	handlers := map[ports.JobKind]ports.Handler{"a": func(context.Context, string) { heard.Add(1) }}
	for round := range int64(500) {
		// The longest waiter wakes first, and that is often one that leaves.
		leave := run(t, q, handlers)
		stay := run(t, q, handlers)
		var both sync.WaitGroup
		both.Go(leave)
		both.Go(func() { _ = q.Notify(t.Context(), "a", "x") })
		both.Wait()
		until(t, "it is heard", func() bool { return heard.Load() == round+1 })
		stay()
	}
}

func TestAPanicIsLoggedWithWhereItWas(t *testing.T) {
	t.Parallel()
	var logged bytes.Buffer
	q := NewQueue(QueueOptions{}, slog.New(slog.NewTextHandler(&logged, nil)))
	ran := make(chan struct{})
	stop := run(t, q, map[ports.JobKind]ports.Handler{"a": func(context.Context, string) {
		defer close(ran)
		panic("planned for the test")
	}})
	_ = q.Notify(t.Context(), "a", "x/1")
	<-ran
	stop()
	for _, part := range []string{"level=ERROR", "job=a", "id=x/1", "planned for the test", "queue_test.go"} {
		if !strings.Contains(logged.String(), part) {
			t.Errorf("logged %q, which lacks %q", logged.String(), part)
		}
	}
}

func BenchmarkNotifyAndRun(b *testing.B) {
	q := NewQueue(QueueOptions{}, silent)
	ctx, cancel := context.WithCancel(b.Context())
	defer cancel()
	var heard sync.WaitGroup
	go func() {
		_ = q.Run(ctx, map[ports.JobKind]ports.Handler{"a": func(context.Context, string) { heard.Done() }})
	}()
	for n := range b.N {
		heard.Add(1)
		_ = q.Notify(ctx, "a", fmt.Sprint(n))
		if n%1000 == 999 {
			heard.Wait()
		}
	}
	heard.Wait()
}
