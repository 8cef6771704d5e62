package e2e

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The message of each code tells what happened, to which value, and what to do;
// its details are for programs. doc_url stands beside all of them.
func TestEachErrorTellsWhatHappenedAndToWhat(t *testing.T) {
	both(t, func(t *testing.T, s *server) {
		c := s.caller(t, sandbox)
		few := s.newClient(t, sandbox, s.newKey(t, c.app, sandbox, "quotes:read").secret)
		used := newKeyText()
		c.post("/recipients", m{"phone_number": newPhone()}, idem(used)).is(201)
		order := newExternalID()
		booked := c.post("/deliveries", anOrder(set("external_id", order))).is(201).id()
		gone := c.post("/deliveries", anOrder()).is(201).id()
		c.move(gone, "assigned").is(200)
		c.move(gone, "picked_up").is(200)
		running := c.post("/deliveries", anOrder(simulated("delivered", 300))).is(201).id()
		bare := c.post("/pickup-locations", m{"name": "Bare shed", "address": "By the road"}).is(201).id()

		for name, e := range map[string]struct {
			answer  *answer
			says    string // a pattern
			details string // names, sorted
		}{
			"INVALID_API_KEY, missing": {c.withKey("").get("/api-key"), `^No API key\. Send Authorization: Bearer svc_test_key_\.\.\.$`, "reason"},
			"INVALID_API_KEY, malformed": {c.withKey(c.key[:len(c.key)-1]).get("/api-key"),
				`^The key is mistyped or cut off: its checksum does not match\.`, "reason"},
			"INVALID_API_KEY, unknown": {c.withKey(unknownKey(sandbox)).get("/api-key"), `^Unknown key ending [0-9A-Za-z]{4}\. `, "reason"},
			"ENVIRONMENT_MISMATCH": {c.withKey(unknownKey(live)).get("/api-key"),
				`^This is a live key on the sandbox host\. Use a svc_test_key_ key here, or call http://`, "host_environment key_environment"},
			"INSUFFICIENT_SCOPE": {few.post("/deliveries", anOrder()), `^This call needs deliveries:write; the key has quotes:read\.$`,
				"granted_scopes required_scope"},
			"INVALID_REQUEST, a name": {c.post("/deliveries", anOrder(set("recepient", m{}))),
				`^Unknown field recepient\. Did you mean recipient\?`, "field suggestion"},
			"INVALID_REQUEST, the end": {c.post("/deliveries", "{\n  \"recipient\": "), `^JSON ends early at line 2, column \d+`, "column line"},
			"VALIDATION_ERROR": {c.post("/deliveries", anOrder(inner("recipient", inner("address", set("latitude", 91))),
				set("vehicle_type", "horse"))),
				`^2 fields are invalid: recipient\.address\.latitude, vehicle_type\.$`, "fields"},
			"IDEMPOTENCY_CONFLICT": {c.post("/recipients", m{"phone_number": newPhone()}, idem(used)),
				`^This Idempotency-Key was used at 20\d\d-[0-9T:.-]+Z for a different request\. `, "first_used_at"},
			"EXTERNAL_ID_CONFLICT": {c.post("/deliveries", anOrder(set("external_id", order))), `^external_id ` + regexp.QuoteMeta(order) +
				` is already delivery ` + booked + `\. `, "delivery_id external_id"},
			"DELIVERY_NOT_CANCELLABLE": {c.send("POST", "/deliveries/"+gone+"/cancel", nil), `^The delivery was picked up at 20\d\d-[0-9T:.-]+Z `,
				"status"},
			"PICKUP_LOCATION_INCOMPLETE": {c.post("/deliveries", anOrder(drop("pickup"), set("pickup_location_id", bare))),
				`^Pickup location ` + bare + ` has no contact, latitude, longitude\. Complete it with PATCH `, "missing"},
			"SANDBOX_TRANSITION_INVALID": {c.move(booked, "delivered"),
				`^Cannot go from booked to delivered\. Next allowed: assigned, outsourced, cancelled\.$`,
				"allowed_statuses current_status requested_status"},
			"SIMULATION_RUNNING": {c.move(running, "assigned"),
				`^Scenario delivered moves this delivery by itself, 0 of 4 steps done\. Stop it first: DELETE /test-helpers/deliveries/\{id\}/simulation\.$`, "next_step_at scenario step steps_total"},
			"SIMULATION_NOT_APPLICABLE": {c.post("/deliveries", anOrder(simulated("cod_refused", 5), set("payment", m{"type": "delivery_only"}))),
				`^Scenario cod_refused needs payment\.type cod\.$`, "applicable_scenarios payment_type scenario status"},
			"BULK_VALIDATION_FAILED": {c.post("/deliveries/bulk",
				aBulk(anOrder(), anOrder(set("vehicle_type", "horse"), set("delivery_instructions", 5)), anOrder(drop("payment")))),
				`^3 problems in 2 of 3 items; nothing was created\.`, "errors"},
			"NOT_FOUND": {c.get("/deliveries/" + unknown("dlv_")), `^Nothing with this ID is visible to this key\. `, ""},
			"INTERNAL_SERVER_ERROR": {c.get("/deliveries", force("INTERNAL_SERVER_ERROR")),
				`^Something failed on our side\. .*quote request ID req_`, ""},
		} {
			code, _, _ := strings.Cut(name, ",")
			if got := e.answer.text("error.code"); got != code {
				t.Errorf("%s: answered %s", name, e.answer.body)
			}
			if said := e.answer.text("message"); !regexp.MustCompile(e.says).MatchString(said) {
				t.Errorf("%s says %q, want %s", name, said, e.says)
			}
			details, _ := e.answer.lookup("error.details")
			members, _ := details.(map[string]any)
			delete(members, "doc_url")
			if got := strings.Join(slices.Sorted(maps.Keys(members)), " "); got != e.details {
				t.Errorf("%s has the details %q, want %q", name, got, e.details)
			}
			if strings.Contains(string(e.answer.body), c.key) {
				t.Errorf("%s repeats the key", name)
			}
		}
	})
}
