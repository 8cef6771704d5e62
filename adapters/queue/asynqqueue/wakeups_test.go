package asynqqueue

import (
	"context"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"waybill/ports"
	"waybill/test/redis"
)

func TestAnIdleServerThatHearsWakeUpsWaitsForOne(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := &wakeUps{net: netEvery, of: map[string]chan struct{}{"mine": make(chan struct{}, 1), "other": make(chan struct{}, 1)}}
		p := &patient{every: 40 * time.Millisecond, stop: make(chan struct{}), wakeUps: w, queue: "mine"}
		waited := func(want bool) time.Duration {
			begun := time.Now()
			if woken := p.idle(); woken != want {
				t.Errorf("woken: %v", woken)
			}
			return time.Since(begun)
		}
		if d := waited(false); d != p.every-asynqEvery {
			t.Errorf("without wake-ups it waits for %v", d)
		}
		w.heard.Store(true)
		w.wake("other")
		if d := waited(false); d != netEvery {
			t.Errorf("woken for another queue it waits for %v", d)
		}
		w.wake("mine") // while it asks: what it asked for may have come too late
		w.wake("mine")
		if d := waited(true); d != 0 {
			t.Errorf("woken before, it waits for %v", d)
		}
		time.AfterFunc(7*time.Millisecond, func() { w.wake("mine") })
		if d := waited(true); d != 7*time.Millisecond {
			t.Errorf("woken after 7 ms it waits for %v", d)
		}
		w.wake("foreign") // of a kind that this process does not run
	})
}

// sleepy is a queue whose servers ask once an hour unless they are woken.
func sleepy(client *goredis.Client) *Queue {
	const never = time.Hour
	q := New(client, Options{PollEvery: map[ports.JobKind]time.Duration{"sleepy": never}}, silent)
	q.netEvery = never
	return q
}

// subscribed waits until the server hears.
func subscribed(t *testing.T, client *goredis.Client) {
	t.Helper()
	until(t, "a server has subscribed", func() bool {
		n, err := client.PubSubNumSub(t.Context(), wakeUpChannel).Result()
		return err == nil && n[wakeUpChannel] > 0
	})
}

func TestANotificationWakesAServerOfAnotherProcess(t *testing.T) {
	t.Parallel()
	url := redis.Own(t).URL
	here, there := connect(t, url), connect(t, url)
	came := make(chan string, 1)
	run(t, sleepy(there), "sleepy", func(_ context.Context, id string) { came <- id })
	subscribed(t, here)
	notifier := sleepy(here)
	for n := range 3 { // the script is new to the Redis of the first one
		id := strconv.Itoa(n)
		notify(t, notifier, "sleepy", id)
		select {
		case got := <-came:
			if got != id {
				t.Fatalf("%s came, want %s", got, id)
			}
		case <-time.After(30 * time.Second):
			t.Fatalf("notification %d woke no server", n)
		}
		notifier = sleepy(here) // another process, which has told none lately
	}
}

func TestATaskThatWaitsWakesTheServerOfTheProcessThatNotifiesAgain(t *testing.T) {
	t.Parallel()
	q := sleepy(connect(t, redis.Own(t).URL))
	woken := make(chan struct{}, 1)
	q.wakeUps.Store(&wakeUps{of: map[string]chan struct{}{queueKey("sleepy"): woken}})
	notify(t, q, "sleepy", "x")
	if len(woken) != 0 {
		t.Error("it was woken past its connection")
	}
	notify(t, q, "sleepy", "x")
	if len(woken) != 1 {
		t.Error("it was not woken though the task still waits")
	}
}

func TestAServerWhoseSubscriptionIsCutAsksByItself(t *testing.T) {
	t.Parallel()
	server := redis.Own(t)
	client := connect(t, server.URL)
	q := New(client, Options{}, silent)
	q.netEvery = time.Hour
	var mu sync.Mutex
	came := map[string]bool{}
	var count atomic.Int64
	run(t, q, "cut", func(_ context.Context, id string) {
		mu.Lock()
		defer mu.Unlock()
		came[id] = true
		count.Store(int64(len(came)))
	})
	for n := range 5 {
		subscribed(t, client)
		if err := client.ClientKillByFilter(t.Context(), "TYPE", "pubsub").Err(); err != nil {
			t.Fatal(err)
		}
		notify(t, q, "cut", strconv.Itoa(n)) // told to no server
		until(t, "it comes all the same", func() bool { return count.Load() == int64(n+1) })
	}
}
