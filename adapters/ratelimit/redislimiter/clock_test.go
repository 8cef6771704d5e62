package redislimiter_test

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"waybill/adapters/ratelimit/redislimiter"
	"waybill/test/redis"
)

// These tests run on the clock of Redis, and so take real time.

func TestManyProcessesTogetherAdmitTheLimitAndNoMore(t *testing.T) {
	if testing.Short() {
		t.Skip("takes ten windows of a second")
	}
	t.Parallel()
	const (
		processes, windows, limit = 4, 10, 400
		window                    = time.Second
	)
	b := bucket(limit, window)
	url := redis.URL(t)
	// What the first request decides: when the windows begin.
	take(t, redislimiter.New(redislimiter.Single{redis.Connect(t, url)}, redislimiter.Options{}), b)
	began := time.Now()
	var admitted [windows]atomic.Int64
	admitted[0].Add(1)
	var wg sync.WaitGroup
	for range processes {
		l := redislimiter.New(redislimiter.Single{redis.Connect(t, url)}, redislimiter.Options{})
		for range 2 {
			wg.Go(func() {
				for {
					a, err := l.Take(t.Context(), b)
					since := time.Since(began)
					switch {
					case err != nil:
						t.Error(err)
						return
					case since >= windows*window:
						return
					case a.Admitted:
						admitted[since/window].Add(1)
					}
					time.Sleep(2 * time.Millisecond) // ten times what is allowed in all
				}
			})
		}
	}
	wg.Wait()
	total := int64(0)
	for i := range admitted {
		n := admitted[i].Load()
		total += n
		if n < limit*80/100 || n > limit*120/100 {
			t.Errorf("window %d admitted %d of %d", i+1, n, limit)
		}
	}
	if total < windows*limit*95/100 || total > windows*limit*101/100 {
		t.Errorf("%d admitted in %d windows of %d, more than 1 %% above or 5 %% below", total, windows, limit)
	}
	t.Logf("%d processes, %d windows of %d: %d admitted", processes, windows, limit, total)
}

func TestACallerThatWaitsAsToldIsAdmittedAtTheSecondTry(t *testing.T) {
	if testing.Short() {
		t.Skip("takes some windows of a second")
	}
	t.Parallel()
	const clients, rounds = 100, 3
	client := shared(t)
	l := redislimiter.New(redislimiter.Single{client}, redislimiter.Options{})
	var told, admitted atomic.Int64
	var wg sync.WaitGroup
	for i := range clients {
		wg.Go(func() {
			b := bucket(1+rand.IntN(20), time.Second)
			for range rounds {
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
				told.Add(1)
				if again := take(t, l, b); again.Admitted {
					admitted.Add(1)
				} else {
					t.Errorf("%d in a second: told to wait %v, waited %v, and refused: %+v", b.Limit.Limit, a.RetryAfter, wait, again)
				}
			}
		})
	}
	wg.Wait()
	t.Logf("%d of %d were admitted at the second try", admitted.Load(), told.Load())
}
