package simulation

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"waybill/domain"
)

// action is something that the world may do next. It reports whether it could.
type action struct {
	weight int
	do     func(*world) bool
}

var actions = []action{
	{24, (*world).book},
	{16, (*world).repeat},
	{4, (*world).reuse},
	{9, (*world).bookTogether},
	{6, (*world).bookMany},
	{2, (*world).bookManyBadly},
	{3, (*world).overtake},
	{3, (*world).addRecipient},
	{3, (*world).quote},
	{8, (*world).read},
	{6, (*world).readTimeline},
	{5, (*world).scan},
	{3, (*world).trespass},
	{6, (*world).cancel},
	{12, (*world).transition},
	{3, (*world).live},
	{6, (*world).start},
	{6, (*world).stop},
	{6, (*world).race},
	{4, (*world).forceError},
	{12, (*world).bring},
	{4, (*world).bringOld},
	{5, (*world).bringEarly},
	{7, (*world).schedule},
	{5, (*world).wait},
	{2, (*world).setClock},
	{2, (*world).purge},
	{3, (*world).restart},
}

// act begins one action.
func (w *world) act() {
	total := 0
	for _, a := range actions {
		total += a.weight
	}
	for range 20 {
		n := w.rng.IntN(total)
		for _, a := range actions {
			if n -= a.weight; n < 0 {
				if a.do(w) {
					return
				}
				break
			}
		}
	}
}

func (w *world) anyone() *client {
	if w.crowded && w.rng.IntN(2) == 0 {
		return w.clients[0]
	}
	return pick(w.rng, w.clients...)
}

func (w *world) anywhere() *process { return pick(w.rng, w.procs...) }

func (w *world) sandboxed() *client {
	for {
		if c := w.anyone(); c.tenant.Environment == domain.Sandbox {
			return c
		}
	}
}

// anyParcel is one of a client's deliveries, often the one that it was told of
// last: so some have long lives.
func (w *world) anyParcel(c *client) *parcel {
	if len(c.parcels) == 0 {
		return nil
	}
	if w.rng.IntN(2) == 0 {
		return slices.MaxFunc(c.parcels, func(a, b *parcel) int { return a.turn - b.turn })
	}
	return pick(w.rng, c.parcels...)
}

func (w *world) runningParcel(c *client) *parcel {
	var running []*parcel
	for _, p := range c.parcels {
		if p.view.running() {
			running = append(running, p)
		}
	}
	if len(running) == 0 {
		return nil
	}
	return pick(w.rng, running...)
}

// newKey is a key nobody used.
func (w *world) newKey(c *client) *keyUse {
	u := &keyUse{key: fmt.Sprintf("client-%d-key-%d", c.n, len(c.uses)), onEveryP: map[int]bool{}}
	c.uses = append(c.uses, u)
	return u
}

// order is the body of a create. Where it is one of many, nobody else of them
// has its phone number.
func (w *world) order(c *client, mark string, place int, f *form) map[string]any {
	n := w.rng.IntN(4)
	if place >= 0 {
		n = place
	}
	o := map[string]any{
		"recipient": map[string]any{
			"name": "Ama", "phone_number": fmt.Sprintf("+23320100%04d", n),
			"address": map[string]any{
				"address":  fmt.Sprintf("%d Oxford Street", w.rng.IntN(3)),
				"latitude": 5.5 + float64(w.tasks%1000)/10000 + float64(max(place, 0))/1e6, "longitude": -0.18,
			},
		},
		"payment": map[string]any{"type": "delivery_only"}, "vehicle_type": "bike", "delivery_instructions": mark,
	}
	if w.rng.IntN(3) == 0 {
		o["payment"] = map[string]any{"type": "cod", "goods_value": 10.5}
	}
	if len(c.pickup) > 0 && w.rng.IntN(3) == 0 {
		location := pick(w.rng, c.pickup...)
		if place >= 0 { // what is wrong with one would refuse all
			location = c.pickup[slices.IndexFunc(c.pickup, func(l domain.PickupLocation) bool { return l.Active && l.Complete() })]
		}
		o["pickup_location_id"] = string(location.ID)
	} else {
		o["pickup"] = map[string]any{"name": "Shop", "contact": "+233201112223", "address": "Makola", "latitude": 5.54, "longitude": -0.2}
	}
	if w.rng.IntN(3) == 0 {
		id := fmt.Sprintf("order-%d", w.rng.IntN(8))
		if place >= 0 {
			id = fmt.Sprintf("order-%d", place)
		}
		o["external_id"] = id
		f.externals = append(f.externals, id)
		c.externals[id] = append(c.externals[id], f)
	}
	if c.tenant.Environment == domain.Sandbox && w.rng.IntN(2) == 0 {
		o["sandbox"] = w.plan()
	}
	return o
}

