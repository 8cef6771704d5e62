package memory

import (
	"context"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"

	"waybill/ports"
)

var _ ports.Queue = (*Queue)(nil)

const (
	// workers is how many handlers of a kind run at a time.
	workers = 8
	// maxWaiting limits the memory of a kind without a worker. Notifications beyond it are
	// dropped.
	maxWaiting = 100_000
	// handlerTimeout is when the context of a handler ends.
	handlerTimeout = time.Minute
)

// QueueOptions configures the queue of a process.
type QueueOptions struct {
	// Workers is how many handlers of a kind run at a time. The default is 8.
	Workers map[ports.JobKind]int
}

// Queue sends notifications within one process.
type Queue struct {
	options QueueOptions
	log     *slog.Logger

	mu    sync.Mutex
	kinds map[ports.JobKind]*backlog
}

// backlog holds the waiting IDs, each once, in the order of their first notification.
type backlog struct {
	waiting map[string]bool
	order   []string
	ready   *sync.Cond // an ID waits, or the workers have to end
}

// NewQueue returns an empty queue.
func NewQueue(o QueueOptions, log *slog.Logger) *Queue {
	return &Queue{options: o, log: log, kinds: map[ports.JobKind]*backlog{}}
}

// backlogOf returns the backlog of a kind. Call it with the lock held.
func (q *Queue) backlogOf(name ports.JobKind) *backlog {
	l := q.kinds[name]
	if l == nil {
		l = &backlog{waiting: map[string]bool{}, ready: sync.NewCond(&q.mu)}
		q.kinds[name] = l
	}
	return l
}

// Notify queues an ID. It never fails.
func (q *Queue) Notify(_ context.Context, name ports.JobKind, id string) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	l := q.backlogOf(name)
	if l.waiting[id] || len(l.order) >= maxWaiting {
		return nil
	}
	l.waiting[id] = true
	l.order = append(l.order, id)
	l.ready.Signal()
	return nil
}

// Run runs the handlers until ctx ends. It never fails.
func (q *Queue) Run(ctx context.Context, handlers map[ports.JobKind]ports.Handler) error {
	var running sync.WaitGroup
	for name, handle := range handlers {
		for range q.workers(name) {
			running.Go(func() { q.work(ctx, name, handle) })
		}
	}
	<-ctx.Done()
	q.endWaits()
	running.Wait()
	return nil
}

func (q *Queue) workers(name ports.JobKind) int {
	if n := q.options.Workers[name]; n > 0 {
		return n
	}
	return workers
}

// endWaits wakes the workers so that those whose context has ended return. A notification may
// have woken only such a worker; the others see its ID now.
func (q *Queue) endWaits() {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, l := range q.kinds {
		l.ready.Broadcast()
	}
}

func (q *Queue) work(ctx context.Context, name ports.JobKind, handle ports.Handler) {
	for {
		id, ok := q.next(ctx, name)
		if !ok {
			return
		}
		q.handle(ctx, name, handle, id)
	}
}

// next waits for an ID and removes it. A later notification for it counts as a new one.
func (q *Queue) next(ctx context.Context, name ports.JobKind) (id string, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	l := q.backlogOf(name)
	for len(l.order) == 0 && ctx.Err() == nil {
		l.ready.Wait()
	}
	if ctx.Err() != nil {
		return "", false
	}
	id, l.order = l.order[0], l.order[1:]
	delete(l.waiting, id)
	return id, true
}

// handle calls a handler. When ctx ends the handler may finish.
func (q *Queue) handle(ctx context.Context, name ports.JobKind, handle ports.Handler, id string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), handlerTimeout)
	defer cancel()
	defer func() {
		if why := recover(); why != nil {
			q.log.ErrorContext(ctx, "a queue handler panicked", "job", name, "id", id, "panic", why, "stack", string(debug.Stack()))
		}
	}()
	handle(ctx, id)
}
