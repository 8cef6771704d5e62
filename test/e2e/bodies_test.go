package e2e

import "encoding/json"

// Two places in Accra, about three kilometres apart.
const (
	hereLatitude, hereLongitude   = 5.5571, -0.1818
	thereLatitude, thereLongitude = 5.58, -0.19
)

// change edits a body.
type change func(m)

// set puts a value; drop takes one away.
func set(name string, value any) change { return func(body m) { body[name] = value } }
func drop(names ...string) change {
	return func(body m) {
		for _, name := range names {
			delete(body, name)
		}
	}
}

func inner(name string, changes ...change) change {
	return func(body m) { apply(body[name].(m), changes) }
}

func apply(body m, changes []change) m {
	for _, c := range changes {
		c(body)
	}
	return body
}

// anAddress is one in Accra, as the directory takes it.
func anAddress(changes ...change) m {
	return apply(m{"address": "17 Palm Crescent, Labone", "latitude": thereLatitude, "longitude": thereLongitude}, changes)
}

// aPickup is an inline pickup.
func aPickup(changes ...change) m {
	return apply(m{
		"name": "Osu kitchen", "contact": "+233302000011", "address": "8 Cantonments Close",
		"latitude": hereLatitude, "longitude": hereLongitude,
	}, changes)
}

// anOrder is a delivery to a new recipient, with everything inline.
func anOrder(changes ...change) m {
	return apply(m{
		"recipient": m{"name": "Efua Quartey", "phone_number": newPhone(), "address": anAddress()},
		"pickup":    aPickup(), "payment": m{"type": "delivery_only"}, "vehicle_type": "bike",
	}, changes)
}

// aPlace is a saved pickup location.
func aPlace(changes ...change) m {
	return apply(m{
		"name": "Tema depot", "contact": "+233302000012", "address": "Harbour Street 3",
		"latitude": hereLatitude, "longitude": hereLongitude,
	}, changes)
}

// aTrip is a question for a price.
func aTrip(changes ...change) m {
	return apply(m{
		"pickup":  m{"latitude": hereLatitude, "longitude": hereLongitude},
		"dropoff": m{"latitude": thereLatitude, "longitude": thereLongitude}, "vehicle_type": "bike",
	}, changes)
}

func render(body any) []byte {
	text, err := json.Marshal(body)
	if err != nil {
		panic(err)
	}
	return text
}