func (w *world) plan() map[string]any {
	return map[string]any{"scenario": string(pick(w.rng, domain.Scenarios()...)), "step_seconds": pick(w.rng, 1, 2, 5, 20, 300)}
}

// newForm is a body under a key, for so many deliveries; none is a single one.
func (w *world) newForm(c *client, u *keyUse, items int) *form {
	f := &form{path: "/deliveries", bulk: items > 0, refused: map[string]bool{}}
	mark := fmt.Sprintf("%s/%d", u.key, len(u.forms))
	if items == 0 {
		f.marks = []string{mark}
		f.body = encode(w.order(c, mark, -1, f))
	} else {
		f.path = "/deliveries/bulk"
		orders := make([]map[string]any, items)
		for i := range orders {
			f.marks = append(f.marks, fmt.Sprintf("%s/%d", mark, i))
			orders[i] = w.order(c, f.marks[i], i, f)
		}
		f.body = encode(map[string]any{"deliveries": orders})
	}
	u.forms = append(u.forms, f)
	return f
}

func encode(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(text)
}

func (w *world) sendForm(c *client, u *keyUse, f *form, force string) {
	w.send(w.anywhere(), &request{from: c, method: "POST", path: f.path, body: f.body, key: u.key, force: force, use: u, form: f}, w.hear)
}

func (w *world) book() bool {
	c := w.anyone()
	u := w.newKey(c)
	w.sendForm(c, u, w.newForm(c, u, 0), "")
	return true
}

// repeat sends again what was sent before, what is not answered yet more often.
func (w *world) repeat() bool {
	c := w.anyone()
	var open []*keyUse
	for _, u := range c.uses {
		if u.told == nil && len(u.forms) > 0 {
			open = append(open, u)
		}
	}
	if len(open) == 0 || w.rng.IntN(3) == 0 {
		open = slices.DeleteFunc(slices.Clone(c.uses), func(u *keyUse) bool { return len(u.forms) == 0 })
	}
	if len(open) == 0 {
		return false
	}
	u := open[max(w.rng.IntN(len(open)), w.rng.IntN(len(open)))]
	w.sendForm(c, u, pick(w.rng, u.forms...), "")
	return true
}

// reuse sends something else under a key that was used.
func (w *world) reuse() bool {
	c := w.anyone()
	if len(c.uses) == 0 {
		return false
	}
	u := pick(w.rng, c.uses...)
	w.sendForm(c, u, w.newForm(c, u, pick(w.rng, 0, 0, 2)), "")
	return true
}

// bookTogether sends one request twice at once, or two under one key.
func (w *world) bookTogether() bool {
	c := w.anyone()
	u := w.newKey(c)
	items := pick(w.rng, 0, 0, 0, 3)
	f := w.newForm(c, u, items)
	other := f
	if w.rng.IntN(3) == 0 {
		other = w.newForm(c, u, items)
	}
	w.sendForm(c, u, f, "")
	w.sendForm(c, u, other, "")
	return true
}

func (w *world) bookMany() bool {
	c := w.anyone()
	u := w.newKey(c)
	w.sendForm(c, u, w.newForm(c, u, 1+w.rng.IntN(12)), "")
	return true
}

// bookManyBadly sends many of which one is wrong.
func (w *world) bookManyBadly() bool {
	c := w.anyone()
	u := w.newKey(c)
	f := w.newForm(c, u, 3)
	f.body = strings.Replace(f.body, `"vehicle_type":"bike"`, `"vehicle_type":"rocket"`, 1)
	w.sendForm(c, u, f, "")
	return true
}

// crowd fills the first client with simulations, to the last that may run.
func (w *world) crowd() {
	c := w.clients[0]
	u := w.newKey(c)
	f := &form{path: "/deliveries/bulk", bulk: true, refused: map[string]bool{}}
	orders := make([]map[string]any, domain.MaxBulkItems)
	for i := range orders {
		f.marks = append(f.marks, fmt.Sprintf("%s/0/%d", u.key, i))
		orders[i] = w.order(c, f.marks[i], i, &form{})
		delete(orders[i], "external_id")
		orders[i]["sandbox"] = map[string]any{"scenario": "stalled", "step_seconds": 300}
	}
	f.body = encode(map[string]any{"deliveries": orders})
	u.forms = append(u.forms, f)
	w.sendForm(c, u, f, "")
}

