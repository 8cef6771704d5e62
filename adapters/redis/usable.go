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
	// trialKeep is how long the keys of a check are kept.
	trialKeep = time.Minute
	// trialEvery is how long the result of a check is reused. The readiness check and two
	// metrics ask for it, often at once.
	trialEvery = time.Second
	// trialChannel has the prefix of the invalidation channels.
	trialChannel = "waybill:trial"
)

// trialKeys have the prefixes of the rate limit keys and of the queue keys.
var trialKeys = []string{"waybill:trial", "asynq:{waybill-trial}"}

var writes = redis.NewScript(`for _, key in ipairs(KEYS) do redis.call("HSET", key, "at", ARGV[1]) redis.call("PEXPIRE", key, ARGV[2]) end return 1`)

// Usable tries what rate limits, the queue and invalidations need of a Redis: a script that
// writes, and a channel. A Redis that answers PING may refuse either: a replica, one whose
// memory is full, or a user without the permissions.
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

// refusal distinguishes an error answer from no answer.
func refusal(what string, err error) error {
	var answered redis.Error
	if errors.As(err, &answered) {
		return fmt.Errorf("Redis refuses %s: %w", what, err)
	}
	return err
}

// Trial checks whether a Redis is usable, for callers that ask often.
type Trial struct {
	client redis.UniversalClient

	mu  sync.Mutex
	at  time.Time
	err error
}

// NewTrial creates a trial of a Redis.
func NewTrial(client redis.UniversalClient) *Trial { return &Trial{client: client} }

// Run checks the Redis, unless it was checked a moment ago. It takes at most Timeout.
func (t *Trial) Run(ctx context.Context) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.at.IsZero() || time.Since(t.at) >= trialEvery {
		// The result also serves other callers, whose requests continue when this one ends.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), Timeout)
		defer cancel()
		t.err = Usable(ctx, t.client)
		t.at = time.Now()
	}
	return t.err
}
