package e2e

import (
	"slices"
	"testing"
	"time"
)

func TestSandboxSimulationsStartAndStopByHand(t *testing.T) {
	both(t, func(t *testing.T, s *server) {
		c := s.caller(t, sandbox)
		booked := c.post("/deliveries", anOrder()).is(201).simulation("manual", "idle", 0, 0)
		id := booked.id()
		later := func(a, b *answer) {
			t.Helper()
			if !b.instant("data.updated_at").After(a.instant("data.updated_at")) || a.header.Get("ETag") != "" &&
				a.header.Get("ETag") == b.header.Get("ETag") {
				t.Errorf("%s is followed by %s with the same updated_at or ETag", a.body, b.body)
			}
			if read := c.get("/deliveries/" + id).is(200); read.text("data") != b.text("data") {
				t.Errorf("%s answered %s, a read shows %s", b.what, b.body, read.body)
			}
		}
		same := func(a, b *answer) {
			t.Helper()
			if a.text("data") != b.is(200).text("data") {
				t.Errorf("%s changed %s to %s", b.what, a.body, b.body)
			}
		}

		// Nothing to stop, and nothing to start.
		same(booked, c.stop(id))
		same(booked, c.simulate(id, "manual", 5))

		started := c.simulate(id, "delivered", 100).is(200).simulation("delivered", "running", 0, 4).has("data.status", "booked")
		started.has("data.simulation.next_step_at", show(started.instant("data.updated_at").Add(100*time.Second)))
		later(booked, started)
		stopped := c.stop(id).is(200).simulation("delivered", "stopped", 0, 4).has("data.status", "booked")
		later(started, stopped)
		same(stopped, c.stop(id))
		same(stopped, c.stop(id))

		byHand := c.simulate(id, "manual", 1).is(200).simulation("manual", "idle", 0, 0)
		later(stopped, byHand)
		same(byHand, c.simulate(id, "manual", 1))
		if got := timeline(t, c, id); !slices.Equal(got, []string{"booked"}) {
			t.Errorf("starting and stopping left the timeline %v", got)
		}

		c.send("POST", "/deliveries/"+id+"/cancel", nil).is(200)
		c.simulate(id, "delivered", 1).refused(409, "SIMULATION_NOT_APPLICABLE").has("error.details.status", "cancelled")
	})
}

func TestSandboxRunsAHundredSimulationsOfAnApplication(t *testing.T) {
	both(t, func(t *testing.T, s *server) {
		c := s.caller(t, sandbox)
		full := func(a *answer, least, most int) *answer {
			t.Helper()
			a.refused(429, "SIMULATION_LIMIT").has("error.details.limit", "100", "error.details.running", "100")
			if wait := a.number(t, "Retry-After"); wait < least || wait > most {
				t.Errorf("%s: Retry-After is %d, want %d to %d", a.what, wait, least, most)
			}
			return a
		}
		// 98 of them in one request, beside some that nothing moves.
		orders := manyOrders(100, func(i int) change {
			if i%50 == 0 {
				return drop()
			}
			return simulated("delivered", 300)
		})
		first := c.post("/deliveries/bulk", aBulk(orders...)).outcomes(times("created", 100)...).booked()
		c.post("/deliveries", anOrder(simulated("delayed", 300))).is(201)
		// The 100th ends first: what is left of its two steps is what to wait for.
		c.post("/deliveries", anOrder(simulated("failed_at_pickup", 150))).is(201)

		key := newKeyText()
		full(c.post("/deliveries", anOrder(simulated("delivered", 1)), idem(key)), 240, 300)
		// As an item it fails alone; what nothing moves is booked.
		more := manyOrders(2)
		apply(more[1], []change{simulated("stalled", 1)})
		idle := c.post("/deliveries/bulk", aBulk(more...)).outcomes("created", "SIMULATION_LIMIT").booked()[0]
		full(c.simulate(idle, "delivered", 1), 240, 300)

		// It is counted by application; a colleague starts what it likes.
		colleague := s.caller(t, sandbox)
		colleague.post("/deliveries", anOrder(simulated("delivered", 300))).is(201).simulation("delivered", "running", 0, 4)

		// Stopping or cancelling one makes room for one other.
		c.stop(first[1]).is(200)
		c.stop(first[1]).is(200)
		c.post("/deliveries", anOrder(simulated("delivered", 300)), idem(key)).is(201).replayed(false)
		full(c.simulate(first[1], "delivered", 1), 240, 300)
		c.send("POST", "/deliveries/"+first[2]+"/cancel", nil).is(200)
		c.simulate(first[1], "delivered", 300).is(200)

		// Of many at once no more get in than there is room for.
		for _, id := range first[3:8] {
			c.stop(id).is(200)
		}
		got := map[int]int{}
		for _, a := range atOnce(t, 20, func(i int) (*answer, error) {
			order, key := anOrder(simulated("delivered", 300)), idem(newKeyText())
			for {
				// They wait for one another; one that waited too long is to ask again.
				if a, err := c.try("POST", "/deliveries", order, key); err != nil || a.status != 503 {
					return a, err
				}
			}
		}) {
			got[a.status]++
			if a.status != 201 {
				full(a, 240, 300)
			}
		}
		if got[201] != 5 || got[429] != 15 {
			t.Errorf("room for 5 was given to %v", got)
		}
	})
}
