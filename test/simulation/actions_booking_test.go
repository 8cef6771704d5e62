package simulation

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"waybill/domain"
)

// newKey is an unused key.
func (w *world) newKey(c *client) *keyUse {
	u := &keyUse{key: fmt.Sprintf("client-%d-key-%d", c.n, len(c.uses))}
	c.uses = append(c.uses, u)
	return u
}

// order is the body of a create. Where it is one of many, its phone number is
// unique among them.
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

func (w *world) forceError() bool {
	c := w.sandboxed()
	u := w.newKey(c)
	code := pick(w.rng, domain.CodeQuoteUnavailable, domain.CodeRateLimitExceeded, domain.CodeInternal, domain.CodeIdempotencyInProgress)
	w.sendForm(c, u, w.newForm(c, u, 0), code)
	return true
}
