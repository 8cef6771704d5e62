package asynqqueue

import (
	"context"
	"strings"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"waybill/adapters/redis/hear"
)

const (
	// wakeUpChannel is where a queue is named that something was put in.
	wakeUpChannel = "waybill:queue"
	// netEvery is how often an idle server asks that hears wake-ups, for what was put back from
	// a process that died. It is no more often than that: a process that still finds something due
	// notifies again, which wakes a server of its own past a connection that is silent.
	netEvery = 5 * time.Second
	// pingAfter is how long a connection may be silent before it is asked, and then before it is
	// given up; resubscribeAfter is between two attempts.
	pingAfter        = 5 * time.Second
	resubscribeAfter = 500 * time.Millisecond
)

// announcer is the client by which asynq puts a task in a queue. With it, in the same
// round trip, goes word to the servers that pause.
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
		p.Publish(ctx, wakeUpChannel, queue)
		return nil
	})
	return ran
}

// wakeUps are what servers of this process hear while they pause.
type wakeUps struct {
	client redis.UniversalClient
	net    time.Duration            // netEvery but for tests
	heard  atomic.Bool              // as far as is known nothing is missed
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

// idle waits until there may be something in a queue, and tells whether the server was woken. One whose process
// hears no wake-ups asks often by itself, and is woken as soon as the process does.
func (p *patient) idle() (woken bool) {
	wait := p.every - asynqEvery
	if p.wakeUps.heard.Load() {
		wait = p.wakeUps.net
	}
	after := time.NewTimer(max(0, wait))
	defer after.Stop()
	select {
	case <-p.stop:
		return false
	case <-p.wakeUps.of[p.queue]:
		return true
	case <-after.C:
		return false
	}
}
