package e2e

import (
	"fmt"
	"strings"
	"testing"
)

func TestABusinessStartsWithThreeSandboxPickupLocations(t *testing.T) {
	both(t, func(t *testing.T, s *server) {
		c := s.loner(t, sandbox)
		list := c.get("/pickup-locations").is(200)
		if list.count("data") != 3 {
			t.Fatalf("there are %d: %s", list.count("data"), list.body)
		}
		states := map[string]int{}
		for i := range 3 {
			at := fmt.Sprintf("data.%d.", i)
			states["active "+list.text(at+"active")+", complete "+list.text(at+"complete")]++
		}
		if fmt.Sprint(states) != "map[active false, complete true:1 active true, complete false:1 active true, complete true:1]" {
			t.Errorf("they are %v", states)
		}
		if n := c.in(live).get("/pickup-locations").is(200).count("data"); n != 0 {
			t.Errorf("on live there are %d", n)
		}
	})
}

func TestPickupLocationsAreMadeChangedAndListed(t *testing.T) {
	everywhere(t, func(t *testing.T, s *server, env string) {
		c := s.loner(t, env)
		full := c.post("/pickup-locations", aPlace(set("contact", "0302 000 012"))).is(201).
			has("data.name", "Tema depot", "data.contact", "+233302000012", "data.active", "true", "data.complete", "true")
		bare := c.post("/pickup-locations", m{"name": "Bare shed", "address": "By the road"}).is(201).
			has("data.contact", "null", "data.latitude", "null", "data.longitude", "null", "data.active", "true", "data.complete", "false")
		closed := c.post("/pickup-locations", aPlace(set("name", "Shut yard"), set("active", false))).is(201).has("data.active", "false")

		find := func(query string, want ...*answer) {
			t.Helper()
			var expected []string
			for _, a := range want {
				expected = append(expected, a.id())
			}
			got := c.get("/pickup-locations" + query).is(200).ids()
			if env == sandbox && len(got) > len(want) {
				got = got[:len(want)] // behind them are the three there are from the start
			}
			if fmt.Sprint(got) != fmt.Sprint(expected) {
				t.Errorf("%s found %v, want %v", query, got, expected)
			}
		}
		find("", closed, bare, full) // newest first
		find("?active=true", bare, full)
		find("?active=false", closed)
		find("?search=SHED", bare)
		find("?search=harbour+street", closed, full) // in the address
		find("?search=harbour&active=true", full)
		find("?search=nowhere")
		c.get("/pickup-locations?active=1").invalid("active not_allowed")
		c.get("/pickup-locations/"+full.id()).is(200).has("data.address", "Harbour Street 3")

		patch := func(id string, body m) *answer {
			t.Helper()
			return c.send("PATCH", "/pickup-locations/"+id, body)
		}
		changed := patch(full.id(), m{"name": " New depot ", "active": false, "longitude": -0.2}).is(200).
			has("data.name", "New depot", "data.active", "false", "data.longitude", "-0.2", "data.latitude", "5.5571",
				"data.contact", "+233302000012", "data.created_at", full.text("data.created_at"))
		if changed.text("data.updated_at") == full.text("data.updated_at") {
			t.Error("updated_at stayed")
		}
		patch(full.id(), m{"name": "New depot", "active": false}).is(200).has("data.updated_at", changed.text("data.updated_at"))
		find("", closed, bare, full) // by creation, not by change

		patch(bare.id(), m{"latitude": 5.6}).invalid("longitude required")
		patch(bare.id(), m{"longitude": -0.2}).invalid("latitude required")
		patch(bare.id(), m{"latitude": 5.6, "longitude": -0.2, "contact": "+233302000013"}).is(200).has("data.complete", "true")
		patch(bare.id(), m{}).invalid("body required")
		patch(bare.id(), m{"name": nil}).invalid("body required")
		patch(bare.id(), m{"name": strings.Repeat("n", 129), "contact": "12", "address": "x", "latitude": 91, "longitude": true,
			"active": "yes"}).
			refused(422, "VALIDATION_ERROR").has("error.details.fields.5.code", "invalid_type")
		patch(bare.id(), m{"activ": true}).refused(400, "INVALID_REQUEST").has("error.details.suggestion", "active")
		c.get("/pickup-locations/"+bare.id()).is(200).has("data.name", "Bare shed", "data.active", "true")

		c.post("/pickup-locations", m{}).invalid("name required", "address required")
		c.post("/pickup-locations", m{"name": "Half", "address": "Way", "latitude": 5.5}).invalid("longitude required")
	})
}
