package autopipeline

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"waybill/adapters/batch"
)

// pipelines are the rules of batches. A second one goes out where many commands wait,
// and any other where the last one began a while ago that is slow for a round trip:
// then one may hang on a dead connection.
var pipelines = batch.Options{
	Size:     128,
	Parallel: 8,
	Many:     64,
	Slow:     3 * time.Millisecond,
	Interval: time.Millisecond,
	Budget:   200 * time.Millisecond, // callers have less
}

// Redis is the client that is sent through.
type Redis interface {
	redis.Cmdable
	Do(ctx context.Context, args ...any) *redis.Cmd
}

// Client collects commands. It is safe for concurrent use.
type Client struct {
	redis    Redis
	commands *batch.Batcher[*command]
}

// command is one that a caller waits for.
type command struct {
	args   func(n int) []any // for so many callers
	kind   string            // of those that are sent as one; empty: it is sent by itself
	beside atomic.Bool       // not the first one of its pipeline
	*sent
	place int // among the callers of what is sent
}

// sent is what goes to Redis, for one caller or for all that ask for the same at a time.
type sent struct {
	callers int
	value   any
	err     error
}

// BesideError is the failure of a command whose pipeline failed, where another
// command of the same pipeline tells of it too: one connection broke, not many.
type BesideError struct{ cause error }

func (e *BesideError) Error() string { return e.cause.Error() }
func (e *BesideError) Unwrap() error { return e.cause }

// Beside marks it for breakers, which know no pipelines.
func (e *BesideError) Beside() {}

// New makes a client that sends through another one, which must not retry.
func New(r Redis) *Client {
	c := &Client{redis: r}
	c.commands = batch.New(pipelines, c.send)
	return c
}

// Do sends a command and returns what Redis answers: redis.Nil is an error, as
// is a context that ends meanwhile. The command may have been carried out then.
func (c *Client) Do(ctx context.Context, args ...any) (any, error) {
	own := &command{args: func(int) []any { return args }}
	if err := c.do(ctx, own); err != nil {
		return nil, err
	}
	return own.value, nil
}

// Together sends one command for all callers that name the same kind at that time, of
// which args must make the same for a given number of them. Each gets the answer and its own
// place among them, from 0.
func (c *Client) Together(ctx context.Context, kind string, args func(callers int) []any) (value any, place int, err error) {
	own := &command{args: args, kind: kind}
	if err := c.do(ctx, own); err != nil {
		return nil, 0, err
	}
	return own.value, own.place, nil
}

func (c *Client) do(ctx context.Context, own *command) error {
	err := c.commands.Do(ctx, own)
	switch {
	case err == nil || answered(err):
		return err
	case own.beside.Load():
		return &BesideError{fmt.Errorf("ask Redis: %w", err)}
	}
	return fmt.Errorf("ask Redis: %w", err)
}

var errNoAnswer = errors.New("Redis has not answered")

// send sends commands in one pipeline. It lasts no longer than the last caller waits:
// a command must not be carried out when its caller has long gone on without it.
func (c *Client) send(ctx context.Context, commands []*command) []error {
	firsts := firstOfEach(commands)
	if len(firsts) == 1 {
		first := firsts[0]
		first.answer(c.redis.Do(ctx, first.args(first.callers)...), errNoAnswer)
	} else {
		pipe := c.redis.Pipeline()
		asked := make([]*redis.Cmd, len(firsts))
		for i, first := range firsts {
			asked[i] = pipe.Do(ctx, first.args(first.callers)...)
		}
		_, failed := pipe.Exec(ctx)
		if failed == nil {
			failed = errNoAnswer
		}
		for i, first := range firsts {
			first.answer(asked[i], failed)
		}
	}
	outcomes := make([]error, len(commands))
	for i, own := range commands {
		outcomes[i] = own.err
	}
	return outcomes
}

// firstOfEach gives all commands of a kind one place to be answered at, and returns the
// first of each kind, and those of none.
func firstOfEach(commands []*command) (firsts []*command) {
	kinds := map[string]*sent{}
	for i, own := range commands {
		own.beside.Store(i > 0)
		if own.sent = kinds[own.kind]; own.sent == nil {
			own.sent = &sent{}
			firsts = append(firsts, own)
			if own.kind != "" {
				kinds[own.kind] = own.sent
			}
		}
		own.place = own.callers
		own.callers++
	}
	return firsts
}

// answer takes what came back. A value counts, whatever befell the commands behind it;
// otherwise tells why there is none.
func (s *sent) answer(to *redis.Cmd, otherwise error) {
	switch value, err := to.Result(); {
	case value != nil:
		s.value = value
	case err != nil:
		s.err = err
	default:
		s.err = otherwise
	}
}

// answered reports whether an error is an answer of Redis.
func answered(err error) bool {
	var told redis.Error
	return errors.As(err, &told)
}

var _ redis.Scripter = (*Client)(nil)

// SetNX sets a key that there is not, for some time, and tells whether it did.
func (c *Client) SetNX(ctx context.Context, key string, value any, expiry time.Duration) *redis.BoolCmd {
	args := []any{"set", key, value, "px", expiry.Milliseconds(), "nx"}
	cmd := redis.NewBoolCmd(ctx, args...)
	_, err := c.Do(ctx, args...)
	cmd.SetVal(err == nil)
	if !errors.Is(err, redis.Nil) { // which says that the key is there
		cmd.SetErr(err)
	}
	return cmd
}

// Eval runs a script. It and those that follow are what redis.Script needs.
func (c *Client) Eval(ctx context.Context, script string, keys []string, args ...any) *redis.Cmd {
	return c.script(ctx, "eval", script, keys, args)
}

// EvalSha runs a script that Redis knows.
func (c *Client) EvalSha(ctx context.Context, sha1 string, keys []string, args ...any) *redis.Cmd {
	return c.script(ctx, "evalsha", sha1, keys, args)
}

// EvalRO runs a script that writes nothing.
func (c *Client) EvalRO(ctx context.Context, script string, keys []string, args ...any) *redis.Cmd {
	return c.script(ctx, "eval_ro", script, keys, args)
}

// EvalShaRO runs a script that Redis knows and that writes nothing.
func (c *Client) EvalShaRO(ctx context.Context, sha1 string, keys []string, args ...any) *redis.Cmd {
	return c.script(ctx, "evalsha_ro", sha1, keys, args)
}

// ScriptExists is rare, and goes by itself.
func (c *Client) ScriptExists(ctx context.Context, hashes ...string) *redis.BoolSliceCmd {
	return c.redis.ScriptExists(ctx, hashes...)
}

// ScriptLoad is rare, and goes by itself.
func (c *Client) ScriptLoad(ctx context.Context, script string) *redis.StringCmd {
	return c.redis.ScriptLoad(ctx, script)
}

func (c *Client) script(ctx context.Context, command, script string, keys []string, args []any) *redis.Cmd {
	all := make([]any, 3, 3+len(keys)+len(args))
	all[0], all[1], all[2] = command, script, len(keys)
	for _, key := range keys {
		all = append(all, key)
	}
	all = append(all, args...)
	cmd := redis.NewCmd(ctx, all...)
	value, err := c.Do(ctx, all...)
	cmd.SetVal(value)
	cmd.SetErr(err)
	return cmd
}
