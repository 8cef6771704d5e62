package e2e

import (
	"strings"
	"testing"
)

func TestADeliveryToASavedRecipientAndAddress(t *testing.T) {
	everywhere(t, func(t *testing.T, s *server, env string) {
		c := s.caller(t, env)
		person := c.post("/recipients", m{"phone_number": newPhone(), "name": "Kojo Antwi"}).is(201)
		home := c.post("/recipients/"+person.id()+"/addresses", anAddress(set("label", "Home office"),
			set("municipality", "La Dade-Kotopon"), set("delivery_notes", "Blue gate"))).is(201)
		c.post("/deliveries", anOrder(drop("recipient"), set("recipient_id", person.id()), set("recipient_address_id", home.id()))).
			is(201).has("data.recipient.id", person.id(), "data.recipient.name", "Kojo Antwi",
			"data.recipient.phone_number", person.text("data.phone_number"), "data.dropoff.id", home.id(),
			"data.dropoff.label", "Home office", "data.dropoff.municipality", "La Dade-Kotopon",
			"data.dropoff.delivery_notes", "Blue gate", "data.dropoff.address", home.text("data.address"))

		// null means absent.
		c.post("/deliveries", anOrder(set("recipient", nil), set("recipient_id", person.id()),
			set("recipient_address_id", home.id()), set("external_id", nil), set("sandbox", nil))).is(201)

		// Another recipient's address is as good as none.
		other := c.post("/recipients", m{"phone_number": newPhone()}).is(201)
		c.post("/deliveries", anOrder(drop("recipient"), set("recipient_id", other.id()), set("recipient_address_id", home.id()))).
			refused(404, "NOT_FOUND")
	})
}

func TestTheFirstOfWhatIsWrongWithAnOrderIsTold(t *testing.T) {
	everywhere(t, func(t *testing.T, s *server, env string) {
		c := s.caller(t, env)
		person := c.post("/recipients", m{"phone_number": newPhone()}).is(201).id()
		home := c.post("/recipients/"+person+"/addresses", anAddress()).is(201).id()
		address := set("recipient_address_id", home)
		place := c.post("/pickup-locations", aPlace()).is(201).id()
		c.send("POST", "/quotes", aTrip(set("pickup_location_id", place))).refused(422, "PICKUP_SHAPE_CONFLICT")
		c.send("POST", "/quotes", aTrip(drop("pickup"))).refused(422, "PICKUP_SHAPE_CONFLICT")

		// The recipient comes first, and fields before shapes.
		c.post("/deliveries", anOrder(drop("recipient", "pickup"))).refused(422, "RECIPIENT_SHAPE_CONFLICT")
		c.post("/deliveries", anOrder(drop("recipient"), set("vehicle_type", "boat"))).invalid("vehicle_type not_allowed")
		// The pickup's shape comes before the missing amount, that before the IDs.
		c.post("/deliveries", anOrder(drop("pickup"), set("payment", m{"type": "cod"}))).refused(422, "PICKUP_SHAPE_CONFLICT")
		c.post("/deliveries", anOrder(drop("recipient"), set("recipient_id", "x"), address, set("payment", m{"type": "cod"}))).
			refused(422, "COD_GOODS_VALUE_REQUIRED")
		c.post("/deliveries", anOrder(drop("recipient", "pickup"), set("recipient_id", "x"), address, set("pickup_location_id", "y"))).
			refused(404, "NOT_FOUND")
		if n := len(c.get("/deliveries").ids()); n != 0 {
			t.Errorf("refusals left %d deliveries behind", n)
		}
	})
}

