package e2e

import (
	"slices"
	"strconv"
	"testing"
	"time"
)

// script is what a scenario does, written apart from the program: the two have
// to agree.
type script struct {
	statuses []string // after booked
	waits    []int    // in steps; nil: one each
	reasons  reasons  // by the status they go with
	payment  string   // the only one it fits; empty: any
}

var toTheRecipient = []string{"assigned", "picked_up", "in_transit"}

var scripts = map[string]script{
	"delivered":        {statuses: []string{"assigned", "picked_up", "in_transit", "delivered"}},
	"delayed":          {statuses: []string{"assigned", "picked_up", "in_transit", "delivered"}, waits: []int{1, 1, 1, 5}},
	"failed_at_pickup": {statuses: []string{"assigned", "failed"}, reasons: reasons{"failed": "pickup_unavailable"}},
	"failed_at_dropoff": {statuses: append(slices.Clone(toTheRecipient), "failed"),
		reasons: reasons{"failed": "recipient_unreachable"}},
	"failed_then_retried": {statuses: slices.Concat(toTheRecipient, []string{"failed"}, toTheRecipient, []string{"delivered"}),
		reasons: reasons{"failed": "recipient_unreachable"}},
	"cod_refused": {statuses: append(slices.Clone(toTheRecipient), "failed"), reasons: reasons{"failed": "cod_refused"},
		payment: "cod"},
	"cancelled_by_platform":     {statuses: []string{"assigned", "cancelled"}, reasons: reasons{"cancelled": "cancelled_by_platform"}},
	"no_rider_found":            {statuses: []string{"cancelled"}, waits: []int{3}, reasons: reasons{"cancelled": "no_rider"}},
	"outsourced_then_delivered": {statuses: []string{"outsourced", "picked_up", "in_transit", "delivered"}},
	"stalled":                   {statuses: toTheRecipient},
}

type reasons = map[string]string

func (s script) wait(step int) time.Duration {
	if s.waits == nil {
		return time.Second
	}
	return time.Duration(s.waits[step]) * time.Second
}

// simulated has an order follow a scenario.
func simulated(scenario string, stepSeconds int) change {
	return func(order m) {
		order["sandbox"] = m{"scenario": scenario, "step_seconds": stepSeconds}
		if scripts[scenario].payment == "cod" {
			order["payment"] = m{"type": "cod", "goods_value": 80}
		}
	}
}

func helperOf(id, what string) string { return "/test-helpers/deliveries/" + id + "/" + what }

// move, simulate and stop are the test helpers, without an Idempotency-Key
// unless an option sets one.
func (c *client) move(id, status string, options ...option) *answer {
	c.t.Helper()
	return c.send("POST", helperOf(id, "transition"), m{"status": status}, options...)
}

func (c *client) simulate(id, scenario string, stepSeconds int, options ...option) *answer {
	c.t.Helper()
	return c.send("POST", helperOf(id, "simulation"), m{"scenario": scenario, "step_seconds": stepSeconds}, options...)
}

func (c *client) stop(id string, options ...option) *answer {
	c.t.Helper()
	return c.send("DELETE", helperOf(id, "simulation"), nil, options...)
}

// simulation checks the simulation object of the delivery in an answer.
func (a *answer) simulation(scenario, status string, step, total int) *answer {
	a.t.Helper()
	a.has("data.simulation.scenario", scenario, "data.simulation.status", status,
		"data.simulation.step", strconv.Itoa(step), "data.simulation.steps_total", strconv.Itoa(total))
	if status != "running" {
		a.has("data.simulation.next_step_at", "null")
	}
	return a
}

// instant reads a time of an answer.
func (a *answer) instant(path string) time.Time {
	a.t.Helper()
	at, err := time.Parse(time.RFC3339, a.text(path))
	if err != nil {
		a.t.Fatalf("%s: %s is %q", a.what, path, a.text(path))
	}
	return at
}

// show is a time as the API writes it.
func show(at time.Time) string { return at.UTC().Format("2006-01-02T15:04:05.000Z") }

