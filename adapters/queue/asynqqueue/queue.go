package asynqqueue

import (
	"cmp"
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

	"waybill/adapters/queue/memqueue"
	"waybill/ports"
)

var _ ports.Queue = (*Queue)(nil)

const (
	// workers is how many handlers of a kind one process runs at a time.
	workers = 8
	// pollEvery is how often a server asks that Redis does not let wait, unless an option says otherwise.
	// Asking takes 60 us of Redis and this process, and several times that where it wakes a core.
	pollEvery = 10 * time.Millisecond
	// asynqEvery is how long asynq waits after it was told that there is nothing, on average.
	asynqEvery = 2 * time.Millisecond
	// forwardEvery is how often asynq looks for tasks of processes that died: it takes them for dead after half a minute,
	// and what they were about is found in the storage long before. janitorEvery is how often it looks for
	// tasks that it was to keep after their end, of which there are none.
	forwardEvery = 20 * time.Second
	janitorEvery = 24 * time.Hour
	// notifyTimeout bounds a notification.
	notifyTimeout = time.Second
	// handlerTimeout is when the context of a handler ends, and giveUpAfter when
	// asynq takes the handler for lost and gives its task to another.
	handlerTimeout = time.Minute
	giveUpAfter    = 2 * handlerTimeout
	// requeueAfter is how long the end of Run waits for a handler until its
	// task is given to another process. Run goes on to wait.
	requeueAfter = 20 * time.Second

	// nameCount is how many names the tasks of an ID have. If none is free, there
	// are spareCount more for each of spareSeconds, which are more than the two
	// minutes for which the name of a task whose process died is taken: several
	// processes may all be at the same ID.
	nameCount    = 8
	spareCount   = 32
	spareSeconds = 128
)

// Options are what a process may choose.
type Options struct {
	// Workers is how many handlers of a kind run at a time, 8 where it is not
	// named.
	Workers map[ports.JobKind]int
	// PollEvery is how often a server asks that Redis does not let wait, every 10 ms where it is not named. What it asks for may
	// come as much later then.
	PollEvery map[ports.JobKind]time.Duration
}

// Queue notifies through one Redis.
type Queue struct {
	redis   redis.UniversalClient
	client  *asynq.Client
	here    *memqueue.Queue // for the handlers of this process while Redis cannot be used
	outage  outage
	waiting atomic.Pointer[map[ports.JobKind]*waiting] // the servers of this process; nil: none runs
	options Options
	log     *slog.Logger

	requeueAfter time.Duration
	netEvery     time.Duration
}

// New needs a client that obeys the deadlines of contexts and gives up on a
// Redis that hangs. It stays the caller's to close, after Run has returned.
func New(r redis.UniversalClient, o Options, log *slog.Logger) *Queue {
	return &Queue{
		redis: r, client: asynq.NewClientFromRedisClient(&announcer{UniversalClient: r}), options: o, log: log,
		here: memqueue.New(memqueue.Options{Workers: o.Workers}, log), outage: outage{log: log},
		requeueAfter: requeueAfter, netEvery: netEvery,
	}
}