// overtake sends a bulk, lets it freeze on its way until its lease is over, and
// sends it again.
func (w *world) overtake() bool {
	if w.faulty == 0 || w.width == 1 {
		return false
	}
	w.bookMany()
	first := w.open[len(w.open)-1]
	for range 100 {
		i := slices.IndexFunc(w.x.ready(), func(choice []*call) bool { return choice[0].task == first })
		if i < 0 || first.done.Load() {
			break // it is through, or others have to go on first
		}
		choice := w.x.ready()[i]
		if choice[0].kind == begins && first.noted("claimed") && w.rng.IntN(3) == 0 {
			w.meet(choice, freezes)
			w.sleep(w.lease + time.Second)
			r := first.request
			w.sendForm(r.from, r.use, r.form, "")
			break
		}
		w.meet(choice, asItShould)
	}
	return true
}

// lives are ways of a delivery to an end that chance would hardly find.
var lives = [][]domain.Status{
	{domain.Assigned, domain.PickedUp, domain.InTransit, domain.Delivered},
	{domain.Assigned, domain.PickedUp, domain.Failed, domain.Assigned},
	{domain.Assigned, domain.Failed, domain.Assigned},
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

func (w *world) addRecipient() bool {
	c := w.anyone()
	u := w.newKey(c)
	f := &form{path: "/recipients", refused: map[string]bool{}}
	f.body = fmt.Sprintf(`{"phone_number":"+23320100%04d","name":"Kofi"}`, w.rng.IntN(4))
	u.forms = append(u.forms, f)
	w.sendForm(c, u, f, "")
	return true
}

func (w *world) quote() bool {
	c := w.anyone()
	body := `{"pickup":{"latitude":5.5,"longitude":-0.2},"dropoff":{"latitude":5.6,"longitude":-0.1},"vehicle_type":"car"}`
	w.send(w.anywhere(), &request{from: c, method: "POST", path: "/quotes", body: body}, func(t *task) {
		if a, heard := w.heard(t); heard {
			w.expect(t, a, 200, domain.CodeQuoteUnavailable)
		}
	})
	return true
}

// heard is the answer of a request without a key, unless nobody heard it.
func (w *world) heard(t *task) (answer, bool) {
	if t.lost {
		w.say("#%d is never answered", t.n)
		return answer{}, false
	}
	return w.answerOf(t), true
}

// expect accepts a status and codes, and what may happen to every request.
func (w *world) expect(t *task, a answer, status int, codes ...string) {
	code := codeOf(a)
	if code == domain.CodeRateLimitExceeded {
		w.reach("a rate limit")
	}
	if a.status == status || a.status == 500 || code == domain.CodeRateLimitExceeded || slices.Contains(codes, code) {
		return
	}
	w.breach("#%d: answered %d %s", t.n, a.status, a.body)
}

func (w *world) read() bool {
	c := w.anyone()
	p := w.anyParcel(c)
	if p == nil {
		return false
	}
	w.send(w.anywhere(), &request{from: c, method: "GET", path: "/deliveries/" + p.id, parcel: p}, func(t *task) {
		a, heard := w.heard(t)
		if !heard {
			return
		}
		w.expect(t, a, 200)
		if data, ok := dataOf[json.RawMessage](a); ok && a.status == 200 {
			w.see(t, c, data, false)
		}
	})
	return true
}

func (w *world) readTimeline() bool {
	c := w.anyone()
	p := w.anyParcel(c)
	if p == nil {
		return false
	}
	w.send(w.anywhere(), &request{from: c, method: "GET", path: "/deliveries/" + p.id + "/events", parcel: p}, func(t *task) {
		a, heard := w.heard(t)
		if !heard {
			return
		}
		w.expect(t, a, 200)
		events, ok := dataOf[[]json.RawMessage](a)
		if !ok || a.status != 200 {
			return
		}
		var told []string
		for _, e := range events {
			told = append(told, string(e))
		}
		if p.told < t.turn {
			if len(told) < len(p.timeline) || !slices.Equal(told[:len(p.timeline)], p.timeline) {
				w.breach("#%d: the timeline of %s was\n%v\nand is\n%v", t.n, p.id, p.timeline, told)
			}
			p.timeline, p.told = told, w.turn
		}
	})
	return true
}

// trespass asks for another client's delivery.
func (w *world) trespass() bool {
	c, other := w.anyone(), w.anyone()
	p := w.anyParcel(other)
	if p == nil || c == other {
		return false
	}
	r := pick(w.rng,
		&request{method: "GET", path: "/deliveries/" + p.id}, &request{method: "GET", path: "/deliveries/" + p.id + "/events"},
		&request{method: "POST", path: "/deliveries/" + p.id + "/cancel"})
	r.from = c
	w.send(w.anywhere(), r, func(t *task) {
		if a, heard := w.heard(t); heard {
			w.expect(t, a, 404)
			if a.status == 404 {
				w.reach("a foreign delivery")
			}
		}
	})
	return true
}

// change sends a change of a delivery, and looks at what becomes of it.
func (w *world) change(c *client, p *parcel, method, path, body string, refusals ...string) {
	was := p.view
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
			w.recognizeRefusal(t, codeOf(a), a)
			return
		}
		w.see(t, c, data, false)
		var now deliveryView
		if json.Unmarshal(data, &now) == nil {
			w.recognizeChange(t, p, &was, &now)
		}
	})
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

