package e2e

import (
	"bytes"
	"net/http"
	"regexp"
	"strings"
	"testing"
)

func TestADeliveryFromQuoteToCancel(t *testing.T) {
	everywhere(t, func(t *testing.T, s *server, env string) { fromQuoteToCancel(t, s.caller(t, env)) })
}

var referenceForm = regexp.MustCompile(`^[0-9A-HJKMNP-TV-Z]{4}(-[0-9A-HJKMNP-TV-Z]{4}){2}$`)

func fromQuoteToCancel(t *testing.T, c *client) {
	simulated := map[string]string{live: "false", sandbox: "true"}[c.env]

	quote := c.send(http.MethodPost, "/quotes", aTrip()).is(200).
		has("success", "true", "statusCode", "200", "data.environment", c.env, "data.simulated", simulated,
			"data.vehicle_type", "bike", "data.currency", "GHS", "data.distance_km", "3.52",
			"data.distance_source", "straight_line", "data.fee", "19", "data.requires_custom_quote", "false")
	c.get("/deliveries").is(200).has("meta.has_more", "false", "meta.next_cursor", "null", "meta.limit", "25")
	if n := len(c.get("/deliveries").ids()); n != 0 {
		t.Fatalf("a quote left %d deliveries behind", n)
	}

	key, external := newKeyText(), newExternalID()
	order := anOrder(set("external_id", external), set("delivery_instructions", "  Ring twice\nthen wait "))
	created := c.post("/deliveries", order, idem(key)).is(201).replayed(false)
	id := created.id()
	created.has("data.external_id", external, "data.environment", c.env, "data.simulated", simulated,
		"data.status", "booked", "data.recipient.name", "Efua Quartey",
		"data.recipient.phone_number", order["recipient"].(m)["phone_number"].(string),
		"data.pickup.name", "Osu kitchen", "data.pickup.contact", "+233302000011", "data.pickup.latitude", "5.5571",
		"data.dropoff.address", "17 Palm Crescent, Labone", "data.dropoff.longitude", "-0.19",
		"data.payment.type", "delivery_only", "data.vehicle_type", "bike", "data.currency", "GHS",
		"data.delivery_fee", quote.text("data.fee"), "data.requires_custom_quote", "false",
		"data.delivery_instructions", "Ring twice\nthen wait", "data.created_at", created.text("data.updated_at")).
		lacks("data.payment.goods_value", "data.dropoff.label", "data.dropoff.municipality", "data.dropoff.delivery_notes")
	if !referenceForm.MatchString(created.text("data.reference")) {
		t.Errorf("reference %q has not its form", created.text("data.reference"))
	}
	if !strings.HasSuffix(created.text("data.tracking_url"), "/"+created.text("data.reference")) {
		t.Errorf("tracking_url %q does not end in the reference", created.text("data.tracking_url"))
	}
	if got := created.header.Get("Location"); got != c.s.base(c.env)+"/deliveries/"+id {
		t.Errorf("Location is %q", got)
	}
	if c.env == sandbox {
		created.has("data.simulation.scenario", "manual", "data.simulation.status", "idle", "data.simulation.step", "0",
			"data.simulation.steps_total", "0", "data.simulation.next_step_at", "null")
	} else {
		created.lacks("data.simulation")
	}

	replay := c.post("/deliveries", order, idem(key)).is(201).replayed(true)
	if !bytes.Equal(replay.body, created.body) || replay.header.Get("Location") != created.header.Get("Location") {
		t.Errorf("the replay differs:\n%s %s\n%s %s", created.header.Get("Location"), created.body, replay.header.Get("Location"), replay.body)
	}
	if replay.header.Get("X-Request-ID") == created.header.Get("X-Request-ID") {
		t.Error("the replay repeats the request ID")
	}

	read := c.get("/deliveries/" + id).is(200)
	if read.text("data") != created.text("data") {
		t.Errorf("read %s, created %s", read.body, created.body)
	}
	listed := c.get("/deliveries").is(200)
	if listed.count("data") != 1 || listed.text("data.0") != created.text("data") {
		t.Errorf("listed %s, created %s", listed.body, created.body)
	}
	c.get("/deliveries/"+id+"/events").is(200).
		has("data.0.type", "delivery.created", "data.0.status", "booked", "data.0.sequence", "1",
			"data.0.occurred_at", created.text("data.created_at"),
			"meta.limit", "1", "meta.has_more", "false", "meta.next_cursor", "null").
		lacks("data.1", "data.0.reason_code")

	cancelled := c.send(http.MethodPost, "/deliveries/"+id+"/cancel", nil).is(200).has("data.status", "cancelled", "data.id", id)
	again := c.send(http.MethodPost, "/deliveries/"+id+"/cancel", m{}).is(200).replayed(false)
	if again.text("data") != cancelled.text("data") {
		t.Errorf("cancelled again: %s, first: %s", again.body, cancelled.body)
	}
	c.get("/deliveries/"+id+"/events").is(200).
		has("data.1.type", "delivery.cancelled", "data.1.status", "cancelled", "data.1.sequence", "2",
			"data.1.reason_code", "cancelled_by_caller", "data.1.occurred_at", cancelled.text("data.updated_at")).
		lacks("data.2")
	if still := c.post("/deliveries", order, idem(key)).is(201).replayed(true); !bytes.Equal(still.body, created.body) {
		t.Errorf("after the cancel the replay changed: %s", still.body)
	}
}