// Notify runs a handler of this process where Redis cannot be used. It fails then in a process that
// has none for the kind.
func (q *Queue) Notify(ctx context.Context, kind ports.JobKind, id string) error {
	handled := q.server(kind) != nil
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

// notifyAll puts a job in Redis, for the handlers of all processes.
func (q *Queue) notifyAll(ctx context.Context, kind ports.JobKind, id string) error {
	ctx, cancel := context.WithTimeout(ctx, notifyTimeout)
	defer cancel()
	name := taskName(id, "0")
	for {
		_, err := q.client.EnqueueContext(ctx, asynq.NewTask(string(kind), []byte(id)),
			asynq.Queue(queueName(kind)), asynq.TaskID(name), asynq.MaxRetry(1), asynq.Timeout(giveUpAfter))
		if err == nil {
			return nil
		}
		waits := false
		if errors.Is(err, asynq.ErrTaskIDConflict) {
			name, waits, err = q.freeName(ctx, kind, id)
		}
		switch {
		case err != nil:
			return fmt.Errorf("put a job in the queue: %w", err)
		case waits:
			q.wakeOwn(kind)
			return nil
		}
	}
}

// wakeOwn wakes the server of this process where a task waits, though its connection may be silent. One of all
// servers was told, as one is of each task that is put there or refused.
func (q *Queue) wakeOwn(kind ports.JobKind) {
	if server := q.server(kind); server != nil {
		server.wake()
	}
}

// server returns how the server of a kind waits in this process, or nil where it has none.
func (q *Queue) server(kind ports.JobKind) *waiting {
	servers := q.waiting.Load()
	if servers == nil {
		return nil
	}
	return (*servers)[kind]
}

var errManyRuns = errors.New("more handlers run for the ID than there are names")

// freeName finds a name for another task of an ID, unless one waits.
func (q *Queue) freeName(ctx context.Context, kind ports.JobKind, id string) (name string, waits bool, err error) {
	second := "s" + strconv.FormatInt(time.Now().Unix()%spareSeconds, 10) + "."
	for _, of := range []struct {
		prefix string
		count  int
	}{{"", nameCount}, {second, spareCount}} {
		names := make([]string, of.count)
		for n := range names {
			names[n] = taskName(id, of.prefix+strconv.Itoa(n))
		}
		if name, waits, err = q.firstFree(ctx, kind, names); err != nil || waits || name != "" {
			return name, waits, err
		}
	}
	return "", false, errManyRuns
}

// firstFree is the first name that no task has, unless a task of one of them waits.
func (q *Queue) firstFree(ctx context.Context, kind ports.JobKind, names []string) (free string, waits bool, err error) {
	// The error of the whole is that of the first command; each has its own.
	states, _ := q.redis.Pipelined(ctx, func(p redis.Pipeliner) error {
		for _, name := range names {
			p.HGet(ctx, taskKey(kind, name), "state")
		}
		return nil
	})
	for i, s := range states {
		state, err := s.(*redis.StringCmd).Result()
		switch {
		case errors.Is(err, redis.Nil):
			if free == "" {
				free = names[i]
			}
		case err != nil:
			return "", false, err
		case state == "pending":
			return "", true, nil
		}
	}
	return free, false, nil
}

// queueName keeps apart what else may use the same Redis.
func queueName(kind ports.JobKind) string { return "waybill-" + string(kind) }

// queueKey is what the keys of a queue begin with.
func queueKey(kind ports.JobKind) string { return "asynq:{" + queueName(kind) + "}" }

func taskName(id, number string) string { return id + ":" + number }

// taskKey is where asynq keeps a task.
func taskKey(kind ports.JobKind, name string) string {
	return queueKey(kind) + ":t:" + name
}

// Run also goes on while Redis is away, with what this process notifies of, and takes what it was
// notified of by others when Redis is back.
func (q *Queue) Run(ctx context.Context, handlers map[ports.JobKind]ports.Handler) error {
	var running sync.WaitGroup // asynq stops waiting for what takes too long
	var servers []*asynq.Server
	idlers := make(map[ports.JobKind]*waiting, len(handlers))
	for kind := range handlers {
		idlers[kind] = &waiting{client: q.redis, queue: queueKey(kind), every: cmp.Or(q.options.PollEvery[kind], pollEvery),
			net: q.netEvery, stop: ctx.Done(), own: make(chan struct{}, 1)}
	}
	q.waiting.Store(&idlers)
	defer func() {
		var stopping sync.WaitGroup
		for _, s := range servers {
			stopping.Go(s.Shutdown)
		}
		stopping.Wait()
		running.Wait()
	}()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	running.Go(func() { _ = q.here.Run(ctx, handlers) }) // it never fails
	for kind, handle := range handlers {
		client := &patient{UniversalClient: q.redis, waiting: idlers[kind], outage: &q.outage}
		server := asynq.NewServerFromRedisClient(client, asynq.Config{
			Concurrency: q.workers(kind), Queues: map[string]int{queueName(kind): 1},
			TaskCheckInterval: asynqEvery, ShutdownTimeout: q.requeueAfter,
			DelayedTaskCheckInterval: forwardEvery, JanitorInterval: janitorEvery,
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
