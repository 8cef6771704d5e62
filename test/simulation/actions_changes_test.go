package simulation

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"waybill/domain"
)

// lives are ways of a delivery to an end that chance would hardly find.
var lives = [][]domain.Status{
	{domain.Assigned, domain.PickedUp, domain.InTransit, domain.Delivered},
	{domain.Assigned, domain.PickedUp, domain.Failed, domain.Assigned},
	{domain.Assigned, domain.Failed, domain.Assigned},
	{domain.Assigned, domain.Failed},
	{domain.Outsourced, domain.PickedUp, domain.InTransit, domain.Failed, domain.Assigned},
}

// live leads a delivery through a life, and cancels it at its end.
func (w *world) live() bool {
	c := w.sandboxed()
	p := w.anyParcel(c)
	if p == nil || p.view.Status != domain.Booked || p.view.running() {
		return false
	}
	w.lead(c, p, pick(w.rng, lives...))
	return true
}

func (w *world) lead(c *client, p *parcel, on []domain.Status) {
	if len(on) == 0 {
		w.change(c, p, "POST", "/deliveries/"+p.id+"/cancel", "", domain.CodeDeliveryNotCancellable)
		return
	}
	w.move(c, p, on[0])
	t := w.open[len(w.open)-1]
	ended := t.ended
	t.ended = func(t *task) {
		ended(t)
		w.later = append(w.later, func() { w.lead(c, p, on[1:]) })
	}
}

// change sends a change of a delivery, and looks at what becomes of it.
func (w *world) change(c *client, p *parcel, method, path, body string, refusals ...string) {
	w.send(w.anywhere(), &request{from: c, method: method, path: path, body: body, parcel: p}, func(t *task) {
		if starts(t.request) {
			p.starts++
		}
		a, heard := w.heard(t)
		if !heard {
			return
		}
		w.expect(t, a, 200, refusals...)
		data, ok := dataOf[json.RawMessage](a)
		if !ok || a.status != 200 {
			return
		}
		w.see(t, c, data, false)
		var now deliveryView
		if method == "DELETE" && json.Unmarshal(data, &now) == nil {
			w.hearStop(t, p, &now)
		}
	})
}

// hearStop notes at which step a simulation was stopped.
func (w *world) hearStop(t *task, p *parcel, now *deliveryView) {
	if now.running() {
		w.breach("#%d: a simulation runs that was stopped", t.n)
	}
	if now.Simulation.Status == "stopped" {
		p.stopped = &stop{now.Simulation.Step, w.turn, p.starts}
	}
}

// starts reports whether a request starts a simulation.
func starts(r *request) bool {
	return r.method == "POST" && strings.HasSuffix(r.path, "/simulation")
}

func (w *world) cancel() bool {
	c := w.anyone()
	p := w.anyParcel(c)
	if p == nil {
		return false
	}
	w.change(c, p, "POST", "/deliveries/"+p.id+"/cancel", "", domain.CodeDeliveryNotCancellable)
	return true
}

func (w *world) transition() bool {
	c := w.sandboxed()
	p := w.anyParcel(c)
	if p == nil {
		return false
	}
	to := pick(w.rng, domain.Statuses()[1:]...)
	if w.rng.IntN(4) > 0 { // most are steps that may be taken
		var may []domain.Status
		for _, t := range domain.Transitions() {
			if t.From == p.view.Status && slices.Contains(t.By, domain.ActorHelper) {
				may = append(may, t.To)
			}
		}
		if len(may) > 0 {
			to = pick(w.rng, may...)
		}
	}
	w.move(c, p, to)
	return true
}

func (w *world) move(c *client, p *parcel, to domain.Status) {
	w.change(c, p, "POST", "/test-helpers/deliveries/"+p.id+"/transition", fmt.Sprintf(`{"status":%q}`, to),
		domain.CodeSandboxTransitionInvalid, domain.CodeSimulationRunning)
}

func (w *world) start() bool {
	c := w.sandboxed()
	p := w.anyParcel(c)
	if p == nil {
		return false
	}
	p.starts++
	w.change(c, p, "POST", "/test-helpers/deliveries/"+p.id+"/simulation", encode(w.plan()),
		domain.CodeSimulationRunning, domain.CodeSimulationNotApplicable, domain.CodeSimulationLimit)
	return true
}

func (w *world) stop() bool {
	c := w.sandboxed()
	p := w.runningParcel(c)
	if p == nil {
		p = w.anyParcel(c)
	}
	if p == nil {
		return false
	}
	w.sendStop(c, p)
	return true
}

func (w *world) sendStop(c *client, p *parcel) {
	w.change(c, p, "DELETE", "/test-helpers/deliveries/"+p.id+"/simulation", "")
}

// race lets a step become due and stops or cancels at that moment.
func (w *world) race() bool {
	c := w.sandboxed()
	p := w.runningParcel(c)
	if p == nil || p.view.Simulation.NextStepAt == nil {
		return false
	}
	at := w.anywhere()
	if wait := p.view.Simulation.NextStepAt.Sub(clock{at}.Now()); wait > 0 && wait < time.Hour {
		w.sleep(wait)
	}
	step := fmt.Sprintf("%s/%d", p.id, p.view.Simulation.Step)
	w.handle(at, step)
	if w.rng.IntN(3) == 0 {
		w.change(c, p, "POST", "/deliveries/"+p.id+"/cancel", "", domain.CodeDeliveryNotCancellable)
	} else {
		w.sendStop(c, p)
	}
	return true
}
