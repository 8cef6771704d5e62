package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"testing"
)

var allStatuses = []string{"booked", "assigned", "picked_up", "in_transit", "delivered", "failed", "cancelled", "outsourced"}

// stand is a status that a delivery is brought to by hand, and what it may
// become from there.
type stand struct {
	way     []string // after booked
	allowed []string
}

var stands = map[string]stand{
	"booked":     {nil, []string{"assigned", "outsourced", "cancelled"}},
	"assigned":   {[]string{"assigned"}, []string{"picked_up", "outsourced", "cancelled", "failed"}},
	"picked_up":  {[]string{"assigned", "picked_up"}, []string{"in_transit", "failed"}},
	"in_transit": {[]string{"assigned", "picked_up", "in_transit"}, []string{"delivered", "failed"}},
	"delivered":  {[]string{"assigned", "picked_up", "in_transit", "delivered"}, []string{}},
	"failed":     {[]string{"assigned", "failed"}, []string{"assigned", "cancelled"}},
	"cancelled":  {[]string{"cancelled"}, []string{}},
	"outsourced": {[]string{"outsourced"}, []string{"picked_up", "failed", "cancelled"}},

	// Once anything was picked up there is no cancelling, in no attempt.
	"assigned after a pickup":   {[]string{"assigned", "picked_up", "failed", "assigned"}, []string{"picked_up", "outsourced", "failed"}},
	"outsourced after a pickup": {[]string{"outsourced", "picked_up", "failed", "assigned", "outsourced"}, []string{"picked_up", "failed"}},
	"failed after a pickup":     {[]string{"outsourced", "picked_up", "in_transit", "failed"}, []string{"assigned"}},
}

// bring makes a delivery by hand what it is to be.
func (c *client) bring(way []string) (id string) {
	c.t.Helper()
	id = c.post("/deliveries", anOrder()).is(201).id()
	for _, status := range way {
		c.move(id, status).is(200).has("data.status", status)
	}
	return id
}

func TestSandboxMovesAreThoseOfTheStateMachine(t *testing.T) {
	both(t, func(t *testing.T, s *server) {
		c := s.caller(t, sandbox)
		pairs := 0
		for _, name := range slices.Sorted(maps.Keys(stands)) {
			st := stands[name]
			id, from := c.bring(st.way), "booked"
			if len(st.way) > 0 {
				from = st.way[len(st.way)-1]
			}
			before, events := c.get("/deliveries/"+id).is(200).has("data.status", from), timeline(t, c, id)
			if want := append([]string{"booked"}, st.way...); !slices.Equal(events, want) {
				t.Fatalf("%s: the timeline is %v, want %v", name, events, want)
			}
			for _, to := range allStatuses {
				pairs++
				switch {
				case to == "booked": // never again, from nowhere
					c.move(id, to).invalid("status not_allowed")
				case !slices.Contains(st.allowed, to):
					a := c.move(id, to).refused(409, "SANDBOX_TRANSITION_INVALID").
						has("error.details.current_status", from, "error.details.requested_status", to)
					var allowed []string
					for i := range a.count("error.details.allowed_statuses") {
						allowed = append(allowed, a.text(fmt.Sprintf("error.details.allowed_statuses.%d", i)))
					}
					slices.Sort(allowed)
					if !slices.Equal(allowed, slices.Sorted(slices.Values(st.allowed))) {
						t.Errorf("%s to %s: allowed are %v, want %v", name, to, allowed, st.allowed)
					}
				default:
					other := c.bring(st.way)
					a := c.move(other, to).is(200).has("data.id", other, "data.status", to).simulation("manual", "idle", 0, 0)
					if read := c.get("/deliveries/" + other).is(200); read.text("data") != a.text("data") {
						t.Errorf("%s to %s answered %s, a read shows %s", name, to, a.body, read.body)
					}
					got := timeline(t, c, other) // and it checks types and sequences
					if want := append(slices.Clone(events), to); !slices.Equal(got, want) {
						t.Errorf("%s to %s: the timeline is %v, want %v", name, to, got, want)
					}
					last := fmt.Sprintf("data.%d.", len(got)-1)
					c.get("/deliveries/"+other+"/events").is(200).has(last+"occurred_at", a.text("data.updated_at")).lacks(last + "reason_code")
				}
			}
			if after := c.get("/deliveries/" + id).is(200); after.text("data") != before.text("data") || len(timeline(t, c, id)) != len(events) {
				t.Errorf("%s: refusals left %s, was %s", name, after.body, before.body)
			}
		}
		if want := len(stands) * 8; pairs != want {
			t.Errorf("%d pairs were tried, want %d", pairs, want)
		}

		// Only the platform hears from a partner that nothing but the end is known.
		id := c.bring([]string{"outsourced"})
		c.move(id, "delivered").refused(409, "SANDBOX_TRANSITION_INVALID").
			has("message", "Cannot go from outsourced to delivered. Next allowed: picked_up, failed, cancelled.")
		s.advance(t, id, "delivered")
		c.move(id, "failed").refused(409, "SANDBOX_TRANSITION_INVALID").has("message",
			"Cannot go from delivered to failed. Nothing can follow it.")
	})
}

