package faults

import (
	"fmt"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"waybill/test/redis"
)

// manyServers are behind one balancer in a large installation.
const manyServers = 8

// TestEightProcessesLetThroughOneLimit hammers limits of a customer at eight servers at once,
// and then once more while Redis is gone.
func TestEightProcessesLetThroughOneLimit(t *testing.T) {
	alongside(t)
	cache := redis.Own(t)
	database := freshDatabase(t, Postgres)
	s := serve(t, database, manyServers, "WAYBILL_REDIS_URL="+cache.URL)
	t.Run("by the minute", func(t *testing.T) { s.shareLimit(t) })
	t.Run("by the second", func(t *testing.T) { s.shareSeconds(t) })
	t.Run("without Redis each process counts from what it knew", func(t *testing.T) { s.limitAlone(t, cache.Kill) })
}

// shareSeconds sends more requests than a limit by the second allows, for some seconds. A
// second that the machine was too busy to ask Redis in, or to send enough, says nothing.
func (s *shop) shareSeconds(t *testing.T) {
	t.Helper()
	limit, lasting := 100, 5*time.Second
	if full() {
		limit, lasting = 400, 30*time.Second
	}
	const tries = 5
	for range tries {
		before := s.fallbacks(t)
		admitted, gap := s.hammer(t, limit, lasting)
		alone := s.fallbacks(t) - before
		want := limit * int(lasting/time.Second)
		t.Logf("%d requests were admitted in %s, the limit is %d a second; %d were not counted in Redis, none was sent for %s", admitted,
			lasting, limit, alone, gap)
		if admitted >= want-want/100 && admitted <= want+want/100 {
			return
		}
		if admitted > want && alone == 0 {
			break // of that no machine is to blame
		}
	}
	t.Errorf("want the limit, give or take one in a hundred; there were %d tries at most", tries)
}

// hammer sends requests of a new business, which has the limit by the second, to all servers for
// so long, and tells how many were admitted, and the longest time
// in which no answer came.
func (s *shop) hammer(t *testing.T, limit int, lasting time.Duration) (admitted int, gap time.Duration) {
	t.Helper()
	who := newSender(enroll(t, s.binary, s.env, fmt.Sprintf("%d/1s", limit)), s.servers)
	who.client = s.sender.client
	var mu sync.Mutex
	var group sync.WaitGroup
	first := time.Now() // the window begins later, when the first of them is counted
	var answered []time.Time
	for _, target := range who.targets {
		group.Go(func() {
			for {
				r, err := who.get(t.Context(), target+"/api-key")
				now := time.Now()
				mu.Lock()
				over := now.Sub(first) >= lasting
				answered = append(answered, now)
				switch {
				case err != nil || r.status != http.StatusOK && (r.String() != "429 RATE_LIMIT_EXCEEDED" || r.scope != "business"):
					t.Errorf("answered %s of %q (error %v)", r, r.scope, err)
					over = true
				case r.status == http.StatusOK && !over:
					admitted++
				}
				mu.Unlock()
				if over {
					return
				}
			}
		})
	}
	group.Wait()
	slices.SortFunc(answered, time.Time.Compare)
	for i := range answered[1:] {
		gap = max(gap, answered[i+1].Sub(answered[i]))
	}
	return admitted, gap
}

// limitAlone shows what processes admit that cannot ask: together no more than each what was
// left when it last heard of the limit, or each a whole limit of which it never heard. No
// request fails.
func (s *shop) limitAlone(t *testing.T, kill func()) {
	t.Helper()
	const limit, left = 80, 16
	known := newSender(enroll(t, s.binary, s.env, fmt.Sprintf("%d/1h", limit)), s.servers)
	known.client = s.sender.client
	admitted := s.send(t, known, limit-left)
	if admitted != limit-left {
		t.Fatalf("%d of %d requests far below the limit were admitted", admitted, limit-left)
	}
	unknown := newSender(enroll(t, s.binary, s.env, fmt.Sprintf("%d/1h", limit)), s.servers)
	unknown.client = s.sender.client
	kill()
	// The last answer that the first of them heard was before that of all others.
	most := manyServers * (left + manyServers)
	alone := s.send(t, known, manyServers*limit)
	t.Logf("without Redis %d processes admitted %d requests, and %d were left", manyServers, alone, left)
	if alone > most || alone < left {
		t.Errorf("want at most %d", most)
	}
	if whole := s.send(t, unknown, 2*manyServers*limit); whole != manyServers*limit {
		t.Errorf("of a limit that none of them had heard of they admitted %d, want %d each", whole, limit)
	}
}
