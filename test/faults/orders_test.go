package faults

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
)

type m = map[string]any

// order is one delivery that somebody wants created once, however often it is
// sent.
type order struct {
	key    string
	marker string // in the delivery's instructions: finds what was made of it
	body   []byte
	sends  int // how many times it is sent at once
	toldBy answers
}

// takeOrders writes n orders. Of each hundred, doubled are sent more than once
// at a time, and shared go to people whom other orders go to as well, half of
// them to the same addresses. Three quarters have an external_id; for the
// others nothing but the key stands between them and a second delivery.
func takeOrders(n, doubled, shared int) []*order {
	orders := make([]*order, n)
	run := rand.Uint64()
	for i := range orders {
		o := &order{
			key:    fmt.Sprintf("storm-%016x-%d", run, i),
			marker: fmt.Sprintf("order %016x %d", run, i),
			sends:  1,
		}
		if rand.IntN(100) < doubled {
			o.sends = 2 + rand.IntN(2)
		}
		phone, at := fmt.Sprintf("+23324%07d", i), "17 Palm Crescent, Labone"
		if rand.IntN(100) < shared {
			phone = fmt.Sprintf("+23327%07d", rand.IntN(12))
			if rand.IntN(2) == 0 {
				at = fmt.Sprintf("%d Ring Road, Accra", rand.IntN(40))
			}
		}
		body := m{
			"recipient": m{"name": "Efua Quartey", "phone_number": phone, "address": m{
				"address": at, "latitude": 5.58, "longitude": -0.19, "label": "Home", "municipality": "Accra"}},
			"pickup": m{"name": "Osu kitchen", "contact": "+233302000011", "address": "8 Cantonments Close",
				"latitude": 5.5571, "longitude": -0.1818},
			"payment": m{"type": "delivery_only"}, "vehicle_type": "bike",
			"delivery_instructions": o.marker,
		}
		if i%4 != 0 {
			body["external_id"] = o.marker
		}
		var err error
		if o.body, err = json.Marshal(body); err != nil {
			panic(err) // strings and numbers
		}
		orders[i] = o
	}
	return orders
}
