package redis

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	// trialKeep is how long the keys of a trial are kept.
	trialKeep = time.Minute
	// trialEvery is how long the outcome of a trial counts. A check of readiness and two metrics ask
	// for it, often at once.
	trialEvery = time.Second
	// trialChannel begins as those of the invalidations do.
	trialChannel = "waybill:trial"
)

// trialKeys begin as the keys of limits, and as those of the queue.
var trialKeys = []string{"waybill:trial", "asynq:{waybill-trial}"}

var writes = redis.NewScript(`for _, key in ipairs(KEYS) do redis.call("HSET", key, "at", ARGV[1]) redis.call("PEXPIRE", key, ARGV[2]) end return 1`)

// Usable tries what limits, the queue and invalidations need of a Redis: a script that writes, and
// a channel. One that answers PING may refuse either: a replica, one whose memory is full, or a
// user without the rights.
func Usable(ctx context.Context, client redis.UniversalClient) error {
	err := writes.Run(ctx, client, trialKeys, time.Now().UnixMilli(), trialKeep.Milliseconds()).Err()
	if err != nil {
		return refusal("a script that writes", err)
	}
	subscription := client.Subscribe(ctx, trialChannel)
	defer subscription.Close()
	if _, err := subscription.Receive(ctx); err != nil {
		return refusal("a subscription", err)
	}
	if err := client.Publish(ctx, trialChannel, "").Err(); err != nil {
		return refusal("a message to a channel", err)
	}
	return nil
}

// refusal tells an answer that refuses from none.
func refusal(what string, err error) error {
	var answered redis.Error
	if errors.As(err, &answered) {
		return fmt.Errorf("Redis refuses %s: %w", what, err)
	}
	return err
}

// Trial tells whether a Redis can be used, for those that ask all the time.
type Trial struct {
	client redis.UniversalClient

	mu  sync.Mutex
	at  time.Time
	err error
}

// NewTrial makes a trial of a Redis.
func NewTrial(client redis.UniversalClient) *Trial { return &Trial{client: client} }

// Run tries the Redis, unless it was tried a moment ago. It takes Timeout at most.
func (t *Trial) Run(ctx context.Context) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.at.IsZero() || time.Since(t.at) >= trialEvery {
		// The outcome is for others too, whose request goes on when this one ends.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), Timeout)
		defer cancel()
		t.err = Usable(ctx, t.client)
		t.at = time.Now()
	}
	return t.err
}
