package asynqqueue

import (
	"context"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"waybill/test/redis"
)

// asking counts how often servers ask for a task.
type asking struct {
	goredis.UniversalClient
	asks *atomic.Int64
}

func (a asking) EvalSha(ctx context.Context, sha1 string, keys []string, args ...any) *goredis.Cmd {
	if len(keys) > 1 && strings.HasSuffix(keys[1], ":paused") {
		a.asks.Add(1)
	}
	return a.UniversalClient.EvalSha(ctx, sha1, keys, args...)
}

// TestOneServerAsksForANotification holds all servers together to one question a notification, and to another one of
// the server that got the task.
func TestOneServerAsksForANotification(t *testing.T) {
	t.Parallel()
	const processes, notifications = 4, 200
	url := redis.Own(t).URL
	var counted, handled atomic.Int64
	for range processes {
		q := New(asking{connect(t, url), &counted}, Options{}, silent)
		run(t, q, "busy", func(context.Context, string) { handled.Add(1) })
	}
	client := connect(t, url)
	untilWaiting(t, client, processes)
	q := open(t, url)
	before, begun := counted.Load(), time.Now()
	for n := range notifications {
		notify(t, q, "busy", strconv.Itoa(n))
		until(t, "it is handled", func() bool { return handled.Load() == int64(n+1) })
	}
	// The net asks by itself.
	most := 2*notifications + 10*processes + processes*int64(time.Since(begun)/netEvery)
	if asks := counted.Load() - before; asks > most {
		t.Errorf("%d servers asked %d times for %d notifications, want %d at most", processes, asks, notifications, most)
	}
}
