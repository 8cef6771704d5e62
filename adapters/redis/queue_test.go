package redis

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"
	"go.uber.org/goleak"

	"waybill/ports"
	"waybill/test/backend"
	"waybill/test/conformance"
)

func TestMain(m *testing.M) {
	goredis.SetLogger(noLog{}) // it would log every server that a test ends
	// The pool of a client that is closed while Redis is gone checks once more, a second later.
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/redis/go-redis/v9/internal/pool.(*ConnPool).tryDial"))
}

type noLog struct{}

func (noLog) Printf(context.Context, string, ...any) {}

// connect opens a client as in production.
func connect(t testing.TB, url string) *goredis.Client {
	t.Helper()
	return backend.ConnectRedis(t, url, func(o *goredis.Options) {
		o.ReadTimeout, o.WriteTimeout, o.PoolSize = 500*time.Millisecond, 500*time.Millisecond, 32
	})
}

var silent = slog.New(slog.DiscardHandler)

func open(t testing.TB, url string) *Queue { return NewQueue(connect(t, url), QueueOptions{}, silent) }

// run runs the handler of a kind until the test ends or stop is called.
func run(t testing.TB, q *Queue, kind ports.JobKind, handle ports.Handler) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		if err := q.Run(ctx, map[ports.JobKind]ports.Handler{kind: handle}); err != nil {
			t.Errorf("Run: %v", err)
		}
	})
	stop = sync.OnceFunc(func() {
		cancel()
		running.Wait()
	})
	t.Cleanup(stop)
	return stop
}

func until(t testing.TB, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !holds(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("in vain waited until %s", what)
		}
	}
}

func notify(t testing.TB, q *Queue, kind ports.JobKind, id string) {
	t.Helper()
	if err := q.Notify(t.Context(), kind, id); err != nil {
		t.Fatalf("notify of %q: %v", id, err)
	}
}

func TestConformance(t *testing.T) {
	t.Parallel()
	url := backend.RedisURL(t)
	conformance.ExamineQueue(t, workers, func(t *testing.T) (one, other ports.Queue) {
		return openTidy(t, url), openTidy(t, url)
	})
}

// tidy removes at the end of the test what asynq stores of its queues: counters, which it keeps
// longer than a shared server should.
type tidy struct {
	*Queue
	kinds sync.Map
}

func openTidy(t testing.TB, url string) *tidy {
	client := connect(t, url)
	q := &tidy{Queue: NewQueue(client, QueueOptions{}, silent)}
	t.Cleanup(func() {
		ctx := context.Background()
		for kind := range q.kinds.Range {
			queue := queueName(kind.(ports.JobKind))
			client.SRem(ctx, "asynq:queues", queue)
			for found := client.Scan(ctx, 0, "asynq:{"+queue+"}:*", 1000).Iterator(); found.Next(ctx); {
				client.Del(ctx, found.Val())
			}
		}
	})
	return q
}

func (q *tidy) Notify(ctx context.Context, kind ports.JobKind, id string) error {
	q.kinds.Store(kind, true)
	return q.Queue.Notify(ctx, kind, id)
}

func TestAKindHasTheWorkersThatItsOptionNames(t *testing.T) {
	t.Parallel()
	q := NewQueue(connect(t, backend.OwnRedis(t).URL), QueueOptions{Workers: map[ports.JobKind]int{"few": 2, "many": 20}}, silent)
	for kind, want := range map[ports.JobKind]int64{"few": 2, "many": 20, "unnamed": workers} {
		opened := make(chan struct{})
		release := sync.OnceFunc(func() { close(opened) })
		defer release()
		var begun atomic.Int64
		stop := run(t, q, kind, func(context.Context, string) {
			begun.Add(1)
			<-opened
		})
		for n := range 30 {
			notify(t, q, kind, fmt.Sprint(n))
		}
		until(t, "all workers are busy", func() bool { return begun.Load() >= want })
		<-time.After(5 * checkEvery) // in which one too many would begin
		if n := begun.Load(); n != want {
			t.Errorf("%d handlers of %s run, want %d", n, kind, want)
		}
		release()
		stop()
	}
}

