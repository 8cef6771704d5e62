package faults

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"waybill/test/backend"
)

// TestThreeProcessesActAsOne shows what processes on one Postgres and one
// Redis have in common.
func TestThreeProcessesActAsOne(t *testing.T) {
	alongside(t)
	cache := backend.OwnRedis(t)
	database := freshDatabase(t, Postgres)
	trio := serve(t, database, 3, "WAYBILL_REDIS_URL="+cache.URL)
	trio.may = append(trio.may, inProgress, crowded)

	t.Run("they count against one limit", func(t *testing.T) { trio.shareLimit(t) })
	t.Run("a key that is used on all of them at once creates once", func(t *testing.T) {
		clerk := newClerk(0, 50)
		for n := range 40 {
			j := clerk.single()
			if n%4 == 0 {
				j = clerk.bulk(5, nil)
			}
			trio.remember(j)
			var sends sync.WaitGroup
			for _, target := range trio.sender.targets {
				sends.Go(func() {
					for !trio.sender.try(t.Context(), j, target) {
						time.Sleep(20 * time.Millisecond)
					}
				})
			}
			sends.Wait()
		}
	})
	t.Run("a key that is revoked stops on all", func(t *testing.T) { trio.revoke(t) })
	trio.settle(t, "three processes", openDatabase(t, database), Postgres)
}

// shareLimit sends more requests than a limit allows to all servers. As long
// as they ask Redis they allow what it is, one in a hundred more or less; on a
// machine that is too busy to ask it in 30 ms they count for themselves, and that
// time says nothing.
func (s *shop) shareLimit(t *testing.T) {
	t.Helper()
	const limit, tries = 600, 5
	for range tries {
		s.countsInRedis(t)
		before := s.fallbacks(t)
		admitted := s.spend(t, fmt.Sprintf("%d/60s", limit), 2*limit)
		if alone := s.fallbacks(t) - before; alone > 0 {
			t.Logf("%d of %d requests were admitted, %d were not counted in Redis", admitted, 2*limit, alone)
			continue
		}
		t.Logf("%d of %d requests were admitted, the limit is %d", admitted, 2*limit, limit)
		if admitted < limit-limit/100 || admitted > limit+limit/100 {
			t.Errorf("want %d, give or take one in a hundred", limit)
		}
		return
	}
	t.Logf("in %d tries Redis was not always asked: the machine is too busy to judge the limit", tries)
}

// countsInRedis waits until the servers ask Redis.
func (s *shop) countsInRedis(t *testing.T) {
	t.Helper()
	until(t, "the servers ask Redis", time.Minute, func() bool {
		before := s.fallbacks(t)
		s.spend(t, "10/60s", 20)
		return s.fallbacks(t) == before
	})
}

// fallbacks counts the calls that the servers' own limiters answered.
func (s *shop) fallbacks(t *testing.T) (n int) {
	t.Helper()
	for _, v := range s.servers {
		res, err := http.Get("http://" + v.ops + "/metrics")
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(res.Body)
		_ = res.Body.Close()
		if err != nil {
			t.Fatal(err)
		}
		_, value, found := strings.Cut(string(text), "\nwaybill_rate_limiter_fallbacks_total ")
		value, _, _ = strings.Cut(value, "\n")
		count, err := strconv.ParseFloat(value, 64)
		if !found || err != nil {
			t.Fatalf("no metric of fallbacks: %q", value)
		}
		n += int(count)
	}
	return n
}

// spend sends so many requests of a new business, which has the limit, and
// tells how many were admitted.
func (s *shop) spend(t *testing.T, limit string, requests int) (admitted int) {
	t.Helper()
	who := newSender(enroll(t, s.binary, s.env, limit), s.servers)
	who.client = s.sender.client
	return s.send(t, who, requests)
}

// send sends so many requests to all servers in turn, and tells how many were admitted. All
// others have to be told why.
func (s *shop) send(t *testing.T, who *sender, requests int) (admitted int) {
	t.Helper()
	var mu sync.Mutex
	var group sync.WaitGroup
	next := make(chan int)
	for range customers {
		group.Go(func() {
			for i := range next {
				r, err := who.get(t.Context(), who.targets[i%len(who.targets)]+"/api-key")
				mu.Lock()
				switch {
				case err == nil && r.status == http.StatusOK:
					admitted++
				case err != nil || r.String() != "429 RATE_LIMIT_EXCEEDED" || r.scope != "business" || r.retryAfter < 1:
					t.Errorf("answered %s of %q with Retry-After %d (error %v)", r, r.scope, r.retryAfter, err)
				}
				mu.Unlock()
			}
		})
	}
	for i := range requests {
		next <- i
	}
	close(next)
	group.Wait()
	return admitted
}

// revoke revokes the key of a new customer on the command line.
func (s *shop) revoke(t *testing.T) {
	t.Helper()
	c := enroll(t, s.binary, s.env, noLimit)
	who := newSender(c, s.servers)
	ask := func(target string) string {
		r, err := who.get(t.Context(), target+"/api-key")
		if err != nil {
			t.Fatal(err)
		}
		return r.String()
	}
	for _, target := range who.targets {
		if got := ask(target); got != "200" {
			t.Fatalf("before: %s", got)
		}
	}
	if err := command(t.Context(), s.binary, s.env, nil, "key", "revoke", c.KeyID); err != nil {
		t.Fatal(err)
	}
	revoked := time.Now()
	for _, target := range who.targets {
		until(t, "the key is refused", time.Minute, func() bool { return ask(target) == "401 API_KEY_REVOKED" })
	}
	t.Logf("no process took the key %s after it was revoked", time.Since(revoked))
}

// get asks for what costs no idempotency key.
func (s *sender) get(ctx context.Context, url string) (reply, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return reply{}, err
	}
	return s.do(req)
}
