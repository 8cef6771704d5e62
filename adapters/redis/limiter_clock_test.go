package redis_test

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	waybillredis "waybill/adapters/redis"
	"waybill/test/backend"
)

// These tests run on the clock of Redis, and so take real time.

func TestManyProcessesTogetherAdmitTheLimitAndNoMore(t *testing.T) {
	t.Parallel()
	const (
		processes, windows, limit = 4, 3, 100
		window                    = 400 * time.Millisecond
	)
	b := bucket(limit, window)
	url := backend.RedisURL(t)
	began := time.Now() // the windows begin later: with the first request
	var admitted atomic.Int64
	var wg sync.WaitGroup
	for range processes {
		l := waybillredis.NewLimiter(backend.ConnectRedis(t, url), waybillredis.LimiterOptions{})
		for range 2 {
			wg.Go(func() {
				for {
					a, err := l.Take(t.Context(), b)
					switch {
					case err != nil:
						t.Error(err)
						return
					case time.Since(began) >= windows*window:
						return
					case a.Admitted:
						admitted.Add(1)
					}
					time.Sleep(2 * time.Millisecond) // many times what is allowed in all
				}
			})
		}
	}
	wg.Wait()
	if n := admitted.Load(); n == 0 || n > windows*limit*101/100 {
		t.Errorf("%d admitted in %d windows of %d", n, windows, limit)
	}
}

func TestACallerThatWaitsAsToldIsAdmittedAtTheSecondTry(t *testing.T) {
	t.Parallel()
	const clients = 100
	client := shared(t)
	l := waybillredis.NewLimiter(client, waybillredis.LimiterOptions{})
	var wg sync.WaitGroup
	for i := range clients {
		wg.Go(func() {
			b := bucket(1+rand.IntN(20), time.Second)
			a := take(t, l, b)
			for a.Admitted {
				time.Sleep(time.Duration(rand.Int64N(int64(time.Second) / int64(4*b.Limit.Limit))))
				a = take(t, l, b)
			}
			wait := a.RetryAfter
			if i%2 == 0 { // as HTTP tells it, in whole seconds; the others take it to the millisecond
				wait = (wait + time.Second - 1).Truncate(time.Second)
			}
			time.Sleep(wait)
			if again := take(t, l, b); !again.Admitted {
				t.Errorf("%d in a second: told to wait %v, waited %v, and refused: %+v", b.Limit.Limit, a.RetryAfter, wait, again)
			}
		})
	}
	wg.Wait()
}