// watch is a delivery that a scenario moves, and what was seen of it.
type watch struct {
	*client
	id, scenario string
	script       script
	seen         []*answer // of the delivery, each differing from the one before
}

func (w *watch) step(a *answer) int {
	w.t.Helper()
	n, err := strconv.Atoi(a.text("data.simulation.step"))
	if err != nil || n < 0 || n > len(w.script.statuses) {
		w.t.Fatalf("%s: %s", w.scenario, a.body)
	}
	return n
}

// check holds one state of the delivery against the script. Its next step is
// due one wait after the step before, which is its last change.
func (w *watch) check(a *answer) {
	w.t.Helper()
	step, total := w.step(a), len(w.script.statuses)
	status := "booked"
	if step > 0 {
		status = w.script.statuses[step-1]
	}
	a.has("data.status", status)
	if step == total {
		a.simulation(w.scenario, "completed", step, total)
		return
	}
	a.simulation(w.scenario, "running", step, total).
		has("data.simulation.next_step_at", show(a.instant("data.updated_at").Add(w.script.wait(step))))
}

// finished holds the whole timeline against the script and against what was
// seen on the way.
func (w *watch) finished() {
	w.t.Helper()
	want := append([]string{"booked"}, w.script.statuses...)
	if got := timeline(w.t, w.client, w.id); !slices.Equal(got, want) {
		w.t.Errorf("%s: the timeline is %v, want %v", w.scenario, got, want)
		return
	}
	list := w.get("/deliveries/" + w.id + "/events").is(200)
	at := func(i int) string { return "data." + strconv.Itoa(i) }
	for i, status := range want {
		list.has(at(i)+".reason_code", w.script.reasons[status])
		if i == 0 {
			continue
		}
		waited := list.instant(at(i) + ".occurred_at").Sub(list.instant(at(i-1) + ".occurred_at"))
		if least := w.script.wait(i - 1); waited < least {
			w.t.Errorf("%s: step %d came after %s, want no less than %s", w.scenario, i, waited, least)
		} else if late := waited - least; late > time.Second {
			w.t.Logf("%s: step %d was %s late", w.scenario, i, late)
		}
	}
	for _, a := range w.seen {
		a.has("data.updated_at", list.text(at(w.step(a))+".occurred_at"))
	}
}

func TestSandboxDeliveriesTakeTheirTimeAsAsked(t *testing.T) {
	both(t, func(t *testing.T, s *server) {
		c := s.caller(t, sandbox)
		for _, try := range []struct {
			plan m
			due  time.Duration
		}{
			{m{"scenario": "delivered"}, 15 * time.Second},
			{m{"scenario": "no_rider_found", "step_seconds": 300}, 900 * time.Second},
		} {
			scenario := try.plan["scenario"].(string)
			total := len(scripts[scenario].statuses)
			key, order := newKeyText(), anOrder(set("sandbox", try.plan))
			a := c.post("/deliveries", order, idem(key)).is(201).has("data.status", "booked").simulation(scenario, "running", 0, total)
			due := show(a.instant("data.created_at").Add(try.due))
			a.has("data.simulation.next_step_at", due, "data.updated_at", a.text("data.created_at"))
			// The answer is remembered as it was.
			c.post("/deliveries", order, idem(key)).is(201).replayed(true).has("data.simulation.next_step_at", due)

			b := c.post("/deliveries/bulk", aBulk(anOrder(set("sandbox", try.plan)))).outcomes("created")
			at := "data.results.0.delivery."
			b.has(at+"simulation.status", "running", at+"simulation.next_step_at", show(b.instant(at+"created_at").Add(try.due)))

			id := c.post("/deliveries", anOrder()).is(201).simulation("manual", "idle", 0, 0).id()
			started := c.send("POST", helperOf(id, "simulation"), try.plan).is(200).simulation(scenario, "running", 0, total)
			started.has("data.simulation.next_step_at", show(started.instant("data.updated_at").Add(try.due)))
		}
		for _, plan := range []any{m{"scenario": "manual", "step_seconds": 300}, nil} {
			c.post("/deliveries", anOrder(set("sandbox", plan))).is(201).simulation("manual", "idle", 0, 0)
		}
	})
}