func TestSandboxHelpersHonourAnIdempotencyKey(t *testing.T) {
	both(t, func(t *testing.T, s *server) {
		c := s.caller(t, sandbox)
		id, other := c.post("/deliveries", anOrder()).is(201).id(), c.post("/deliveries", anOrder()).is(201).id()
		conflict := func(a *answer) {
			t.Helper()
			a.refused(409, "IDEMPOTENCY_CONFLICT").lacks("data")
		}
		same := func(first, again *answer) {
			t.Helper()
			first.is(200).replayed(false)
			if again.is(200).replayed(true); !bytes.Equal(first.body, again.body) {
				t.Errorf("%s: the replay is %s, the answer was %s", first.what, again.body, first.body)
			}
		}

		start, stop, move := newKeyText(), newKeyText(), newKeyText()
		first := c.simulate(id, "delivered", 300, idem(start))
		same(first, c.simulate(id, "delivered", 300, idem(start)))
		same(first, c.send("POST", helperOf(id, "simulation"), `{"step_seconds":3.00e2,"scenario":"delivered"}`, idem(start)))
		conflict(c.simulate(id, "delivered", 299, idem(start)))
		conflict(c.simulate(other, "delivered", 300, idem(start)))
		conflict(c.stop(id, idem(start)))
		conflict(c.move(id, "assigned", idem(start)))
		conflict(c.post("/deliveries", anOrder(), idem(start)))

		stopped := c.stop(id, idem(stop))
		same(stopped, c.stop(id, idem(stop)))
		conflict(c.stop(other, idem(stop)))
		// A replay does nothing, whatever is going on by now.
		c.simulate(id, "stalled", 300).is(200)
		same(stopped, c.stop(id, idem(stop)))
		same(stopped, c.send("DELETE", helperOf(id, "simulation"), m{}, idem(stop)))
		same(first, c.simulate(id, "delivered", 300, idem(start)))
		c.get("/deliveries/"+id).is(200).simulation("stalled", "running", 0, 3)

		// Refusals are not remembered.
		c.move(id, "assigned", idem(move)).refused(409, "SIMULATION_RUNNING")
		c.stop(id).is(200)
		moved := c.move(id, "assigned", idem(move))
		same(moved, c.move(id, "assigned", idem(move)))
		conflict(c.move(id, "picked_up", idem(move)))
		conflict(c.move(other, "assigned", idem(move)))
		c.move(id, "picked_up").is(200)
		same(moved, c.move(id, "assigned", idem(move)))
		if got := timeline(t, c, id); !slices.Equal(got, []string{"booked", "assigned", "picked_up"}) {
			t.Errorf("the timeline is %v", got)
		}
		c.get("/deliveries/"+other).is(200).has("data.status", "booked").simulation("manual", "idle", 0, 0)

		for _, send := range []func(o option) *answer{
			func(o option) *answer { return c.simulate(other, "delivered", 300, o) },
			func(o option) *answer { return c.stop(other, o) },
			func(o option) *answer { return c.move(other, "assigned", o) },
		} {
			send(idem("7chars!")).invalid("Idempotency-Key too_short")
			send(idem("")).is(200).replayed(false) // none
		}
	})
}

func TestSandboxMovesGiveWayToASimulation(t *testing.T) {
	both(t, func(t *testing.T, s *server) {
		c := s.caller(t, sandbox)
		booked := c.post("/deliveries", anOrder(simulated("failed_then_retried", 300))).is(201).simulation("failed_then_retried", "running", 0, 8)
		id, due := booked.id(), booked.text("data.simulation.next_step_at")
		running := func(a *answer) {
			t.Helper()
			a.refused(409, "SIMULATION_RUNNING").has("error.details.scenario", "failed_then_retried", "error.details.step", "0",
				"error.details.steps_total", "8", "error.details.next_step_at", due)
		}
		for _, to := range allStatuses[1:] { // also one that would be refused anyway
			running(c.move(id, to))
		}
		running(c.simulate(id, "delivered", 1))
		running(c.simulate(id, "manual", 1))
		running(c.simulate(id, "cod_refused", 1)) // before it is judged whether it fits
		c.move(id, "booked").invalid("status not_allowed")
		c.simulate(id, "nothing", 1).invalid("scenario not_allowed")

		// The platform stands back as well.
		_, complaint, err := s.tryCommand("delivery", "advance", id, "assigned")
		var told struct {
			Error struct{ Code, Message string }
		}
		if err == nil || json.Unmarshal(complaint, &told) != nil || told.Error.Code != "SIMULATION_RUNNING" {
			t.Errorf("waybill delivery advance: %v, %s", err, complaint)
		}
		if now := c.get("/deliveries/" + id).is(200); now.text("data") != booked.text("data") || len(timeline(t, c, id)) != 1 {
			t.Errorf("refusals left %s, was %s", now.body, booked.body)
		}
		c.stop(id).is(200)
		s.advance(t, id, "assigned")
		c.move(id, "picked_up").is(200).simulation("failed_then_retried", "stopped", 0, 8)
	})
}
