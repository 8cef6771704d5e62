package asynqqueue

import (
	"context"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"waybill/adapters/redis/hear"
)

const (
	// wakeUpChannel is where a queue is named that something was put in.
	wakeUpChannel = "waybill:queue"
	// serversKey is where asynq keeps its servers, by when they are forgotten.
	serversKey = "asynq:servers"
	// netEvery is how often an idle server asks that hears wake-ups: for what was put back from
	// a process that died, and while its connection is silent for another reason than that nothing comes.
	netEvery = 500 * time.Millisecond
	// announceEvery is how often one process at most tells of one queue. A server that was woken by
	// the first notification and got its task finds the others, as it goes on asking for eagerFor, which is longer;
	// where all its workers are busy, another one finds them within netEvery.
	announceEvery = 100 * time.Millisecond
	// pingAfter is how long a connection may be silent before it is asked, and then before it is
	// given up; resubscribeAfter is between two attempts.
	pingAfter        = 5 * time.Second
	resubscribeAfter = 500 * time.Millisecond
	// countEvery is the interval at which the processes are counted that have servers too, and
	// mostOthers how many of them count: a server that got a task lately pauses for pollEvery at most on average.
	countEvery = 2 * time.Second
	mostOthers = 4
)

// announcer is the client by which asynq puts a task in a queue. With it, in the same
// round trip, goes word to the servers that pause.
type announcer struct {
	redis.UniversalClient
	announced sync.Map // by the key of a queue, *atomic.Int64: when, in nanoseconds
}

// EvalSha is how asynq puts a task in a queue.
func (a *announcer) EvalSha(ctx context.Context, sha1 string, keys []string, args ...any) *redis.Cmd {
	return a.announce(ctx, keys, func(p redis.Cmdable) *redis.Cmd { return p.EvalSha(ctx, sha1, keys, args...) })
}

// Eval is how it does so in a Redis that does not know the script yet.
func (a *announcer) Eval(ctx context.Context, script string, keys []string, args ...any) *redis.Cmd {
	return a.announce(ctx, keys, func(p redis.Cmdable) *redis.Cmd { return p.Eval(ctx, script, keys, args...) })
}

func (a *announcer) announce(ctx context.Context, keys []string, run func(redis.Cmdable) *redis.Cmd) (ran *redis.Cmd) {
	queue, puts := "", false
	if len(keys) == 2 {
		queue, puts = strings.CutSuffix(keys[1], ":pending")
	}
	if !puts {
		return run(a.UniversalClient)
	}
	value, _ := a.announced.LoadOrStore(queue, &atomic.Int64{})
	last, now := value.(*atomic.Int64), time.Now().UnixNano()
	before := last.Load()
	if now-before < int64(announceEvery) || !last.CompareAndSwap(before, now) {
		return run(a.UniversalClient)
	}
	_, _ = a.Pipelined(ctx, func(p redis.Pipeliner) error { // each command has an error of its own
		ran = run(p)
		p.Publish(ctx, wakeUpChannel, queue)
		return nil
	})
	if ran.Err() != nil {
		last.Store(0) // nothing was put there: the next try tells
	}
	return ran
}

// wakeUps are what servers of this process hear while they pause.
type wakeUps struct {
	client redis.UniversalClient
	net    time.Duration            // netEvery but for tests
	heard  atomic.Bool              // as far as is known nothing is missed
	others atomic.Int64             // processes that have servers too
	of     map[string]chan struct{} // by the key of a queue; each keeps one
}

// listen hears until ctx ends. While Redis is gone it tries to subscribe again and again.
func (w *wakeUps) listen(ctx context.Context) {
	for ctx.Err() == nil {
		_ = w.subscribe(ctx) // the servers tell of a Redis that is gone
		w.heard.Store(false)
		w.wakeAll() // from now on they ask as often as without
		select {
		case <-ctx.Done():
		case <-time.After(resubscribeAfter):
		}
	}
}

// subscribe connects once and hears until the connection is lost or ctx ends.
func (w *wakeUps) subscribe(ctx context.Context) error {
	return hear.Channel(ctx, w.client, wakeUpChannel, pingAfter, func() {
		w.heard.Store(true)
		w.wakeAll() // what came before was not heard
	}, w.wake)
}

// countOthers keeps up how many other processes have servers, until ctx ends: by what asynq
// itself tells of servers, which is of this database of Redis alone and forgets those that hang.
func (w *wakeUps) countOthers(ctx context.Context) {
	for ctx.Err() == nil {
		bounded, cancel := context.WithTimeout(ctx, notifyTimeout)
		servers, err := w.client.ZCount(bounded, serversKey, strconv.FormatInt(time.Now().Unix(), 10), "+inf").Result()
		cancel()
		if err == nil {
			w.others.Store(max(0, servers/int64(max(1, len(w.of)))-1))
		}
		select {
		case <-ctx.Done():
		case <-time.After(countEvery):
		}
	}
}

// stagger is the pause after which processes that all ask do so as often together as one.
func (w *wakeUps) stagger() time.Duration {
	return time.Duration(min(mostOthers, w.others.Load())) * eagerEvery
}

func (w *wakeUps) wakeAll() {
	for queue := range w.of {
		w.wake(queue)
	}
}

// wake lets the server of a queue ask, now or as soon as it would pause.
func (w *wakeUps) wake(queue string) {
	select {
	case w.of[queue] <- struct{}{}:
	default: // none is here, or it was woken already
	}
}

// idle waits until there may be something in a queue. A server whose process hears no
// wake-ups asks often by itself, and is woken as soon as the process does.
func (p *patient) idle() {
	wait := p.every - eagerEvery
	if p.wakeUps.heard.Load() {
		wait = p.wakeUps.net
	}
	p.await(wait)
}

// await waits for so long, or until the server is woken.
func (p *patient) await(d time.Duration) {
	if d <= 0 {
		return
	}
	select {
	case <-p.stop:
	case <-p.wakeUps.of[p.queue]:
	case <-time.After(d):
	}
}
