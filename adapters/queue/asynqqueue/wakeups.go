package asynqqueue

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	// wakeUpsPrefix is before the key of a queue in that of the list of its wake-ups. Each
	// wakes one server: the one that has waited longest, or the next one that is to wait.
	wakeUpsPrefix = "waybill:wake:"
	// mostWakeUps are kept: where none is taken, no server waits, and each asks before it does.
	mostWakeUps = 16
	// netEvery is how often an idle server asks unless it is woken, for what was put back from a
	// process that died or ended. It is no more often than that: a process that still finds something due
	// notifies again, which wakes a server of its own past a connection that is silent.
	netEvery = 5 * time.Second
	// unreadFor is how long a wake-up is this server's that does not wait for it any more.
	unreadFor = 20 * time.Millisecond
)

// announcer is the client by which asynq puts a task in a queue. With it, in the same
// round trip, goes a wake-up for a server that waits.
type announcer struct{ redis.UniversalClient }

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
	_, _ = a.Pipelined(ctx, func(p redis.Pipeliner) error { // each command has an error of its own
		ran = run(p)
		p.LPush(ctx, wakeUpsPrefix+queue, "")
		p.LTrim(ctx, wakeUpsPrefix+queue, 0, mostWakeUps-1)
		return nil
	})
	return ran
}

// waiting is how the server of one kind waits until there may be something in its queue.
type waiting struct {
	client redis.UniversalClient
	queue  string        // its key
	every  time.Duration // it asks where Redis does not let it wait
	net    time.Duration // netEvery but for tests
	stop   <-chan struct{}
	own    chan struct{} // wake-ups of this process; it keeps one

	woken <-chan error // by Redis; nil: it is not asked to
}

// wake lets the server ask, now or as soon as it would wait.
func (w *waiting) wake() {
	select {
	case w.own <- struct{}{}:
	default: // it was woken already
	}
}

// idle waits, and tells whether the server was woken.
func (w *waiting) idle() bool {
	if w.woken == nil {
		woken := make(chan error)
		w.woken = woken
		go w.takeWakeUp(woken)
	}
	select {
	case <-w.stop:
		return false
	case <-w.own: // the question to Redis goes on
		return true
	case err := <-w.woken:
		w.woken = nil
		if err != nil && !errors.Is(err, redis.Nil) {
			w.pause(w.every)
		}
		return err == nil
	}
}

// takeWakeUp asks Redis for a wake-up. A connection that is silent is given up soon after Redis was to
// answer. A wake-up that comes while the server has all hands full, or after its end, is left to
// another one; this one asks anew before it waits again.
func (w *waiting) takeWakeUp(woken chan<- error) {
	defer close(woken)
	ctx, cancel := context.WithTimeout(context.Background(), w.net+notifyTimeout)
	defer cancel()
	err := w.client.BLPop(ctx, w.net, wakeUpsPrefix+w.queue).Err()
	select {
	case woken <- err:
		return
	case <-w.stop:
	case <-time.After(unreadFor):
	}
	if err == nil {
		_ = w.client.LPush(ctx, wakeUpsPrefix+w.queue, "").Err() // a lost one is repeated
	}
}

func (w *waiting) pause(d time.Duration) {
	select {
	case <-w.stop:
	case <-time.After(d):
	}
}
