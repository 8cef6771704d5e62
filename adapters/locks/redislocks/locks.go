package redislocks

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"waybill/adapters/upstream"
	"waybill/ports"
)

var _ ports.Locks = (*Locks)(nil)

const (
	// expiry is when a lock that was not released ends by itself.
	expiry  = 10 * time.Second
	timeout = 50 * time.Millisecond

	prefix = "waybill:lock:"
)

// unlock removes a key where it still holds our token.
var unlock = redis.NewScript(`if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0`)

// Client is what locks need of a client of Redis.
type Client interface {
	redis.Scripter
	SetNX(ctx context.Context, key string, value any, expiry time.Duration) *redis.BoolCmd
}

// Locks are the locks of all processes on one Redis.
type Locks struct {
	client  Client
	timeout time.Duration
	breaker *upstream.Breaker
	log     *slog.Logger
	cause   atomic.Pointer[error] // the last failure, for the log
}

// Options are what a process may choose.
type Options struct {
	// Timeout is how long Redis may take to give a lock or to take it back, 50 ms
	// where it is not named. After it the lock counts as given.
	Timeout time.Duration
}

// New makes locks on a client that obeys the deadlines of contexts.
func New(client Client, o Options, log *slog.Logger) *Locks {
	l := &Locks{client: client, timeout: cmp.Or(o.Timeout, timeout), log: log}
	l.cause.Store(new(error))
	l.breaker = upstream.NewRedisBreaker(l.tell)
	return l
}

// TryLock takes the lock if it is free, or if Redis does not answer. release is
// never nil, may be called more than once, and frees only what this call took.
func (l *Locks) TryLock(ctx context.Context, name string) (release func(), acquired bool) {
	sum := sha256.Sum256([]byte(name))
	key, token := prefix+hex.EncodeToString(sum[:16]), newToken()
	asked := false
	acquired, err := l.ask(ctx, func(ctx context.Context) (bool, error) {
		asked = true
		return l.client.SetNX(ctx, key, token, expiry).Result()
	})
	switch {
	case err == nil && !acquired:
		return func() {}, false
	case !asked:
		return func() {}, true
	}
	return func() {
		// The request may be over, and its lock has to go all the same.
		ctx := context.WithoutCancel(ctx)
		free := func(ctx context.Context) (bool, error) {
			return true, unlock.Run(ctx, l.client, []string{key}, token).Err()
		}
		if err != nil { // it may not be ours, and Redis may be gone
			_, _ = l.ask(ctx, free)
			return
		}
		// It is ours. Neither the breaker nor one dead connection may leave it there.
		var err error
		for range 2 {
			if _, err = inTime(ctx, l.timeout/2, free); err == nil {
				return
			}
		}
		_ = l.breaker.Do(upstream.Call{}, func() (upstream.Evidence, error) { return upstream.OfRedis(ctx, err), err })
	}, true
}

// ask makes one call, unless the breaker is open.
func (l *Locks) ask(ctx context.Context, call func(ctx context.Context) (bool, error)) (answer bool, err error) {
	err = l.breaker.Do(upstream.Call{}, func() (upstream.Evidence, error) {
		var err error
		answer, err = inTime(ctx, l.timeout, call)
		evidence := upstream.OfRedis(ctx, err)
		if evidence == upstream.Gone {
			l.cause.Store(&err)
		}
		return evidence, err
	})
	return answer, err
}

// inTime makes one call that may take a while and no longer.
func inTime(ctx context.Context, timeout time.Duration, call func(ctx context.Context) (bool, error)) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	return call(ctx)
}

// tell logs the beginning and the end of an outage.
func (l *Locks) tell(open bool) {
	if open {
		l.log.Warn("courtesy locks are not shared between processes until Redis answers again", "error", *l.cause.Load())
		return
	}
	l.log.Info("courtesy locks are shared between processes again")
}

func newToken() string {
	var token [16]byte
	_, _ = rand.Read(token[:]) // crypto/rand never fails
	return string(token[:])
}
