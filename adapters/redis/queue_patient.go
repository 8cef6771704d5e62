package redis

import (
	"context"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"
)

// refusedPause is how long a server pauses after an error. asynq itself polls again at once.
const refusedPause = 200 * time.Millisecond

// patient is the Redis client of a server. It pauses when Redis fails, and records the outage.
type patient struct {
	redis.UniversalClient
	outage *outage // shared by all kinds
	stop   <-chan struct{}
}

// EvalSha runs a script of asynq by its digest.
func (p *patient) EvalSha(ctx context.Context, sha1 string, keys []string, args ...any) *redis.Cmd {
	return p.observed(ctx, p.UniversalClient.EvalSha(ctx, sha1, keys, args...))
}

// Eval runs a script of asynq that Redis does not know yet.
func (p *patient) Eval(ctx context.Context, script string, keys []string, args ...any) *redis.Cmd {
	return p.observed(ctx, p.UniversalClient.Eval(ctx, script, keys, args...))
}

func (p *patient) observed(ctx context.Context, cmd *redis.Cmd) *redis.Cmd {
	switch err := cmd.Err(); {
	case err == nil || errors.Is(err, redis.Nil):
		p.outage.answered()
	case redis.HasErrorPrefix(err, "NOSCRIPT") || redis.HasErrorPrefix(err, "NOT FOUND") || ctx.Err() != nil:
		// The script is sent next, or the task was deleted with all others.
	default:
		p.outage.refused(err)
		select {
		case <-p.stop:
		case <-time.After(refusedPause):
		}
	}
	return cmd
}