func TestADeliveryKeepsWhatItWasBookedWith(t *testing.T) {
	both(t, func(t *testing.T, s *server) {
		c := s.loner(t, sandbox)
		place := c.post("/pickup-locations", aPlace()).is(201).id()
		person := c.post("/recipients", m{"phone_number": newPhone()}).is(201)
		home := c.post("/recipients/"+person.id()+"/addresses", anAddress()).is(201).id()
		booked := c.post("/deliveries", anOrder(drop("recipient", "pickup"), set("recipient_id", person.id()),
			set("recipient_address_id", home), set("pickup_location_id", place))).is(201).
			has("data.pickup.name", "Tema depot").lacks("data.recipient.name")

		c.send("PATCH", "/pickup-locations/"+place, m{"name": "Moved depot", "latitude": 5.6, "active": false}).is(200)
		c.post("/recipients", m{"phone_number": person.text("data.phone_number"), "name": "Yaa Owusu"}).is(200).
			has("data.name", "Yaa Owusu")
		if now := c.get("/deliveries/" + booked.id()).is(200); now.text("data") != booked.text("data") {
			t.Errorf("the delivery changed with its pickup location and recipient: %s, was %s", now.body, booked.body)
		}
	})
}

func TestAnInlineAddressThatIsKnownKeepsItsRecordButTheCoordinatesSentCount(t *testing.T) {
	both(t, func(t *testing.T, s *server) {
		c := s.caller(t, live)
		phone := newPhone()
		to := func(lat, lon float64, text, name string) change {
			return set("recipient", m{"name": name, "phone_number": phone,
				"address": m{"address": text, "latitude": lat, "longitude": lon, "label": name}})
		}
		near := c.post("/deliveries", anOrder(to(thereLatitude, thereLongitude, "9 Straße Lane", "Adjoa Home"))).is(201).
			has("data.delivery_fee", "19", "data.dropoff.label", "Adjoa Home")
		away := c.post("/deliveries", anOrder(to(5.65, -0.1, "  9  STRASSE\tLANE ", "Adjoa Works"))).is(201).
			has("data.dropoff.id", near.text("data.dropoff.id"), "data.recipient.id", near.text("data.recipient.id"),
				"data.dropoff.latitude", "5.65", "data.dropoff.address", "9  STRASSE\tLANE", "data.dropoff.label", "Adjoa Works",
				"data.recipient.name", "Adjoa Works")
		if away.text("data.delivery_fee") == near.text("data.delivery_fee") {
			t.Error("the price is that of the stored place, not of the one sent")
		}
		c.get("/recipients/"+near.text("data.recipient.id")).is(200).has("data.name", "Adjoa Home")
		c.get("/recipient-addresses/"+near.text("data.dropoff.id")).is(200).
			has("data.address", "9 Straße Lane", "data.label", "Adjoa Home", "data.latitude", "5.58")
		c.get("/recipients/" + near.text("data.recipient.id") + "/addresses").is(200).lacks("data.1")
	})
}
