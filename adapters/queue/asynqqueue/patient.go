package asynqqueue

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// refusedPause is how long the server of a kind pauses after it asked for a task in vain.
const refusedPause = 200 * time.Millisecond

// patient is the client of asynq's server of one kind of job. It pauses where asynq does
// not, and notices the beginning and the end of an outage.
type patient struct {
	redis.UniversalClient
	*waiting
	outage *outage // shared by all kinds
}

// EvalSha is how asynq asks for a task.
func (p *patient) EvalSha(ctx context.Context, sha1 string, keys []string, args ...any) *redis.Cmd {
	return p.ask(keys, func() *redis.Cmd { return p.UniversalClient.EvalSha(ctx, sha1, keys, args...) })
}

// Eval is how it asks a Redis that does not know the script yet.
func (p *patient) Eval(ctx context.Context, script string, keys []string, args ...any) *redis.Cmd {
	return p.ask(keys, func() *redis.Cmd { return p.UniversalClient.Eval(ctx, script, keys, args...) })
}

// ask asks for a task, and where there is none, again as soon as the server is woken: asynq would wait
// before it does. It comes back from time to time: the question says how long a task that is got now is this server's.
func (p *patient) ask(keys []string, once func() *redis.Cmd) *redis.Cmd {
	for begun := time.Now(); ; {
		cmd := once()
		if len(keys) < 2 || !strings.HasSuffix(keys[1], ":paused") { // it asks for something else
			return cmd
		}
		p.observe(cmd.Err())
		if !errors.Is(cmd.Err(), redis.Nil) || !p.idle() || time.Since(begun) > netEvery {
			return cmd
		}
	}
}

func (p *patient) observe(err error) {
	switch {
	case err == nil || errors.Is(err, redis.Nil):
		p.outage.over()
	case !redis.HasErrorPrefix(err, "NOSCRIPT"):
		p.outage.refused(err)
		p.pause(refusedPause)
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
