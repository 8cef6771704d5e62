package faults

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"waybill/test/redis"
)

// TestThreeProcessesActAsOne shows what processes on one Postgres and one
// Redis have in common.
func TestThreeProcessesActAsOne(t *testing.T) {
	alongside(t)
	cache := redis.Own(t)
	prices := newPrices(t)
	database := freshDatabase(t, Postgres)
	trio := serve(t, database, 3, "WAYBILL_REDIS_URL="+cache.URL, "WAYBILL_PRICING_URL="+prices.url())
	trio.may = append(trio.may, "409 IDEMPOTENCY_IN_PROGRESS", "429 RATE_LIMIT_EXCEEDED", "503 QUOTE_UNAVAILABLE")

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
	t.Run("one that prices slowly keeps the others from it", func(t *testing.T) {
		// It is a courtesy: on a machine that is too busy to ask Redis in 50 ms
		// each goes on by itself for a while.
		for tries := 1; !trio.courteous(t, prices); tries++ {
			if tries == 5 {
				t.Fatalf("in %d tries others priced too, or waited for the first", tries)
			}
			time.Sleep(2 * time.Second)
		}
	})
	t.Run("each bounds the requests of an application in flight", func(t *testing.T) { trio.crowd(t, prices) })
	t.Run("a key that is revoked stops on all", func(t *testing.T) { trio.revoke(t) })
	trio.settle(t, "three processes", openDatabase(t, database), Postgres)
}

// shareLimit sends more requests than a limit allows to all servers. As long
// as they ask Redis they allow what it is, one in a hundred more or less; on a
// machine that is too busy to ask it in 30 ms they count for themselves, and that
// time says nothing.
func (s *shop) shareLimit(t *testing.T) {
	t.Helper()
	const limit, tries = 600, 5 // of which each server counts the first half ahead of Redis
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
	t.Errorf("in %d tries Redis was not always asked", tries)
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

// courteous sends an order to one process, which is kept waiting for its
// price, and meanwhile to all of them, and tells whether these said at once that
// it is in progress.
func (s *shop) courteous(t *testing.T, prices *prices) bool {
	t.Helper()
	j := newClerk(0, 0).single()
	s.remember(j)
	asked := prices.hang()
	told := make(chan reply, 1)
	go func() {
		r, err := s.sender.post(t.Context(), j, s.sender.targets[0])
		if err != nil {
			t.Error(err)
		}
		told <- r
	}()
	<-asked
	refused := 0
	for _, target := range s.sender.targets {
		soon, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		r, err := s.sender.post(soon, j, target)
		cancel()
		if err == nil && r.String() == "409 IDEMPOTENCY_IN_PROGRESS" && r.retryAfter == 1 {
			refused++
		}
	}
	questions := prices.release()
	first := <-told
	if !s.sender.judge(j, first) {
		s.sender.send(t.Context(), j) // in the end it is created, whichever server asked for its price
	}
	for _, target := range s.sender.targets {
		s.sender.replay(t.Context(), j, target)
	}
	t.Logf("%d of %d were told that it is in progress, %d asked for a price, the first was answered %s",
		refused, len(s.sender.targets), questions, first)
	return refused == len(s.sender.targets) && questions == 1 && first.status == http.StatusCreated && !first.replayed
}

// mostInFlight is how many requests of an application one process works on.
const mostInFlight = 50

// crowd sends more than that to each process.
func (s *shop) crowd(t *testing.T, prices *prices) {
	t.Helper()
	const tooMany = 10
	prices.hang()
	clerk := newClerk(0, 0)
	refused := make([]atomic.Int64, len(s.sender.targets))
	again := make(chan struct{})
	var sends sync.WaitGroup
	for i, target := range s.sender.targets {
		for range mostInFlight + tooMany {
			j := clerk.single()
			s.remember(j)
			sends.Go(func() {
				r, err := s.sender.post(t.Context(), j, target)
				switch {
				case err != nil:
					t.Error(err)
				case r.String() == "429 RATE_LIMIT_EXCEEDED" && r.scope == "concurrency" && r.retryAfter == 1:
					refused[i].Add(1)
					<-again
					s.sender.send(t.Context(), j)
				case !s.sender.judge(j, r):
					t.Errorf("answered %s", r)
				}
			})
		}
	}
	for i := range refused {
		until(t, "what is too much is refused", time.Minute, func() bool { return refused[i].Load() >= tooMany })
	}
	prices.release()
	close(again)
	sends.Wait()
	for i := range refused {
		if n := refused[i].Load(); n != tooMany {
			t.Errorf("of %d requests at a time %d were refused, want %d", mostInFlight+tooMany, n, tooMany)
		}
	}
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

// prices is a pricing service that can be made to think.
type prices struct {
	server *httptest.Server

	mu       sync.Mutex
	thinking chan struct{} // nil: it answers at once
	asked    chan struct{} // closed when something was asked since
	count    int
}

func newPrices(t *testing.T) *prices {
	t.Helper()
	p := &prices{}
	p.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.think(r.Context())
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.Copy(w, strings.NewReader(
			`{"currency":"GHS","fee":24.5,"distance_km":5.3,"distance_source":"road","requires_custom_quote":false}`))
	}))
	t.Cleanup(p.server.Close)
	return p
}

func (p *prices) url() string { return p.server.URL }

func (p *prices) think(ctx context.Context) {
	p.mu.Lock()
	if p.count++; p.count == 1 && p.asked != nil {
		close(p.asked)
	}
	thinking := p.thinking
	p.mu.Unlock()
	if thinking != nil {
		select {
		case <-thinking:
		case <-ctx.Done():
		}
	}
}

// hang lets every question wait from now on. The channel is closed when there
// is one.
func (p *prices) hang() (asked <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.thinking, p.asked, p.count = make(chan struct{}), make(chan struct{}), 0
	return p.asked
}

// release answers what was asked since, and tells how much that was.
func (p *prices) release() (questions int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	close(p.thinking)
	p.thinking = nil
	return p.count
}
