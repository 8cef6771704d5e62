package faults

import (
	"net/http"
	"testing"
	"time"

	"waybill/test/partition"
	"waybill/test/redis"
)

// healedWithin is how long after a partition has healed everything goes on by
// itself, in the processes that were cut off: 10 s, and beside other tests, on a
// machine that may be half as fast, three times that.
func healedWithin() time.Duration {
	if full() {
		return 10 * time.Second
	}
	return 30 * time.Second
}

// TestAPartitionHealsByItself cuts a server and a worker off from Postgres, and
// from Redis, while orders are placed and moved. No connection that was open then
// ever works again, and none that was dialled meanwhile.
func TestAPartitionHealsByItself(t *testing.T) {
	alongside(t)
	cache := redis.Own(t)
	direct := freshDatabase(t, Postgres)
	data, queue := partition.New(t, direct), partition.New(t, cache.URL)
	p := newPost(t, setting{engine: Postgres, url: direct, redis: cache.URL, servers: 1, workers: 1, apps: 2, with: []string{
		"WAYBILL_DATABASE_URL=" + data.URL(t, direct), "WAYBILL_REDIS_URL=" + queue.URL(t, cache.URL), // the last one counts
	}})
	p.receive(t, p.apps[0], takes)
	p.receive(t, p.apps[1], thinks(10*time.Millisecond))

	type cut struct {
		name  string
		link  *partition.Link
		lost  partition.Direction
		lasts time.Duration
	}
	cuts := []cut{{"Postgres", data, partition.BothWays, 6 * time.Second}, {"Postgres", data, partition.Received, 5 * time.Second}, {"Redis", queue, partition.BothWays, 5 * time.Second}}
	if full() {
		cuts = nil
		for _, lasts := range []time.Duration{5 * time.Second, 15 * time.Second, 70 * time.Second, 300 * time.Second} {
			for _, lost := range []partition.Direction{partition.BothWays, partition.Sent, partition.Received} {
				cuts = append(cuts, cut{"Postgres", data, lost, lasts}, cut{"Redis", queue, lost, lasts})
			}
		}
	}
	over := make(chan struct{})
	clients := p.write(t.Context(), 6, 20*time.Millisecond, func() bool {
		select {
		case <-over:
			return true
		default:
			return false
		}
	})
	const some = 40
	written := p.written.Load()
	until(t, "events are written", time.Minute, func() bool { return p.written.Load() >= written+some })
	for _, c := range cuts {
		p.struck(func() {
			c.link.Cut(c.lost)
			time.Sleep(c.lasts) // the length of the fault, and no wait for anything
			c.link.Heal()
		})
		healed := time.Now()
		until(t, "the server is ready", healedWithin(), func() bool { return p.ready(t, p.servers[0]) && p.ready(t, p.workers[0]) })
		ready := time.Since(healed)
		written := p.written.Load()
		until(t, "events are written again", healedWithin(), func() bool { return p.written.Load() >= written+some })
		served := time.Since(healed)
		arrived := p.receivers[0].taken()
		until(t, "webhooks arrive again", healedWithin(), func() bool { return p.receivers[0].taken() >= arrived+some/4 })
		t.Logf("%s, %s lost for %s: ready %.1f s after healing, %d events after %.1f s, webhooks after %.1f s",
			c.name, c.lost, c.lasts, ready.Seconds(), some, served.Seconds(), time.Since(healed).Seconds())
		if took := time.Since(healed); took > healedWithin() {
			t.Errorf("that is more than %s", healedWithin())
		}
	}
	close(over)
	clients.Wait()
	took := p.drain(t, time.Minute)
	l := p.audit(t)
	// What was sent when the wire was cut, and could not be stored, is sent again.
	l.most = len(cuts) * len(p.receivers) * mostUnstored
	t.Logf("%d partitions; %.1f s after the last event all was sent: %s (answers: %s)", len(cuts), took.Seconds(), l, p.answered(t))
	if !l.sound() {
		t.Error("want every acknowledged event with every receiver")
	}
	for _, app := range p.apps {
		if n := app.count("500 INTERNAL_SERVER_ERROR"); n > 0 {
			t.Errorf("%d answers blamed the service itself", n)
		}
	}
}

// ready reports what a process says of itself.
func (p *post) ready(t *testing.T, v *victim) bool {
	t.Helper()
	res, err := http.Get("http://" + v.ops + "/readyz")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	return res.StatusCode == http.StatusOK
}
