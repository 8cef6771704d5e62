package simulation

import (
	"encoding/json"
	"fmt"
	"slices"

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
	{8, (*world).read},
	{6, (*world).readTimeline},
	{5, (*world).scan},
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

func (w *world) addRecipient() bool {
	c := w.anyone()
	u := w.newKey(c)
	f := &form{path: "/recipients", refused: map[string]bool{}}
	f.body = fmt.Sprintf(`{"phone_number":"+23320100%04d","name":"Kofi"}`, w.rng.IntN(4))
	u.forms = append(u.forms, f)
	w.sendForm(c, u, f, "")
	return true
}

// heard is the answer of a request without a key, unless it was lost.
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
	if a.status == status || storageFailed(code) || code == domain.CodeRateLimitExceeded || slices.Contains(codes, code) {
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
