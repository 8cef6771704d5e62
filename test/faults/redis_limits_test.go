package faults

import (
	"context"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

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
	who := newSender(enroll(t, s.env, limit), s.servers)
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

// get asks for what costs no idempotency key.
func (s *sender) get(ctx context.Context, url string) (reply, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return reply{}, err
	}
	return s.do(req)
}
