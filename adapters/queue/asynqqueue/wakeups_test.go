package asynqqueue

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"waybill/ports"
	"waybill/test/redis"
)

// blocking answers a question for a wake-up when it is told what with.
type blocking struct {
	goredis.UniversalClient
	asked   int
	answers chan error
	put     int // back
}

func (b *blocking) BLPop(ctx context.Context, timeout time.Duration, keys ...string) *goredis.StringSliceCmd {
	b.asked++
	cmd := goredis.NewStringSliceCmd(ctx)
	select {
	case err := <-b.answers:
		cmd.SetErr(err)
	case <-time.After(timeout):
		cmd.SetErr(goredis.Nil)
	}
	return cmd
}

func (b *blocking) LPush(ctx context.Context, _ string, _ ...any) *goredis.IntCmd {
	b.put++
	return goredis.NewIntCmd(ctx)
}

func TestAnIdleServerWaitsUntilItIsWoken(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		client, stop := &blocking{answers: make(chan error)}, make(chan struct{})
		w := &waiting{client: client, every: 40 * time.Millisecond, net: netEvery, stop: stop, own: make(chan struct{}, 1)}
		waits := func(what string, wantWoken bool, want time.Duration) {
			t.Helper()
			begun := time.Now()
			if woken, d := w.idle(), time.Since(begun); woken != wantWoken || d != want {
				t.Errorf("%s: woken is %v after %v, want %v after %v", what, woken, d, wantWoken, want)
			}
		}
		tell := func(err error, after time.Duration) {
			go func() { time.Sleep(after); client.answers <- err }()
		}
		waits("nothing comes", false, netEvery)
		tell(nil, 7*time.Millisecond)
		waits("Redis wakes it", true, 7*time.Millisecond)
		w.wake() // while it asks: what it asked for may have come too late
		w.wake()
		waits("its own process has woken it", true, 0)
		synctest.Wait()
		asked := client.asked
		time.AfterFunc(3*time.Millisecond, w.wake)
		waits("its own process wakes it", true, 3*time.Millisecond)
		tell(nil, 2*time.Millisecond)
		waits("Redis answers what was asked before", true, 2*time.Millisecond)
		if client.asked != asked {
			t.Errorf("it asked %d times anew while a question was open", client.asked-asked)
		}
		w.wake()
		waits("its own process wakes it with a question open", true, 0)
		go func() { client.answers <- nil }()
		time.Sleep(unreadFor + time.Millisecond) // its hands are full
		synctest.Wait()
		if client.put != 1 {
			t.Errorf("%d wake-ups were left to others, want the one that was not waited for", client.put)
		}
		client.put = 0
		waits("it is told of one that it left to others", true, 0)
		tell(errors.New("the connection is cut"), time.Millisecond)
		waits("the connection is cut", false, time.Millisecond+w.every)
		time.AfterFunc(time.Millisecond, func() { close(stop) })
		waits("it ends", false, time.Millisecond)
		if client.put != 0 {
			t.Errorf("%d wake-ups were put back", client.put)
		}
		go func() { client.answers <- nil }()
		synctest.Wait()
		if client.put != 1 {
			t.Errorf("%d wake-ups were put back after the end, want the one that came", client.put)
		}
	})
}

// sleepy is a queue whose servers ask once an hour unless they are woken.
func sleepy(client *goredis.Client) *Queue {
	const never = time.Hour
	q := New(client, Options{PollEvery: map[ports.JobKind]time.Duration{"sleepy": never}}, silent)
	q.netEvery = never
	return q
}