// Waiting work is one task for each ID, so that a kind without a worker does not grow with
// every notification. Finished work leaves nothing but counters.
func TestRedisKeepsOneTaskForWhatWaitsAndNoneForWhatHasRun(t *testing.T) {
	t.Parallel()
	client := connect(t, backend.OwnRedis(t).URL)
	q := NewQueue(client, QueueOptions{}, silent)
	tasks := func() int { return len(client.Keys(t.Context(), "asynq:*:t:*").Val()) }
	var notifying sync.WaitGroup
	for range 4 {
		notifying.Go(func() {
			for n := range 500 {
				notify(t, q, "a", fmt.Sprint(n%10))
			}
		})
	}
	notifying.Wait()
	if n := client.DBSize(t.Context()).Val(); tasks() != 10 || n != 12 { // and asynq's queues and its list
		t.Errorf("%d tasks of %d keys for 10 IDs, want 10 of 12", tasks(), n)
	}
	var heard atomic.Int64
	stop := run(t, q, "a", func(context.Context, string) { heard.Add(1) })
	for n := range 500 {
		notify(t, q, "a", fmt.Sprint("more ", n))
	}
	until(t, "all have run", func() bool { return heard.Load() == 510 })
	stop()
	// A counter has the day in its name and ends after 90 days.
	keys := client.Keys(t.Context(), "*").Val()
	keys = slices.DeleteFunc(keys, func(key string) bool {
		return strings.HasPrefix(key, "asynq:{waybill-a}:processed:")
	})
	slices.Sort(keys)
	if want := []string{"asynq:queues", "asynq:{waybill-a}:processed"}; !slices.Equal(keys, want) {
		t.Errorf("what is left is %q, want %q", keys, want)
	}
}

// leaveBehind puts the next waiting task in the state that a dead process leaves: running, on a
// lease that ended so long ago.
func leaveBehind(t testing.TB, client *goredis.Client, kind ports.JobKind, ago time.Duration) (key string) {
	t.Helper()
	queue := "asynq:{" + queueName(kind) + "}:"
	name, err := client.LMove(t.Context(), queue+"pending", queue+"active", "RIGHT", "LEFT").Result()
	if err != nil {
		t.Fatal(err)
	}
	client.HSet(t.Context(), queue+"t:"+name, "state", "active")
	client.ZAdd(t.Context(), queue+"lease", goredis.Z{Score: float64(time.Now().Add(-ago).Unix()), Member: name})
	return queue + "t:" + name
}

// asynq treats the tasks of a dead process as running, for a minute or two. Notifications of an
// ID must not get lost when a process dies again and again, or many handlers of many processes
// do.
func TestTasksOfDeadProcessesHoldUpNoNotification(t *testing.T) {
	t.Parallel()
	client := connect(t, backend.OwnRedis(t).URL)
	q := NewQueue(client, QueueOptions{}, silent)
	left := map[string]bool{}
	const deaths = names / 2
	for range deaths {
		notify(t, q, "a", "x")
		left[leaveBehind(t, client, "a", -time.Minute)] = true
	}
	if len(left) != deaths {
		t.Errorf("%d deaths left %d tasks", deaths, len(left))
	}
	var heard atomic.Int64
	run(t, q, "a", func(context.Context, string) { heard.Add(1) })
	until(t, "a notification is heard", func() bool {
		_ = q.Notify(t.Context(), "a", "x")
		return heard.Load() > 0
	})
}

func TestANotificationGetsThroughWhateverAsynqKeepsOfATask(t *testing.T) {
	t.Parallel()
	client := connect(t, backend.OwnRedis(t).URL)
	q := NewQueue(client, QueueOptions{}, silent)
	var heard sync.Map
	run(t, q, "b", func(_ context.Context, id string) { heard.Store(id, true) })
	for _, state := range []string{"active", "scheduled", "retry", "archived", "completed", "aggregating", "", "unheard of"} {
		client.HSet(t.Context(), "asynq:{"+queueName("b")+"}:t:"+state+":0", "state", state)
		notify(t, q, "b", state)
		until(t, "it is heard", func() bool {
			_, ok := heard.Load(state)
			return ok
		})
	}
}

