package e2e

import (
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// checkBodies puts every ID into every field of a body that takes one.
func (w *world) checkBodies() {
	deliver := rule{method: "POST", path: "/deliveries", scope: "deliveries:write", success: 201, keyed: true}
	ask := rule{method: "POST", path: "/quotes", scope: "quotes:read", success: 200}
	people, homes, places := w.targets("rcp_"), w.targets("adr_"), w.targets("pkp_")
	for _, v := range w.visitors {
		for i, person := range people {
			for j, home := range homes {
				// Every pair of a person with each home would be too many; a
				// pair, and each with one that the owner has.
				if own := w.parties["the owner"]; i != j && person.owner != own && home.owner != own {
					continue
				}
				deliver.body = func() any {
					return anOrder(drop("recipient"), set("recipient_id", unescape(person.id)), set("recipient_address_id", unescape(home.id)))
				}
				w.checkBody(v, deliver, "NOT_FOUND", 404, person.owner != nil && person.owner == home.owner, person, home)
			}
		}
		for _, place := range places {
			deliver.body = func() any { return anOrder(drop("pickup"), set("pickup_location_id", unescape(place.id))) }
			w.checkBody(v, deliver, "PICKUP_LOCATION_NOT_FOUND", 422, true, place)
			ask.body = func() any { return aTrip(drop("pickup"), set("pickup_location_id", unescape(place.id))) }
			w.checkBody(v, ask, "PICKUP_LOCATION_NOT_FOUND", 422, true, place)
		}
		w.checkBulk(v, people, homes, places)
	}
}

// checkBulk puts every ID that the caller may not see into an item of a bulk,
// and expects the one problem there is with each; then those it may see.
func (w *world) checkBulk(v visitor, people, homes, places []target) {
	w.t.Helper()
	visible := func(t target) bool { return v.acts != nil && t.owner != nil && v.acts.sees(t.owner, ofTheBusiness) }
	var foreign, elsewhere, shown []m
	for i, person := range people {
		for j, home := range homes {
			order := anOrder(drop("recipient"), set("recipient_id", unescape(person.id)), set("recipient_address_id", unescape(home.id)))
			switch {
			case visible(person) && person.owner == home.owner:
				shown = append(shown, order)
			case i == j, visible(person) != visible(home):
				foreign = append(foreign, order)
			}
		}
	}
	for _, place := range places {
		if order := anOrder(drop("pickup"), set("pickup_location_id", unescape(place.id))); visible(place) {
			shown = append(shown, order)
		} else {
			elsewhere = append(elsewhere, order)
		}
	}
	w.refuseItems(v, "NOT_FOUND", foreign)
	w.refuseItems(v, "PICKUP_LOCATION_NOT_FOUND", elsewhere)
	if len(shown) == 0 {
		return
	}
	if a, turned := w.callBulk(v, shown); !turned {
		a.outcomes(times("created", len(shown))...)
		w.nothingForeign(v, a)
	}
}

// refuseItems expects that each item is refused with the same code in the same
// words.
func (w *world) refuseItems(v visitor, code string, orders []m) {
	w.t.Helper()
	for some := range slices.Chunk(orders, 100) {
		a, turned := w.callBulk(v, some)
		if turned {
			return
		}
		var want []string
		for i := range some {
			want = append(want, strconv.Itoa(i)+" "+code)
		}
		a.problems(len(some), want...)
		for i := range some {
			text := a.text("error.details.errors." + strconv.Itoa(i) + ".message")
			if known, told := w.answers["item "+code]; !told {
				w.answers["item "+code] = text
			} else if text != known {
				w.t.Errorf("%s: %s is told as %q and as %q", v.name, code, text, known)
			}
		}
	}
}

func (w *world) callBulk(v visitor, orders []m) (a *answer, turned bool) {
	w.t.Helper()
	w.cells += len(orders) - 1 // each item is one
	bulk := rule{method: "POST", path: "/deliveries/bulk", scope: "deliveries:write", keyed: true, body: func() any {
		return aBulk(orders...)
	}}
	a = w.call(v, bulk, "")
	return a, w.turnedAway(v, bulk, a)
}

// checkBody expects success when the IDs belong together and to what the
// caller may see, and else the one refusal there is.
func (w *world) checkBody(v visitor, r rule, code string, status int, together bool, targets ...target) {
	w.t.Helper()
	a := w.call(v, r, "")
	if w.turnedAway(v, r, a) {
		return
	}
	visible := together
	for _, t := range targets {
		visible = visible && t.owner != nil && v.acts.sees(t.owner, ofTheBusiness)
	}
	if !visible {
		a.refused(status, code)
		w.sameAnswer(code, v, a)
		return
	}
	a.is(r.success)
	w.nothingForeign(v, a)
}

// checkCursors takes the cursors of everybody to every list.
func (w *world) checkCursors() {
	lists := map[string]string{
		"/recipients": "recipients:read", "/pickup-locations": "deliveries:read", "/deliveries": "deliveries:read",
		"/events": "deliveries:read", "/webhook-endpoints": "webhooks:read",
	}
	for from := range lists {
		for _, maker := range w.parties {
			cursor := maker.client.get(from + "?limit=1").is(200).text("meta.next_cursor")
			for list, scope := range lists {
				for _, v := range w.visitors {
					w.cells++
					a := w.send(v, "GET", list+escaped("limit", "1", "cursor", cursor), nil)
					if w.turnedAway(v, rule{scope: scope}, a) {
						continue
					}
					if from == list && v.acts == maker {
						a.is(200)
						w.nothingForeign(v, a)
						continue
					}
					a.invalid("cursor invalid_format")
					w.sameAnswer("cursor", v, a)
				}
			}
		}
	}
	for list, scope := range lists {
		for _, v := range w.visitors {
			for _, cursor := range []string{"x", unknown("dlv_"), long(512), long(513), "AAAA"} {
				w.cells++
				a := w.send(v, "GET", list+escaped("limit", "1", "cursor", cursor), nil)
				if w.turnedAway(v, rule{scope: scope}, a) {
					continue
				}
				a.invalid("cursor invalid_format")
				w.sameAnswer("cursor", v, a)
			}
		}
	}
}

// unescape is an ID as a body carries it.
func unescape(id string) string {
	plain, err := url.PathUnescape(id)
	if err != nil {
		panic(err)
	}
	return strings.ReplaceAll(plain, "\x00", "")
}
