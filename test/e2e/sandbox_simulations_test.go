package e2e

import (
	"slices"
	"strings"
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

		again := c.simulate(id, "no_rider_found", 50).is(200).simulation("no_rider_found", "running", 0, 1)
		again.has("data.simulation.next_step_at", show(again.instant("data.updated_at").Add(150*time.Second)))
		later(stopped, again)
		rest := c.stop(id).is(200).simulation("no_rider_found", "stopped", 0, 1)
		later(again, rest)
		byHand := c.simulate(id, "manual", 1).is(200).simulation("manual", "idle", 0, 0)
		later(rest, byHand)
		same(byHand, c.simulate(id, "manual", 1))
		if got := timeline(t, c, id); !slices.Equal(got, []string{"booked"}) {
			t.Errorf("starting and stopping left the timeline %v", got)
		}

		// Not from any other status.
		for _, name := range allStatuses[1:] {
			id := c.bring(stands[name].way)
			for _, scenario := range []string{"delivered", "manual", "cod_refused"} {
				c.simulate(id, scenario, 1).refused(409, "SIMULATION_NOT_APPLICABLE").has("error.details.status", name,
					"error.details.scenario", scenario, "error.details.payment_type", "delivery_only", "error.details.applicable_scenarios", "[]")
			}
			c.stop(id).is(200).has("data.status", name).simulation("manual", "idle", 0, 0)
		}
	})
}

func TestSandboxScenariosMustFitThePayment(t *testing.T) {
	both(t, func(t *testing.T, s *server) {
		c := s.caller(t, sandbox)
		unfit := func(a *answer) {
			t.Helper()
			a.refused(409, "SIMULATION_NOT_APPLICABLE").has("message", "Scenario cod_refused needs payment.type cod.",
				"error.details.scenario", "cod_refused", "error.details.payment_type", "delivery_only", "error.details.status", "booked")
			fit := a.text("error.details.applicable_scenarios")
			for scenario, script := range scripts {
				if strings.Contains(fit, scenario) != (script.payment == "") {
					t.Errorf("applicable are %s", fit)
				}
			}
			if a.count("error.details.applicable_scenarios") != len(scripts) { // manual, and all but one
				t.Errorf("applicable are %s", fit)
			}
		}
		plan := m{"scenario": "cod_refused", "step_seconds": 300}
		key := newKeyText()
		unfit(c.post("/deliveries", anOrder(set("sandbox", plan)), idem(key)))
		// Fields, shapes and the recipient come before it, a name that is taken and a price after it.
		c.post("/deliveries", anOrder(set("sandbox", plan), set("vehicle_type", "boat"))).invalid("vehicle_type not_allowed")
		c.post("/deliveries", anOrder(set("sandbox", plan), drop("pickup"))).refused(422, "PICKUP_SHAPE_CONFLICT")
		c.post("/deliveries", anOrder(set("sandbox", plan), drop("pickup"), set("pickup_location_id", "pkp_x"))).refused(422,
			"PICKUP_LOCATION_NOT_FOUND")
		taken := c.post("/deliveries", anOrder(set("external_id", newExternalID()))).is(201).text("data.external_id")
		unfit(c.post("/deliveries", anOrder(set("sandbox", plan), set("external_id", taken))))
		c.post("/deliveries", anOrder(set("sandbox", plan), set("payment", m{"type": "cod"}))).refused(422, "COD_GOODS_VALUE_REQUIRED")

		id := c.post("/deliveries", anOrder(), idem(key)).is(201).id() // the key stayed free
		unfit(c.send("POST", helperOf(id, "simulation"), plan))
		c.get("/deliveries/"+id).is(200).simulation("manual", "idle", 0, 0)

		// In a bulk it is the item's own trouble, and it is found when the item is booked.
		orders := manyOrders(3)
		orders[1]["sandbox"] = plan
		a := c.post("/deliveries/bulk", aBulk(orders...)).outcomes("created", "SIMULATION_NOT_APPLICABLE", "created").
			has("data.results.1.error.message", "Scenario cod_refused needs payment.type cod.").lacks("data.results.1.error.details")
		if n := len(a.booked()); n != 2 {
			t.Errorf("%d were booked", n)
		}
		c.post("/deliveries/bulk", aBulk(orders[1])).outcomes("SIMULATION_NOT_APPLICABLE")
		paid := c.post("/deliveries", anOrder(set("sandbox", plan), set("payment", m{"type": "cod", "goods_value": 5}))).is(201).
			simulation("cod_refused", "running", 0, 4).id()
		c.stop(paid).is(200)
		c.send("POST", helperOf(paid, "simulation"), plan).is(200).simulation("cod_refused", "running", 0, 4)
	})
}

