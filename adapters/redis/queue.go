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
	// checkEvery is how often a server that found nothing asks again, on average: a notification
	// waits for half of it. Three servers that idle take about a hundredth of a core.
	checkEvery = 20 * time.Millisecond
	// notifyTimeout bounds a notification.
	notifyTimeout = time.Second
	// handlerTimeout is when the context of a handler ends, and giveUpAfter when
	// asynq takes the handler for lost and gives its task to another.
	handlerTimeout = time.Minute
	giveUpAfter    = 2 * handlerTimeout
	// requeueAfter is how long the end of Run waits for a handler until its
	// task is given to another process. Run goes on to wait.
	requeueAfter = 20 * time.Second
	// closeWithin is how long the end of Run waits for asynq besides, whose subscription has no
	// time-out of its own.
	closeWithin = 5 * time.Second

	// names is how many tasks there may be of an ID: one that waits, and others that run or that
	// processes left behind that died.
	names = 16
)

// QueueOptions are what a process may choose.
type QueueOptions struct {
	// Workers is how many handlers of a kind run at a time, 8 where it is not
	// named.
	Workers map[ports.JobKind]int
}

// Queue notifies through one Redis.
type Queue struct {
	redis   redis.UniversalClient
	client  *asynq.Client
	here    *memory.Queue // for the handlers of this process while Redis cannot be used
	outage  outage
	handled atomic.Pointer[map[ports.JobKind]ports.Handler] // by this process; nil: it runs none
	options QueueOptions
	log     *slog.Logger

	requeueAfter time.Duration
}

// New needs a client that obeys the deadlines of contexts and gives up on a
// Redis that hangs. It stays the caller's to close, after Run has returned.
func NewQueue(r redis.UniversalClient, o QueueOptions, log *slog.Logger) *Queue {
	return &Queue{
		redis: r, client: asynq.NewClientFromRedisClient(r), options: o, log: log,
		here: memory.NewQueue(memory.QueueOptions{Workers: o.Workers}, log), outage: outage{log: log}, requeueAfter: requeueAfter,
	}
}

// Notify runs a handler of this process where Redis cannot be used. It fails then in a process that
// has none for the kind.
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

// notifyAll puts a job in Redis, for the handlers of all processes: under the first name that no
// task has, unless one waits.
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

// queueName keeps apart what else may use the same Redis.
func queueName(kind ports.JobKind) string { return "waybill-" + string(kind) }

// Run also goes on while Redis is away, with what this process notifies of, and takes what it was
// notified of by others when Redis is back.
func (q *Queue) Run(ctx context.Context, handlers map[ports.JobKind]ports.Handler) error {
	var running sync.WaitGroup // asynq stops waiting for what takes too long
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
			// A task of a process that died is for now, and no failure.
			RetryDelayFunc: func(int, error, *asynq.Task) time.Duration { return 0 },
			IsFailure:      func(error) bool { return false },
			// Nothing of what asynq tells is news: see patient.
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

// handle calls a handler, which is let finish when ctx ends.
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