func TestLongATaskOfADeadProcessRunsInTheEndAndIsNeverArchived(t *testing.T) {
	t.Parallel()
	client := connect(t, backend.OwnRedis(t).URL)
	q := NewQueue(client, QueueOptions{}, silent)
	state := func(key string) string { return client.HGet(t.Context(), key, "state").Val() }
	notify(t, q, "a", "x")
	for range 3 { // processes that die of it
		key := leaveBehind(t, client, "a", time.Minute)
		stop := run(t, q, "a", func(context.Context, string) { t.Error("run too early") })
		until(t, "asynq has found it", func() bool { return state(key) != "active" })
		stop()
		if s := state(key); s != "retry" {
			t.Fatalf("it is %q, want retry", s)
		}
		// What asynq does every five seconds.
		queue, name := "asynq:{"+queueName("a")+"}:", "x:0"
		client.ZRem(t.Context(), queue+"retry", name)
		client.LPush(t.Context(), queue+"pending", name)
		client.HSet(t.Context(), key, "state", "pending")
	}
	key := leaveBehind(t, client, "a", time.Minute)
	heard := make(chan string, 10)
	run(t, q, "a", func(_ context.Context, id string) { heard <- id })
	select {
	case id := <-heard:
		if id != "x" {
			t.Errorf("%q was heard, want x", id)
		}
	case <-time.After(time.Minute):
		t.Fatalf("it does not run; it is %q", state(key))
	}
}

func TestAPanicIsLoggedWithWhereItWasAndItsTaskIsDone(t *testing.T) {
	t.Parallel()
	client := connect(t, backend.OwnRedis(t).URL)
	var logged bytes.Buffer
	q := NewQueue(client, QueueOptions{}, slog.New(slog.NewTextHandler(&logged, nil)))
	ran := make(chan struct{})
	stop := run(t, q, "a", func(context.Context, string) {
		defer close(ran)
		panic("planned for the test")
	})
	notify(t, q, "a", "x/1")
	<-ran
	stop()
	for _, part := range []string{"level=ERROR", "job=a", "id=x/1", "planned for the test", "queue_test.go"} {
		if !strings.Contains(logged.String(), part) {
			t.Errorf("logged %q, which lacks %q", logged.String(), part)
		}
	}
	if keys := client.Keys(t.Context(), "asynq:*:t:*").Val(); len(keys) > 0 {
		t.Errorf("%q is left", keys)
	}
}

func TestARunWaitsForALongHandlerAndLetsAnotherProcessHaveItsTask(t *testing.T) {
	t.Parallel()
	url := backend.OwnRedis(t).URL
	one, other := open(t, url), open(t, url)
	one.requeueAfter = 50 * time.Millisecond
	begun, opened, heard := make(chan struct{}), make(chan struct{}), make(chan struct{})
	var ended atomic.Bool
	stop := run(t, one, "a", func(context.Context, string) {
		close(begun)
		<-opened
		ended.Store(true)
	})
	notify(t, one, "a", "x")
	<-begun
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		stop()
		if !ended.Load() {
			t.Error("the run did not wait")
		}
	}()
	run(t, other, "a", func(context.Context, string) { close(heard) })
	<-heard
	<-time.After(100 * time.Millisecond) // in which a run that does not wait would end
	close(opened)
	<-stopped
}

func BenchmarkNotifyAndRun(b *testing.B) {
	q := open(b, backend.OwnRedis(b).URL)
	var heard sync.WaitGroup
	run(b, q, "a", func(context.Context, string) { heard.Done() })
	heard.Add(b.N)
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for n := 0; pb.Next(); n++ {
			notify(b, q, "a", fmt.Sprintf("%p %d", pb, n))
		}
	})
	heard.Wait()
}