// waiters is how many connections wait for a wake-up.
func waiters(t *testing.T, client *goredis.Client) (n int) {
	t.Helper()
	info, err := client.InfoMap(t.Context(), "clients").Result()
	if err != nil {
		t.Fatal(err)
	}
	n, err = strconv.Atoi(info["Clients"]["blocked_clients"])
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func comes(t *testing.T, came <-chan string, want string) {
	t.Helper()
	select {
	case got := <-came:
		if got != want {
			t.Fatalf("%s came, want %s", got, want)
		}
	case <-time.After(10 * time.Second):
		t.Fatalf("%s does not come", want)
	}
}

func untilWaiting(t *testing.T, client *goredis.Client, servers int) {
	t.Helper()
	until(t, "servers wait", func() bool { return waiters(t, client) == servers })
}

func TestANotificationWakesAServerOfAnotherProcess(t *testing.T) {
	t.Parallel()
	url := redis.Own(t).URL
	here, there := connect(t, url), connect(t, url)
	came := make(chan string, 1)
	run(t, sleepy(there), "sleepy", func(_ context.Context, id string) { came <- id })
	notifier := sleepy(here)
	for n := range 3 { // the script is new to the Redis of the first one
		untilWaiting(t, here, 1)
		id := strconv.Itoa(n)
		notify(t, notifier, "sleepy", id)
		comes(t, came, id)
		notifier = sleepy(here) // another process, which has told none lately
	}
}

func TestWhatIsPutThereBeforeAServerWaitsWakesItToo(t *testing.T) {
	t.Parallel()
	url := redis.Own(t).URL
	client := connect(t, url)
	w := &waiting{client: client, queue: queueKey("sleepy"), net: time.Second, stop: t.Context().Done(), own: make(chan struct{})}
	for n := range 2 * mostWakeUps {
		notify(t, sleepy(client), "sleepy", strconv.Itoa(n))
	}
	for n := range mostWakeUps {
		if !w.idle() {
			t.Errorf("wake-up %d is not there", n)
		}
	}
	if left := client.LLen(t.Context(), wakeUpsPrefix+w.queue).Val(); left != 0 {
		t.Errorf("%d wake-ups more are kept than are to be", left)
	}
}

func TestATaskThatWaitsWakesTheServerOfTheProcessThatNotifiesAgain(t *testing.T) {
	t.Parallel()
	q := sleepy(connect(t, redis.Own(t).URL))
	own := make(chan struct{}, 1)
	q.waiting.Store(&map[ports.JobKind]*waiting{"sleepy": {own: own}})
	notify(t, q, "sleepy", "x")
	if len(own) != 0 {
		t.Error("it was woken past its connection")
	}
	notify(t, q, "sleepy", "x")
	if len(own) != 1 {
		t.Error("it was not woken though the task still waits")
	}
}

func TestAServerWhoseConnectionIsCutWaitsOnAnother(t *testing.T) {
	t.Parallel()
	server := redis.Own(t)
	client := connect(t, server.URL)
	q := New(client, Options{}, silent)
	q.netEvery = time.Hour
	came := make(chan string, 100)
	run(t, q, "cut", func(_ context.Context, id string) { came <- id })
	other := connect(t, server.URL)
	for n := range 5 {
		untilWaiting(t, other, 1)
		if err := other.ClientKillByFilter(t.Context(), "SKIPME", "yes").Err(); err != nil {
			t.Fatal(err)
		}
		notify(t, New(other, Options{}, silent), "cut", strconv.Itoa(n))
		comes(t, came, strconv.Itoa(n))
	}
}

// A connection that is dead without a word swallows what it is told.
func TestAWakeUpThatIsLostIsRepeatedByTheNextNotification(t *testing.T) {
	t.Parallel()
	url := redis.Own(t).URL
	client := connect(t, url)
	notify(t, sleepy(client), "other", "x") // Redis learns the script, for which it is told twice
	var dead sync.WaitGroup
	dead.Go(func() { client.BLPop(t.Context(), 30*time.Second, wakeUpsPrefix+queueKey("sleepy")) })
	untilWaiting(t, client, 1)
	came := make(chan string, 1)
	run(t, sleepy(connect(t, url)), "sleepy", func(_ context.Context, id string) { came <- id })
	untilWaiting(t, client, 2)
	q := sleepy(client)
	notify(t, q, "sleepy", "x") // the one that waits for longest is dead
	dead.Wait()
	select {
	case <-came:
		t.Error("two were woken")
	case <-time.After(100 * time.Millisecond):
	}
	notify(t, q, "sleepy", "x")
	comes(t, came, "x")
}

func TestAServerThatPausesEndsAtOnce(t *testing.T) {
	t.Parallel()
	stop := make(chan struct{})
	close(stop)
	began := time.Now()
	(&waiting{stop: stop}).pause(time.Hour)
	if took := time.Since(began); took > time.Minute {
		t.Errorf("it took %v", took)
	}
}