func TestASavedPickupLocationMustBeUsable(t *testing.T) {
	everywhere(t, func(t *testing.T, s *server, env string) {
		c := s.caller(t, env)
		from := func(id string) m { return anOrder(drop("pickup"), set("pickup_location_id", id)) }
		trip := func(id string) m { return aTrip(drop("pickup"), set("pickup_location_id", id)) }

		good := c.post("/pickup-locations", aPlace()).is(201)
		c.post("/deliveries", from(good.id())).is(201).has("data.pickup.name", "Tema depot",
			"data.pickup.contact", "+233302000012", "data.pickup.address", "Harbour Street 3")
		c.send("POST", "/quotes", trip(good.id())).is(200).has("data.fee", "19")

		closed := c.post("/pickup-locations", aPlace(set("active", false))).is(201)
		noContact := c.post("/pickup-locations", aPlace(drop("contact"))).is(201)
		noPlace := c.post("/pickup-locations", aPlace(drop("latitude", "longitude"))).is(201)
		outside := c.post("/pickup-locations", aPlace(set("latitude", 51.5))).is(201)
		ask := func(id string) *answer { return c.send("POST", "/quotes", trip(id)) } // of creates the table of bulks tells
		ask(closed.id()).refused(422, "PICKUP_LOCATION_INACTIVE")
		ask(noContact.id()).refused(422, "PICKUP_LOCATION_INCOMPLETE").has("error.details.missing", "[contact]")
		ask(noPlace.id()).refused(422, "PICKUP_LOCATION_INCOMPLETE").has("error.details.missing", "[latitude longitude]")
		ask(unknown("pkp_")).refused(422, "PICKUP_LOCATION_NOT_FOUND")
		ask("here").refused(422, "PICKUP_LOCATION_NOT_FOUND")
		ask(outside.id()).invalid("pickup_location_id out_of_range")

		// Switched on and completed, they work.
		c.send("PATCH", "/pickup-locations/"+closed.id(), m{"active": true}).is(200)
		c.post("/deliveries", from(closed.id())).is(201)
		c.send("PATCH", "/pickup-locations/"+noPlace.id(), m{"latitude": hereLatitude, "longitude": hereLongitude}).is(200).
			has("data.complete", "true")
		c.post("/deliveries", from(noPlace.id())).is(201)
	})
}

func TestCashOnDeliveryNeedsAnAmount(t *testing.T) {
	everywhere(t, func(t *testing.T, s *server, env string) {
		c := s.caller(t, env)
		pay := func(value string) string {
			order := anOrder(drop("payment"))
			return strings.TrimSuffix(string(render(order)), "}") + `,"payment":{"type":"cod"` + value + "}}"
		}
		for sent, shown := range map[string]string{
			"0.01": "0.01", "1": "1", "1.000": "1", "1e2": "100", "12.50": "12.5", "1000000": "1000000", "1000000.00": "1000000",
			"21.899999999999999": "21.9", "130.63999999999999": "130.64", "0.1e1": "1", "19.99": "19.99", "0.29": "0.29", "1234.567e1": "12345.67",
		} {
			c.post("/deliveries", pay(`,"goods_value":`+sent)).is(201).has("data.payment.goods_value", shown, "data.payment.type", "cod")
		}
		key := newKeyText()
		order := pay(`,"goods_value":21.9`)
		c.post("/deliveries", order, idem(key)).is(201).replayed(false)
		c.post("/deliveries", strings.Replace(order, "21.9", "21.899999999999999", 1), idem(key)).is(201).replayed(true)
		for _, sent := range []string{``, `,"goods_value":null`, `,"goods_value":0`, `,"goods_value":0.00`, `,"goods_value":-0`,
			`,"goods_value":-5`, `,"goods_value":-0.001`, `,"goods_value":0e5`} {
			c.post("/deliveries", pay(sent)).refused(422, "COD_GOODS_VALUE_REQUIRED")
		}
		for sent, code := range map[string]string{
			`"5"`: "invalid_type", `true`: "invalid_type", `[5]`: "invalid_type", `1.005`: "invalid_format", `21.89999999999999`: "invalid_format", `0.001`: "invalid_format",
			`1000000.01`: "out_of_range", `1e7`: "out_of_range", `1e999999999`: "out_of_range", `1e-999999999`: "invalid_format",
		} {
			c.post("/deliveries", pay(`,"goods_value":`+sent)).invalid("payment.goods_value " + code)
		}
		c.post("/deliveries", anOrder(set("payment", m{"type": "delivery_only", "goods_value": 5}))).
			invalid("payment.goods_value not_allowed")
		c.post("/deliveries", anOrder(set("payment", m{"type": "delivery_only", "goods_value": nil}))).is(201)
		c.post("/deliveries", anOrder(set("payment", m{"type": "card"}))).invalid("payment.type not_allowed")
		c.post("/deliveries", anOrder(set("payment", m{}))).invalid("payment.type required")
		c.post("/deliveries", anOrder(drop("payment"))).invalid("payment required")
	})
}

