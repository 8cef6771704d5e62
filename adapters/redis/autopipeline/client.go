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
	// many wait, and any other where the last pipeline was taken a while ago that
	// is slow for a round trip: then one may hang on a dead connection.
	senders = 8
	slow    = 3 * time.Millisecond
	many    = 64
	// most is how many commands go in one pipeline.
	most = 128
	// apart is how long one pipeline begins after another while they are shared.
	apart = time.Millisecond
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
	hired   time.Time // when the last sender came, or took a pipeline
	taken   time.Time // when the last pipeline was taken
	shared  bool      // which had more than one command
	looks   bool      // whether another sender is needed, soon
}

// command is one that somebody waits for.
type command struct {
	args   []any
	until  time.Time // when its caller will have left
	beside bool      // not the first one of its pipeline
	value  any
	err    error
	done   chan struct{}
	left   bool // nobody waits any more
}

// BesideError is the failure of a command whose pipeline failed, where another
// command of the same pipeline tells of it too: one connection broke, not many.
type BesideError struct{ cause error }

func (e *BesideError) Error() string { return e.cause.Error() }
func (e *BesideError) Unwrap() error { return e.cause }

// Beside is what breakers, which know no pipelines, tell it by.
func (e *BesideError) Beside() {}

// New makes a client that sends through another one, which must not retry.
func New(r Redis) *Client { return &Client{redis: r} }

// Do sends a command and returns what Redis answers: redis.Nil is an error, as
// is a context that ends meanwhile. The command may have been carried out then.
func (c *Client) Do(ctx context.Context, args ...any) (any, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	own := &command{args: args, done: make(chan struct{}), until: time.Now().Add(patience)}
	if end, ok := ctx.Deadline(); ok && end.Before(own.until) {
		own.until = end
	}
	c.mu.Lock()
	c.waiting = append(c.waiting, own)
	c.hire()
	c.mu.Unlock()
	select {
	case <-own.done:
		return own.value, own.err
	case <-ctx.Done():
		c.mu.Lock()
		defer c.mu.Unlock()
		own.left = true
		return nil, own.failed(fmt.Errorf("autopipeline: %w", ctx.Err()))
	}
}

// failed is how a failure that is not of the command itself is told.
func (own *command) failed(err error) error {
	if own.beside {
		return &BesideError{err}
	}
	return err
}

// hire lets a sender begin where one is needed, and looks again soon where none
// was although somebody waits. The client is locked.
func (c *Client) hire() {
	switch late := time.Since(c.hired) > slow; {
	case len(c.waiting) == 0 || c.busy == senders:
	case c.busy == 0 || c.busy == 1 && len(c.waiting) >= many || late:
		c.busy, c.hired = c.busy+1, time.Now()
		go c.work()
	case !c.looks:
		c.looks = true
		time.AfterFunc(slow, func() {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.looks = false
			c.hire()
		})
	}
}

// work sends until nobody waits.
func (c *Client) work() {
	for {
		time.Sleep(c.pause())
		taken := c.next()
		if len(taken) == 0 {
			return
		}
		c.send(taken)
	}
}

// pause is how long it is until the next pipeline begins.
func (c *Client) pause() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.shared {
		return 0
	}
	return apart - time.Since(c.taken)
}

// next takes those that wait, in their order, without those that were given up.
func (c *Client) next() (taken []*command) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for len(c.waiting) > 0 && len(taken) < most {
		if own := c.waiting[0]; !own.left {
			own.beside = len(taken) > 0
			taken = append(taken, own)
		}
		c.waiting[0], c.waiting = nil, c.waiting[1:]
	}
	if len(taken) == 0 {
		c.busy--
		return nil
	}
	c.hired, c.taken, c.shared = time.Now(), time.Now(), len(taken) > 1
	return taken
}

var errNoAnswer = errors.New("autopipeline: Redis has not answered")

func (c *Client) send(commands []*command) {
	// Not for longer than the last one waits: a command must not be carried out
	// when its caller has long gone on without it.
	until := commands[0].until
	for _, own := range commands {
		if own.until.After(until) {
			until = own.until
		}
	}
	ctx, cancel := context.WithDeadline(context.Background(), until)
	defer cancel()
	sent, err := make([]*redis.Cmd, 0, len(commands)), errNoAnswer
	defer func() {
		if fault := recover(); fault != nil {
			err = fmt.Errorf("autopipeline: panic while a pipeline was under way: %v", fault)
		}
		for i, own := range commands {
			if i < len(sent) {
				own.value, own.err = sent[i].Result()
			}
			switch {
			case own.value != nil: // whatever befell those behind it
				own.err = nil
			case own.err == nil:
				own.err = own.failed(err)
			case !answered(own.err):
				own.err = own.failed(own.err)
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
