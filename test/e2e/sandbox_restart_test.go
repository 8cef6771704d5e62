package e2e

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"
)

// A scenario outlives the process that plays it: it goes on where it was,
// never early, with every event once.
func TestLongSandboxScenariosOutliveARestart(t *testing.T) {
	t.Parallel()
	for _, dialect := range []string{sqlite, postgres} {
		t.Run(dialect, func(t *testing.T) {
			t.Parallel()
			s := start(t, dialect, "WAYBILL_RATE_LIMIT_PER_KEY=1000000/60s")
			restart := func(end func(testing.TB), down time.Duration) {
				t.Helper()
				end(t)
				s.connections.CloseIdleConnections()
				<-time.After(down)
				s.launch(t)
			}
			outlives(t, s, func(reached func(step string)) {
				reached("1")
				restart(s.terminate, 0)
				reached("3")
				restart(s.kill, 1200*time.Millisecond) // a step falls due meanwhile
			})
		})
	}
}

// outlives books every scenario, and disturbs what plays them; reached waits
// until the longest is at a step.
func outlives(t *testing.T, s *server, disturb func(reached func(step string))) {
	t.Helper()
	c := s.loner(t, sandbox)
	names := slices.Sorted(maps.Keys(scripts))
	var orders []m
	for range 3 { // all around the moment of a stop
		for _, scenario := range names {
			orders = append(orders, anOrder(simulated(scenario, 1)))
		}
	}
	ids := c.post("/deliveries/bulk", aBulk(orders...)).outcomes(times("created", len(orders))...).booked()
	slow := c.post("/deliveries", anOrder(simulated("failed_then_retried", 1))).is(201).id()
	resting := c.post("/deliveries", anOrder(simulated("delivered", 1))).is(201).id()
	stopped := c.stop(resting).is(200)

	reached := func(step string) {
		t.Helper()
		eventually(t, "the scenario is at step "+step, func() bool {
			return c.get("/deliveries/"+slow).is(200).text("data.simulation.step") >= step
		})
	}
	disturb(reached)
	reached("8")

	for i, id := range append(ids, slow) {
		scenario := "failed_then_retried"
		if i < len(ids) {
			scenario = names[i%len(names)]
		}
		w := &watch{client: c, id: id, scenario: scenario, script: scripts[scenario]}
		eventually(t, fmt.Sprintf("%s has ended", scenario), func() bool {
			return c.get("/deliveries/"+id).is(200).text("data.simulation.status") != "running"
		})
		w.seen = append(w.seen, c.get("/deliveries/"+id).is(200))
		w.check(w.seen[0])
		w.finished()
	}
	c.get("/deliveries/"+resting).is(200).has("data.status", "booked", "data.updated_at", stopped.text("data.updated_at")).
		simulation("delivered", "stopped", 0, 4)
}