// A cancellation is one answer: the delivery is cancelled and nothing moves it.
func TestSandboxCancelStopsTheSimulation(t *testing.T) {
	both(t, func(t *testing.T, s *server) {
		c := s.caller(t, sandbox)
		for scenario := range scripts {
			booked := c.post("/deliveries", anOrder(simulated(scenario, 300))).is(201)
			id := booked.id()
			a := c.send("POST", "/deliveries/"+id+"/cancel", nil).is(200).has("data.status", "cancelled").
				simulation(scenario, "stopped", 0, len(scripts[scenario].statuses))
			events := c.get("/deliveries/"+id+"/events").is(200).has("data.1.type", "delivery.cancelled", "data.1.reason_code",
				"cancelled_by_caller",
				"data.1.occurred_at", a.text("data.updated_at"), "meta.limit", "2")
			for _, again := range []*answer{
				c.send("POST", "/deliveries/"+id+"/cancel", nil).is(200), c.stop(id).is(200), c.get("/deliveries/" + id).is(200),
			} {
				if again.text("data") != a.text("data") {
					t.Errorf("%s answered %s after %s", again.what, again.body, a.body)
				}
			}
			c.simulate(id, scenario, 1).refused(409, "SIMULATION_NOT_APPLICABLE").has("error.details.status", "cancelled")
			c.move(id, "assigned").refused(409, "SANDBOX_TRANSITION_INVALID").has("error.details.allowed_statuses", "[]")
			if now := c.get("/deliveries/" + id + "/events").is(200); now.text("data") != events.text("data") {
				t.Errorf("refusals left the timeline %s", now.body)
			}
		}
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
		more := manyOrders(4)
		apply(more[1], []change{simulated("stalled", 1)})
		apply(more[2], []change{set("sandbox", m{"scenario": "manual"})})
		apply(more[3], []change{simulated("no_rider_found", 1)})
		mixed := c.post("/deliveries/bulk", aBulk(more...)).outcomes("created", "SIMULATION_LIMIT", "created", "SIMULATION_LIMIT")
		idle := mixed.booked()[0]
		full(c.simulate(idle, "delivered", 1), 240, 300)
		c.simulate(idle, "manual", 1).is(200)
		full(c.post("/deliveries", anOrder(simulated("delivered", 1), set("external_id", newExternalID()))), 240, 300)
		// What fits nothing is told before.
		c.post("/deliveries", anOrder(set("sandbox", m{"scenario": "cod_refused"}))).refused(409, "SIMULATION_NOT_APPLICABLE")
		if n := len(walk(t, c, "/deliveries", 100)); n != 104 {
			t.Errorf("there are %d deliveries, want 104", n)
		}

		// It is counted by application; a colleague starts what it likes.
		colleague := s.caller(t, sandbox)
		colleague.post("/deliveries", anOrder(simulated("delivered", 300))).is(201).simulation("delivered", "running", 0, 4)
		full(c.in(sandbox).post("/deliveries", anOrder(simulated("delivered", 1))), 240, 300)

		// Stopping or cancelling one makes room for one other.
		c.stop(first[1]).is(200)
		c.stop(first[1]).is(200)
		c.stop(idle).is(200)
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
			return c.try("POST", "/deliveries", anOrder(simulated("delivered", 300)), idem(newKeyText()))
		}) {
			got[a.status]++
			if a.status != 201 {
				full(a, 240, 300)
			}
		}
		if got[201] != 5 || got[429] != 15 {
			t.Errorf("room for 5 was given to %v", got)
		}

		// A caller that waits for the Retry-After gets in when one has ended by
		// itself.
		c.stop(first[9]).is(200)
		c.simulate(first[9], "failed_at_pickup", 1).is(200)
		begun, waits := time.Now(), 0
		next := c.simulate(idle, "delivered", 300)
		for ; next.status == 429; waits++ {
			wait := full(next, 1, 60).number(t, "Retry-After")
			if t.Failed() || waits == 10 {
				t.Fatal("nothing ever ends")
			}
			<-time.After(time.Duration(wait) * time.Second)
			next = c.simulate(idle, "delivered", 300)
		}
		next.is(200).simulation("delivered", "running", 0, 4)
		t.Logf("after two seconds of a simulation there was room in %s, at the wait number %d", time.Since(begun).Round(10*time.Millisecond),
			waits)
		full(c.simulate(mixed.booked()[1], "delivered", 1), 1, 300)
	})
}
