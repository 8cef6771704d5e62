package autopipeline

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	// senders may have a pipeline under way at a time. The second one comes where
	// that of the first takes longer than slow, or where many wait.
	senders = 2
	slow    = 10 * time.Millisecond
	many    = 64
	// most is how many commands go in one pipeline.
	most = 128
	// patience bounds a pipeline. Callers have less.
	patience = 200 * time.Millisecond
)

// Redis is the client that is sent through.
type Redis interface {
	redis.Cmdable
	Do(ctx context.Context, args ...any) *redis.Cmd
}

// Client collects commands. It is safe for concurrent use.
type Client struct {
	redis Redis

	mu      sync.Mutex
	waiting []*command
	busy    int
	began   time.Time // when the last pipeline was taken
}

// command is one that somebody waits for.
type command struct {
	args  []any
	value any
	err   error
	done  chan struct{}
	left  bool // nobody waits any more
}

// New makes a client that sends through another one, which must not retry.
func New(r Redis) *Client { return &Client{redis: r} }

// Do sends a command and returns what Redis answers: redis.Nil is an error, as
// is a context that ends meanwhile. The command may have been carried out then.
func (c *Client) Do(ctx context.Context, args ...any) (any, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	own := &command{args: args, done: make(chan struct{})}
	c.mu.Lock()
	c.waiting = append(c.waiting, own)
	if c.busy == 0 || c.busy < senders && (len(c.waiting) >= many || time.Since(c.began) > slow) {
		c.busy, c.began = c.busy+1, time.Now()
		go c.work()
	}
	c.mu.Unlock()
	select {
	case <-own.done:
		return own.value, own.err
	case <-ctx.Done():
		c.mu.Lock()
		own.left = true
		c.mu.Unlock()
		return nil, fmt.Errorf("autopipeline: %w", ctx.Err())
	}
}

// work sends until nobody waits.
func (c *Client) work() {
	for {
		taken := c.next()
		if len(taken) == 0 {
			return
		}
		c.send(taken)
	}
}

// next takes those that wait, in their order, without those that were given up.
func (c *Client) next() (taken []*command) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for len(c.waiting) > 0 && len(taken) < most {
		if own := c.waiting[0]; !own.left {
			taken = append(taken, own)
		}
		c.waiting[0], c.waiting = nil, c.waiting[1:]
	}
	if len(taken) == 0 {
		c.busy--
	} else {
		c.began = time.Now()
	}
	return taken
}

var errPanicked = errors.New("autopipeline: panic while a pipeline was under way")

func (c *Client) send(commands []*command) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	sent, err := make([]*redis.Cmd, 0, len(commands)), errPanicked
	defer func() {
		_ = recover() // whoever waits is told
		for i, own := range commands {
			if i < len(sent) {
				own.value, own.err = sent[i].Result()
			}
			if own.value == nil && own.err == nil { // Redis has not answered
				own.err = err
			}
			close(own.done)
		}
	}()
	if len(commands) == 1 {
		sent = append(sent, c.redis.Do(ctx, commands[0].args...))
		return
	}
	pipe := c.redis.Pipeline()
	for _, own := range commands {
		sent = append(sent, pipe.Do(ctx, own.args...))
	}
	if _, failed := pipe.Exec(ctx); failed != nil {
		err = failed
	}
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
