package faults

import (
	"net/http"
	"testing"
	"time"

	"waybill/test/backend"
)

// healedWithin is how long after a partition has healed everything goes on by
// itself, in the processes that were cut off: 10 s, and a minute beside other tests.
func healedWithin() time.Duration {
	if full() {
		return 10 * time.Second
	}
	return time.Minute
}

// network is one that can be cut.
type network interface {
	URL(t testing.TB, address string) string
	Cut(lost backend.Direction)
	Heal()
}

// swallowing is a network that keeps what it was given, and dropping one whose
// packets the kernel drops.
func swallowing(t *testing.T, to string) network { return backend.NewLink(t, to) }
func dropping(t *testing.T, to string) network   { return backend.NewDropping(t, to) }

// towns are a server and a worker, each with networks of its own to Postgres and
// to Redis.
type towns struct{ serverData, workerData, serverCache, workerCache network }

// cut is a partition.
type cut struct {
	name  string
	of    func(towns) []network
	lost  backend.Direction
	lasts time.Duration
}

func fromPostgres(t towns) []network   { return []network{t.serverData, t.workerData} }
func fromRedis(t towns) []network      { return []network{t.serverCache, t.workerCache} }
func serverAlone(t towns) []network    { return []network{t.serverData} }
func workerAlone(t towns) []network    { return []network{t.workerData} }
func fromEverything(t towns) []network { return append(fromPostgres(t), fromRedis(t)...) }

// TestAPartitionHealsByItself cuts a server and a worker off from Postgres, and
// from Redis, while orders are placed and moved. No connection that was open then
// ever works again, and none that was dialled meanwhile.
func TestAPartitionHealsByItself(t *testing.T) {
	if !full() {
		heals(t, swallowing, []cut{
			{"Postgres", fromPostgres, backend.BothWays, 5 * time.Second},
			{"Redis", fromRedis, backend.BothWays, 5 * time.Second},
		})
		return
	}
	for _, lasts := range []time.Duration{5 * time.Second, 15 * time.Second, 70 * time.Second, 300 * time.Second} {
		t.Run(lasts.String(), func(t *testing.T) {
			var cuts []cut
			for _, lost := range []backend.Direction{backend.BothWays, backend.Sent, backend.Received} {
				cuts = append(cuts, cut{"Postgres", fromPostgres, lost, lasts}, cut{"Redis", fromRedis, lost, lasts})
			}
			if lasts < time.Minute {
				for _, lost := range []backend.Direction{backend.BothWays, backend.Sent, backend.Received} {
					cuts = append(cuts, cut{"Postgres, the server alone", serverAlone, lost, lasts}, cut{"Postgres, the worker alone", workerAlone, lost,
						lasts})
				}
				cuts = append(cuts, cut{"Postgres and Redis", fromEverything, backend.BothWays, lasts})
			}
			heals(t, swallowing, cuts)
		})
	}
}

// TestAPartitionThatDropsPacketsHealsByItself is the same with packets that the
// kernel drops, so that it learns of nothing and sends again.
func TestAPartitionThatDropsPacketsHealsByItself(t *testing.T) {
	if !full() {
		t.Skip("makes network namespaces; make storm runs it")
	}
	for _, lasts := range []time.Duration{15 * time.Second, 70 * time.Second} {
		t.Run(lasts.String(), func(t *testing.T) {
			var cuts []cut
			for _, lost := range []backend.Direction{backend.BothWays, backend.Sent, backend.Received} {
				cuts = append(cuts, cut{"Postgres", fromPostgres, lost, lasts})
			}
			heals(t, dropping, append(cuts, cut{"Redis", fromRedis, backend.BothWays, lasts}))
		})
	}
}

// heals wants a server and a worker to go on behind each of these cuts.
func heals(t *testing.T, over func(t *testing.T, to string) network, cuts []cut) {
	t.Helper()
	alongside(t)
	cache := backend.OwnRedis(t)
	direct := freshDatabase(t, Postgres)
	between := towns{over(t, direct), over(t, direct), over(t, cache.URL), over(t, cache.URL)}
	through := func(data, queue network) []string {
		return []string{"WAYBILL_DATABASE_URL=" + data.URL(t, direct), "WAYBILL_REDIS_URL=" + queue.URL(t, cache.URL)}
	}
	p := newPost(t, setting{dialect: Postgres, url: direct, redis: cache.URL, servers: 1, workers: 1, apps: 2, each: [][]string{
		through(between.serverData, between.serverCache), through(between.workerData, between.workerCache),
	}})
	p.receive(t, p.apps[0], takes)
	p.receive(t, p.apps[1], thinks(10*time.Millisecond))

	enough, clients := make(chan struct{}), 6
	pause := 20 * time.Millisecond
	if full() {
		clients, pause = 4, 100*time.Millisecond // there are other tests beside these minutes
	}
	writing := p.write(t.Context(), clients, pause, func() bool {
		select {
		case <-enough:
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
			for _, n := range c.of(between) {
				n.Cut(c.lost)
			}
			time.Sleep(c.lasts) // the length of the fault, and no wait for anything
			for _, n := range c.of(between) {
				n.Heal()
			}
		})
		healed := time.Now()
		until(t, "the server is ready", 2*healedWithin(), func() bool { return p.ready(t, p.servers[0]) && p.ready(t, p.workers[0]) })
		ready := time.Since(healed)
		written := p.written.Load()
		until(t, "events are written again", 2*healedWithin(), func() bool { return p.written.Load() >= written+some })
		served := time.Since(healed)
		var arrived []int
		for _, r := range p.receivers {
			arrived = append(arrived, r.taken())
		}
		until(t, "webhooks arrive again", 2*healedWithin(), func() bool {
			for i, r := range p.receivers {
				if r.taken() < arrived[i]+some/4 {
					return false
				}
			}
			return true
		})
		t.Logf("%s, %s lost for %s: ready %.1f s after healing, %d events after %.1f s, webhooks to both receivers after %.1f s",
			c.name, c.lost, c.lasts, ready.Seconds(), some, served.Seconds(), time.Since(healed).Seconds())
		if took := time.Since(healed); took > healedWithin() {
			t.Errorf("that is more than %s", healedWithin())
		}
	}
	close(enough)
	writing.Wait()
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
