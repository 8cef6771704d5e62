package e2e

import (
	"encoding/json"
	"testing"
)

var allStatuses = []string{"booked", "assigned", "picked_up", "in_transit", "delivered", "failed", "cancelled", "outsourced"}

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
