package asynqqueue

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
)

// refusedPause is how long the server of a kind pauses after it asked for a task in vain.
const refusedPause = 200 * time.Millisecond

// patient is the client of asynq's server of one kind of job. It pauses where asynq does
// not, and logs the beginning and the end of an outage.
type patient struct {
	redis.UniversalClient
	every   time.Duration // it asks where it got nothing for a while and hears no wake-ups
	stop    <-chan struct{}
	log     *slog.Logger
	gone    *atomic.Bool // shared by all kinds
	got     time.Time    // a task, of the one goroutine that asks
	wakeUps *wakeUps     // shared by all kinds
	queue   string       // its key
}

// EvalSha is how asynq asks for a task.
func (p *patient) EvalSha(ctx context.Context, sha1 string, keys []string, args ...any) *redis.Cmd {
	cmd := p.UniversalClient.EvalSha(ctx, sha1, keys, args...)
	p.observe(keys, cmd.Err())
	return cmd
}

// Eval is how it asks a Redis that does not know the script yet.
func (p *patient) Eval(ctx context.Context, script string, keys []string, args ...any) *redis.Cmd {
	cmd := p.UniversalClient.Eval(ctx, script, keys, args...)
	p.observe(keys, cmd.Err())
	return cmd
}

func (p *patient) observe(keys []string, err error) {
	if len(keys) < 2 || !strings.HasSuffix(keys[1], ":paused") { // asks for something else
		return
	}
	switch {
	case err == nil || errors.Is(err, redis.Nil):
		if p.gone.Load() && p.gone.CompareAndSwap(true, false) {
			p.log.Info("the queue accepts notifications again")
		}
		p.slowDown(err == nil)
		return
	case redis.HasErrorPrefix(err, "NOSCRIPT"):
		return
	}
	if p.gone.CompareAndSwap(false, true) {
		p.log.Warn("the queue accepts no notifications until Redis answers again", "error", err)
	}
	p.pause(refusedPause)
}

// slowDown makes a server that got nothing for a while wait until it is woken, or ask less often.
// One that got a task lately asks less often beside those of other processes.
func (p *patient) slowDown(got bool) {
	switch now := time.Now(); {
	case got:
		p.got = now
	case now.Sub(p.got) > eagerFor:
		p.idle()
	default:
		p.await(p.wakeUps.stagger())
	}
}

func (p *patient) pause(d time.Duration) {
	select {
	case <-p.stop:
	case <-time.After(d):
	}
}

// Subscribe subscribes to nothing: asynq tries again every few seconds.
func (p *patient) Subscribe(ctx context.Context, channels ...string) *redis.PubSub {
	return closed.Subscribe(ctx, channels...)
}

// closed never connects.
var closed = func() *redis.Client {
	client := redis.NewClient(&redis.Options{})
	_ = client.Close() // it has nothing open
	return client
}()
