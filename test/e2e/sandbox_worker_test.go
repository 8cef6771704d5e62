package e2e

import (
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"waybill/test/redis"
)

// fleet is a layout of production on one Postgres and one Redis: a server, and
// a worker that a test starts.
type fleet struct {
	*server
	worker *server
}

func startFleet(t *testing.T, settings ...string) *fleet {
	t.Helper()
	s := prepare(t, postgres, append(settings, "WAYBILL_REDIS_URL="+redis.Own(t).URL, "WAYBILL_RATE_LIMIT_PER_KEY=1000000/60s",
		"WAYBILL_KEY_PEPPER=the-pepper-of-a-whole-fleet-in-a-test", "WAYBILL_SECRET_KEY=the-secret-of-a-whole-fleet-in-a-test")...)
	s.hide("the-pepper-of-a-whole-fleet-in-a-test", "the-secret-of-a-whole-fleet-in-a-test")
	s.args = []string{"serve", "--json"}
	s.launch(t)
	t.Cleanup(func() { s.stop(t) })
	w := &server{dialect: s.dialect, args: []string{"worker", "--json"}, dir: t.TempDir(), env: s.env, secrets: s.secrets,
		connections: s.connections}
	w.logs = filepath.Join(w.dir, "worker.log")
	return &fleet{s, w}
}

// work starts the worker until the test ends.
func (f *fleet) work(t *testing.T) {
	t.Helper()
	f.worker.launch(t)
	t.Cleanup(func() { f.worker.stop(t) })
}

func TestLongSandboxScenariosArePlayedByAWorker(t *testing.T) {
	t.Parallel()
	f := startFleet(t)
	f.work(t)
	playedAsWritten(t, f.server)
}

func TestLongSandboxScenariosOutliveTheirWorker(t *testing.T) {
	t.Parallel()
	f := startFleet(t)
	f.work(t)
	// The server plays nothing, and the next worker goes on where the last was.
	restart := func(end func(testing.TB), reached func(string) *answer, step string) {
		t.Helper()
		reached(step)
		end(t)
		<-time.After(200 * time.Millisecond) // the database may have a commit of it still
		was := reached(step)
		<-time.After(1200 * time.Millisecond) // a step falls due
		if now := reached(step); now.text("data") != was.text("data") {
			t.Errorf("without a worker %s became %s", was.body, now.body)
		}
		f.worker.launch(t)
	}
	outlives(t, f.server, func(reached func(string) *answer) {
		restart(f.worker.terminate, reached, "1")
		restart(f.worker.kill, reached, "3")
	})
}

// While no worker does the steps, the Retry-After of one more simulation is as
// long as the next end is overdue.
func TestLongTheSimulationLimitBacksOffWithoutAWorker(t *testing.T) {
	t.Parallel()
	f := startFleet(t)
	c := f.loner(t, sandbox)
	booked := c.post("/deliveries/bulk", aBulk(manyOrders(100, func(int) change { return simulated("failed_at_pickup", 1) })...)).
		outcomes(times("created", 100)...)
	var ends []time.Time
	for i := range 100 {
		ends = append(ends, booked.instant(fmt.Sprintf("data.results.%d.delivery.created_at", i)).Add(2*time.Second))
	}
	first := slices.MinFunc(ends, time.Time.Compare)
	refused := func() (wait time.Duration) {
		t.Helper()
		return time.Duration(c.post("/deliveries", anOrder(simulated("delivered", 1))).refused(429, "SIMULATION_LIMIT").number(t,
			"Retry-After")) * time.Second
	}
	for _, overdue := range []time.Duration{0, 3 * time.Second, 5 * time.Second} {
		<-time.After(time.Until(first.Add(overdue)))
		least := max(overdue, time.Second)
		if wait, most := refused(), max(time.Since(first)+time.Second, time.Second); wait < least || wait > most {
			t.Errorf("%s overdue it says %s, want %s to %s", overdue, wait, least, most)
		}
	}
	f.work(t)
	eventually(t, "there is room when a worker has come", func() bool {
		return c.post("/deliveries", anOrder(simulated("delivered", 1))).status == 201
	})
}
