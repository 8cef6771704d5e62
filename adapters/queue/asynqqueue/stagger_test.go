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

func TestBusyServersOfManyProcessesAskLittleMoreThanOne(t *testing.T) {
	t.Parallel()
	const every, lasting, processes = 10 * time.Millisecond, 3 * time.Second, 8
	ask := func(processes int) (asks int64) {
		url := redis.Own(t).URL
		var counted, handled atomic.Int64
		for range processes {
			q := New(asking{connect(t, url), &counted}, Options{}, silent)
			defer run(t, q, "busy", func(context.Context, string) { handled.Add(1) })()
		}
		q := open(t, url)
		notified := 0
		send := func(lasting time.Duration) {
			for begun := time.Now(); time.Since(begun) < lasting; time.Sleep(every) {
				notify(t, q, "busy", strconv.Itoa(notified))
				notified++
			}
		}
		send(countEvery + time.Second) // all are counted, and all had a task
		before := counted.Load()
		send(lasting)
		asks = counted.Load() - before
		until(t, "all is handled", func() bool { return int(handled.Load()) == notified })
		return asks
	}
	one, many := ask(1), ask(processes)
	t.Logf("one server asked %d times, %d asked %d times", one, processes, many)
	if 10*many > 23*one { // 1.2 times as often was seen, and 3.2 times where servers do not wait for each other
		t.Errorf("%d servers asked %d times in %s, and one %d times", processes, many, lasting, one)
	}
}
