package redis

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hibiken/asynq"
	"github.com/redis/go-redis/v9"

	"waybill/adapters/memory"
	"waybill/ports"
)

var _ ports.Queue = (*Queue)(nil)

const (
	// workers is how many handlers of a kind one process runs at a time.
	workers = 8
	// checkEvery is how often an idle server polls, on average: a notification waits for half
	// of it. Three idle servers use about a hundredth of a core.
	checkEvery = 20 * time.Millisecond
	// notifyTimeout limits a notification.
	notifyTimeout = time.Second
	// handlerTimeout is when the context of a handler ends. giveUpAfter is when asynq treats
	// the handler as lost and gives its task to another.
	handlerTimeout = time.Minute
	giveUpAfter    = 2 * handlerTimeout
	// requeueAfter is how long the end of Run waits for a handler before its task goes to
	// another process. Run keeps waiting for the handler.
	requeueAfter = 20 * time.Second
	// closeWithin is how much longer the end of Run waits for asynq, whose subscription has no
	// timeout.
	closeWithin = 5 * time.Second

	// names limits the tasks of an ID: one that waits, and others that run or were left by
	// processes that died.
	names = 16
)

// QueueOptions configures the queue of a process.
type QueueOptions struct {
	// Workers is how many handlers of a kind run at a time. The default is 8.
	Workers map[ports.JobKind]int
}

// Queue sends notifications through one Redis.
type Queue struct {
	redis   redis.UniversalClient
	client  *asynq.Client
	here    *memory.Queue // for the handlers of this process while Redis is unusable
	outage  outage
	handled atomic.Pointer[map[ports.JobKind]ports.Handler] // of this process; nil: it runs none
	options QueueOptions
	log     *slog.Logger

	requeueAfter time.Duration
}

// NewQueue needs a client that keeps the deadlines of contexts and gives up on a Redis that
// hangs. The caller closes the client, after Run has returned.
func NewQueue(r redis.UniversalClient, o QueueOptions, log *slog.Logger) *Queue {
	return &Queue{
		redis: r, client: asynq.NewClientFromRedisClient(r), options: o, log: log,
		here: memory.NewQueue(memory.QueueOptions{Workers: o.Workers}, log), outage: outage{log: log}, requeueAfter: requeueAfter,
	}
}

// Notify announces a job to the handlers of all processes. While Redis is unusable it notifies
// a handler of this process, and fails if there is none for the kind.
func (q *Queue) Notify(ctx context.Context, kind ports.JobKind, id string) error {
	handled := q.handles(kind)
	if handled && q.outage.lasts() {
		return q.here.Notify(ctx, kind, id)
	}
	err := q.notifyAll(ctx, kind, id)
	if err == nil || errors.Is(err, context.Canceled) {
		return err
	}
	q.outage.noticed()
	if handled {
		return q.here.Notify(ctx, kind, id)
	}
	return err
}

// handles reports whether this process runs a handler of the kind.
func (q *Queue) handles(kind ports.JobKind) bool {
	handlers := q.handled.Load()
	return handlers != nil && (*handlers)[kind] != nil
}

var errManyRuns = errors.New("more handlers run for the ID than there are names")

// notifyAll puts a task in Redis, for the handlers of all processes. It uses the first free
// name, and adds nothing if a task of the ID waits.
func (q *Queue) notifyAll(ctx context.Context, kind ports.JobKind, id string) error {
	ctx, cancel := context.WithTimeout(ctx, notifyTimeout)
	defer cancel()
	inspector := asynq.NewInspectorFromRedisClient(q.redis)
	for n := range names {
		name := id + ":" + strconv.Itoa(n)
		_, err := q.client.EnqueueContext(ctx, asynq.NewTask(string(kind), []byte(id)),
			asynq.Queue(queueName(kind)), asynq.TaskID(name), asynq.MaxRetry(1), asynq.Timeout(giveUpAfter))
		if err == nil {
			return nil
		}
		if !errors.Is(err, asynq.ErrTaskIDConflict) {
			return fmt.Errorf("put a job in the queue: %w", err)
		}
		if task, err := inspector.GetTaskInfo(queueName(kind), name); err == nil && task.State == asynq.TaskStatePending {
			return nil
		}
	}
	return errManyRuns
}

// queueName adds a prefix, which separates the queue from other users of the same Redis.
func queueName(kind ports.JobKind) string { return "waybill-" + string(kind) }

// Run runs the handlers until ctx ends. While Redis is away it handles the notifications of
// this process. It takes those of other processes when Redis is back.
func (q *Queue) Run(ctx context.Context, handlers map[ports.JobKind]ports.Handler) error {
	var running sync.WaitGroup // asynq stops waiting for slow handlers
	var servers []*asynq.Server
	q.handled.Store(&handlers)
	defer func() {
		var stopping sync.WaitGroup
		for _, s := range servers {
			stopping.Go(s.Shutdown)
		}
		stopped := make(chan struct{})
		go func() { stopping.Wait(); close(stopped) }()
		select {
		case <-stopped:
		case <-time.After(q.requeueAfter + closeWithin):
			q.log.Warn("the queue did not end in time: Redis does not answer its subscription")
		}
		running.Wait()
	}()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	running.Go(func() { _ = q.here.Run(ctx, handlers) }) // it never fails
	for kind, handle := range handlers {
		client := &patient{UniversalClient: q.redis, outage: &q.outage, stop: ctx.Done()}
		server := asynq.NewServerFromRedisClient(client, asynq.Config{
			Concurrency: q.workers(kind), Queues: map[string]int{queueName(kind): 1},
			TaskCheckInterval: checkEvery, ShutdownTimeout: q.requeueAfter,
			// A task of a process that died is due now, and is no failure.
			RetryDelayFunc: func(int, error, *asynq.Task) time.Duration { return 0 },
			IsFailure:      func(error) bool { return false },
			// asynq's log adds nothing: patient reports its errors.
			LogLevel: asynq.FatalLevel,
		})
		err := server.Start(asynq.HandlerFunc(func(_ context.Context, t *asynq.Task) error {
			running.Add(1)
			defer running.Done()
			q.handle(ctx, kind, handle, string(t.Payload()))
			return nil
		}))
		if err != nil {
			return fmt.Errorf("start the queue %s: %w", kind, err)
		}
		servers = append(servers, server)
	}
	<-ctx.Done()
	return nil
}

func (q *Queue) workers(kind ports.JobKind) int {
	if n := q.options.Workers[kind]; n > 0 {
		return n
	}
	return workers
}

// handle calls a handler. When ctx ends the handler may finish.
func (q *Queue) handle(ctx context.Context, kind ports.JobKind, handle ports.Handler, id string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), handlerTimeout)
	defer cancel()
	defer func() {
		if why := recover(); why != nil {
			q.log.ErrorContext(ctx, "a queue handler panicked", "job", kind, "id", id, "panic", why, "stack", string(debug.Stack()))
		}
	}()
	handle(ctx, id)
}