func TestAnExternalIDIsTakenOnce(t *testing.T) {
	everywhere(t, func(t *testing.T, s *server, env string) {
		c := s.caller(t, env)
		external := newExternalID()
		first := c.post("/deliveries", anOrder(set("external_id", external))).is(201)
		conflict := func(external string) {
			t.Helper()
			c.post("/deliveries", anOrder(set("external_id", external))).refused(409, "EXTERNAL_ID_CONFLICT").
				has("error.details.delivery_id", first.id(), "error.details.external_id", first.text("data.external_id"))
		}
		conflict(external)
		conflict("  " + external + " ") // text is trimmed
		c.send("POST", "/deliveries/"+first.id()+"/cancel", nil).is(200)
		conflict(external) // stays taken

		c.post("/deliveries", anOrder(set("external_id", strings.ToUpper(external)))).is(201)
		s.caller(t, env).post("/deliveries", anOrder(set("external_id", external))).is(201)
		other := map[string]string{live: sandbox, sandbox: live}[env]
		c.in(other).post("/deliveries", anOrder(set("external_id", external))).is(201)

		for value, code := range map[string]string{
			strings.Repeat("é", 129): "too_long", "  ": "too_short", "a\tb": "invalid_format", "a\u200bb": "invalid_format",
		} {
			c.post("/deliveries", anOrder(set("external_id", value))).invalid("external_id " + code)
		}
		long := strings.Repeat("é", 116) + external[:12]
		c.post("/deliveries", anOrder(set("external_id", long))).is(201).has("data.external_id", long)
	})
}

func TestEveryProblemOfAnOrderIsToldAtOnce(t *testing.T) {
	both(t, func(t *testing.T, s *server) {
		c := s.caller(t, sandbox)
		c.post("/deliveries", m{
			"external_id": 5, "recipient": m{"name": "", "phone_number": "12", "address": m{"address": "x", "latitude": 91}},
			"pickup":  m{"name": strings.Repeat("n", 129), "contact": true, "address": "ok", "latitude": 51.5, "longitude": 0},
			"payment": m{"type": "cod", "goods_value": "5"}, "vehicle_type": "Bike", "delivery_instructions": strings.Repeat("i", 501),
			"sandbox": m{"scenario": "none", "step_seconds": 301},
		}).invalid("external_id invalid_type", "recipient.name too_short", "recipient.phone_number invalid_format",
			"recipient.address.address too_short", "recipient.address.latitude out_of_range", "recipient.address.longitude required",
			"pickup.name too_long", "pickup.contact invalid_type", "pickup out_of_range", "payment.goods_value invalid_type",
			"vehicle_type not_allowed", "delivery_instructions too_long", "sandbox.scenario not_allowed", "sandbox.step_seconds out_of_range")
		c.post("/deliveries", m{}).invalid("payment required", "vehicle_type required")
		c.send("POST", "/quotes", m{}).invalid("dropoff required", "vehicle_type required")
		c.send("POST", "/quotes", aTrip(set("dropoff", m{"latitude": 51.5, "longitude": 0}), inner("pickup", set("latitude", -4)))).
			invalid("pickup out_of_range", "dropoff out_of_range")
	})
}