func (w *world) forceError() bool {
	c := w.sandboxed()
	u := w.newKey(c)
	code := pick(w.rng, domain.CodeQuoteUnavailable, domain.CodeRateLimitExceeded, domain.CodeInternal, domain.CodeIdempotencyInProgress)
	w.sendForm(c, u, w.newForm(c, u, 0), code)
	w.reach("a forced error")
	return true
}

// bring takes a ring to a handler.
func (w *world) bring() bool {
	if len(w.rung) == 0 {
		return false
	}
	i := w.rng.IntN(len(w.rung))
	step := w.rung[i]
	w.rung = slices.Delete(w.rung, i, i+1)
	w.handle(w.anywhere(), step)
	return true
}

// bringOld rings for a step that was rung for before.
func (w *world) bringOld() bool {
	if len(w.steps) == 0 {
		return false
	}
	w.handle(w.anywhere(), pick(w.rng, w.steps...))
	return true
}

// bringEarly rings for a step that is not due yet.
func (w *world) bringEarly() bool {
	c := w.sandboxed()
	p := w.runningParcel(c)
	if p == nil {
		return false
	}
	w.handle(w.anywhere(), fmt.Sprintf("%s/%d", p.id, p.view.Simulation.Step))
	return true
}

// handle begins the handler of a ring.
func (w *world) handle(p *process, step string) {
	if !slices.Contains(w.steps, step) {
		w.steps = append(w.steps, step)
	}
	id, _, _ := strings.Cut(step, "/")
	t := w.newTask(p, func(t *task) { w.recognizeStep(t, id) })
	w.begin(t, "step "+step, func(ctx context.Context) {
		ctx, cancel := context.WithTimeout(ctx, time.Minute)
		defer cancel()
		p.simulator.Handle(ctx, step)
	})
}

// schedule lets a scheduler run for a while.
func (w *world) schedule() bool {
	p := w.anywhere()
	t := w.newTask(p, nil)
	// Never together with one of its looks.
	span := time.Duration(1+w.rng.IntN(8))*400*time.Millisecond + 101*time.Millisecond + 137
	w.begin(t, "scheduler", func(ctx context.Context) {
		ctx, cancel := context.WithTimeout(ctx, span)
		defer cancel()
		p.scheduler.Run(ctx)
	})
	return true
}

// sleep lets time pass, whatever is under way.
func (w *world) sleep(d time.Duration) {
	w.say("%s pass", d)
	for end := time.Now().Add(d); time.Now().Before(end); {
		w.idle(time.Until(end))
		w.tend()
	}
}

func (w *world) wait() bool {
	d := time.Duration(1 + w.rng.IntN(30_000_000_000))
	if w.jumpy && w.rng.IntN(3) == 0 {
		d = time.Duration(1+w.rng.IntN(60)) * time.Hour
		w.reach("days passed")
	}
	w.sleep(d)
	return true
}

// setClock sets the clock of a process a little back or ahead.
func (w *world) setClock() bool {
	p := w.anywhere()
	by := time.Duration(w.rng.IntN(6000)-3000) * time.Millisecond
	if by < time.Duration(p.skew.Load()) {
		w.reach("a clock was set back")
	}
	p.skew.Store(int64(by))
	w.skewed = true
	w.say("p%d's clock is %s off", p.n, by)
	return true
}

func (w *world) purge() bool {
	if w.x.busy() {
		return false
	}
	removed, _, err := w.store.PurgeExpired(context.Background(), 1000)
	if err != nil {
		w.breach("purge: %v", err)
	}
	if removed > 0 {
		w.reach("expired keys were purged")
	}
	w.say("%d records purged", removed)
	return true
}

// restart lets a process end what it has begun, with another in its place; or
// takes its memory away while nothing is under way.
func (w *world) restart() bool {
	i := w.rng.IntN(len(w.procs))
	for _, t := range w.open { // rather one that is at work on a bulk
		if at := slices.Index(w.procs, t.p); at >= 0 && t.noted("claimed") {
			i = at
		}
	}
	p := w.procs[i]
	if w.rng.IntN(2) == 0 {
		p.dead.Store(true)
		w.say("p%d is killed", p.n)
		return true
	}
	w.say("p%d stops", p.n)
	p.bulk.Stop()
	p.bulkStopped = true
	w.retired = append(w.retired, p)
	w.procs[i] = w.newProcess(p.n)
	return true
}
