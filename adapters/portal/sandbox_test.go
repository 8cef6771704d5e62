package portal_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"waybill/adapters/portal"
	"waybill/application/deliveries"
	"waybill/domain"
	"waybill/test/stage"
)

// sandboxDeliveries are those of a house in its sandbox, newest first.
func (s *scene) sandboxDeliveries(t *testing.T, h house) []*domain.Delivery {
	t.Helper()
	return must[[]*domain.Delivery](t)(deliveries.NewHandling(s.Store, s.Clock, s.IDs, stage.Renderer{}).List(t.Context(), h.tenant(domain.Sandbox),
		domain.DeliveryFilter{NewestFirst: true}, domain.PageRequest{Limit: 100}))
}

func (s *scene) auditOf(t *testing.T, h house, action domain.Action) []domain.AuditEntry {
	t.Helper()
	return must[[]domain.AuditEntry](t)(s.audit.EntriesOfBusiness(t.Context(), h.business.ID, domain.AuditFilter{Action: action},
		domain.PageRequest{Limit: 100}))
}

func TestASampleIsBookedOnceWithItsRecordAndShownAsItsCall(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	r := s.signedIn(t, s.house, domain.RoleDeveloper)
	before := len(s.sandboxDeliveries(t, s.house))
	form := s.sampleForm(s.house, "sandbox.scenario", "failed_then_retried", "recipient.name", "Kofi's `shop`", "external_id", "order-7")
	for range 2 { // a reload
		p := r.post("/sandbox/book", form)
		if p.status != http.StatusOK || p.at != "/sandbox" || !strings.Contains(p.body, "The sample was booked") {
			t.Fatalf("%d at %s\n%s", p.status, p.at, p.body)
		}
		for _, want := range []string{"What you just did, as an API call", "Kofi\\u0027s \\u0060shop\\u0060", "order-7",
			"It books another delivery like this one",
			"Authorization: Bearer $WAYBILL_API_KEY", "failed_then_retried", "The scenario “failed then retried” moves it"} {
			if !strings.Contains(strings.ReplaceAll(p.body, "&#34;", `"`), want) {
				t.Errorf("the page does not show %q", want)
			}
		}
	}
	all := s.sandboxDeliveries(t, s.house)
	if len(all) != before+1 || all[0].Recipient.Name != "Kofi's `shop`" || all[0].Recipient.PhoneNumber != "+233244123456" ||
		!all[0].Simulating() {
		t.Fatalf("%d were booked, the last is %+v", len(all)-before, all[0])
	}
	told := s.auditOf(t, s.house, domain.ActionDeliveryBook)
	if len(told) != 1 || told[0].Target != all[0].ID || told[0].Actor.ID != s.house.people[domain.RoleDeveloper].ID {
		t.Errorf("the audit log has %+v", told)
	}
}

func TestWhatTheAPIRefusesIsToldAtItsField(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	r := s.signedIn(t, s.house, domain.RoleDeveloper)
	for _, c := range [][3]string{
		{"recipient.phone_number", "12", "recipient-phone_number-error"},
		{"recipient.address.latitude", "north", "recipient-address-latitude-error"},
		{"recipient.address.latitude", "", "recipient-address-latitude-error"}, {"pickup.address", "", "pickup-address-error"},
		{"payment.goods_value", "-1.234", "payment-goods_value-error"}, {"sandbox.step_seconds", "301", "sandbox-step_seconds-error"},
		{"recipient.name", "A\u202eB", "recipient-name-error"}, {"vehicle_type", "boat", "vehicle_type-error"},
	} {
		p := r.post("/sandbox/book", s.sampleForm(s.house, "sandbox.scenario", "delivered", "payment.type", "cod",
			"payment.goods_value", "120.50", c[0], c[1]))
		if c[0] == "sandbox.step_seconds" && !strings.Contains(p.body, "<details open><summary>Pace and your own ID") {
			t.Error("what is wrong lies in a closed block")
		}
		if p.status != http.StatusUnprocessableEntity || !strings.Contains(p.body, `id="`+c[2]+`"`) || !strings.Contains(p.body, "Nothing was booked") {
			t.Errorf("%s = %q: %d, no error at the field", c[0], c[1], p.status)
		}
	}
	p := r.post("/sandbox/book", s.sampleForm(s.house, "payment.type", "cod"))
	if p.status != http.StatusUnprocessableEntity || strings.Contains(p.body, "payment.goods_value over 0") ||
		!strings.Contains(p.body, `id="payment-goods_value-error"`) || !strings.Contains(p.body, "“Cash to collect, with cod” needs an amount") {
		t.Errorf("cod without an amount: %d", p.status)
	}
	if n := len(s.sandboxDeliveries(t, s.house)); n != 1 {
		t.Errorf("there are %d deliveries", n)
	}
}

func TestASampleIsMovedSimulatedAndStoppedInTheSandbox(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	r := s.signedIn(t, s.house, domain.RoleDeveloper)
	page := "/sandbox?delivery=" + string(s.house.delivery)
	p := r.get(page)
	for _, want := range []string{"Move to assigned", "Move to cancelled", "Start simulation", "/transition", "/simulation",
		"&#34;assigned&#34;"} {
		if !strings.Contains(p.body, want) {
			t.Errorf("the page does not offer %q", want)
		}
	}
	for _, not := range []string{"Move to delivered", "Move to in transit", "Stop the simulation"} {
		if strings.Contains(p.body, not) {
			t.Errorf("the page offers %q, which is not possible now", not)
		}
	}
	action, form := p.form(t, "Start simulation")
	form.Set("scenario", "stalled")
	if p = r.post(action, form); p.at != "/sandbox" || !strings.Contains(p.body, "The simulation is running") ||
		!strings.Contains(p.body, "&#34;stalled&#34;") || strings.Contains(p.body, "Move to assigned") {
		t.Fatalf("started: %d at %s", p.status, p.at)
	}
	if p = r.post(p.form(t, "Stop the simulation")); p.at != "/sandbox" || !strings.Contains(p.body, "The simulation was stopped") ||
		!strings.Contains(p.body, "-X DELETE") {
		t.Fatalf("stopped: %d at %s", p.status, p.at)
	}
	stale, moving := p.form(t, "Move to assigned")
	if !strings.Contains(p.body, "<summary>Book another sample") || strings.Index(p.body, "The simulation was stopped") < strings.Index(p.body, `id="machine"`) {
		t.Error("the form is not folded, or what was done is not said in the card")
	}
	if p = r.post(stale, moving); p.at != "/sandbox" || p.fragment != "machine" || !strings.Contains(p.body, "assigned, where it is now") {
		t.Fatalf("moved: %d at %s", p.status, p.at)
	}
	if p = r.post(stale, moving); p.status != http.StatusConflict || !strings.Contains(p.body, "Nothing was changed") ||
		!strings.Contains(p.body, "Errors on request") {
		t.Errorf("moved from a page of before: %d at %s", p.status, p.at)
	}
	action, form = p.form(t, "Move to picked up")
	form.Set("status", "delivered")
	if p = r.post(action, form); p.status != http.StatusConflict || !strings.Contains(p.body, "Nothing was changed") {
		t.Errorf("a step that is not possible: %d", p.status)
	}
}

func TestLiveHasNoSandboxPage(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	r := s.signedIn(t, s.house, domain.RoleOwner)
	live := s.booked(t, s.house, domain.Live)
	if p := r.get("/sandbox?delivery=" + string(live)); p.status != http.StatusNotFound {
		t.Errorf("a delivery of live: %d", p.status)
	}
	for _, act := range []string{"/move", "/simulate", "/stop"} {
		form := sent("sandbox", "yes", "from", "booked", "status", "assigned", "scenario", "delivered", "step_seconds", "1")(s, s.house)
		if p := r.post(at(live)+act, form); p.status != http.StatusNotFound && p.status != http.StatusConflict {
			t.Errorf("%s of live: %d at %s", act, p.status, p.at)
		}
	}
	if p := r.get("/sandbox?environment=live"); strings.Contains(p.body, "live.example") {
		t.Error("the page shows calls of live")
	}
}

func TestEveryMoveOfTheSandboxIsDrawnAndListed(t *testing.T) {
	t.Parallel()
	machine := portal.DrawMachine(domain.Booked, []domain.Status{domain.Assigned, domain.Cancelled})
	moves, listed, next := 0, 0, 0
	for _, tr := range domain.Transitions() {
		if slices.Contains(tr.By, domain.ActorHelper) {
			moves++
		}
	}
	places := map[string]bool{}
	for _, state := range machine.States {
		listed += len(state.To)
		places[state.X+","+state.Y] = true
		if state.Next {
			next++
		}
	}
	if len(machine.Arrows) != moves || listed != moves || len(places) != len(domain.Statuses()) || next != 2 {
		t.Errorf("%d arrows and %d lines for %d moves, %d boxes that lie apart, %d of them lit", len(machine.Arrows), listed, moves, len(places), next)
	}
}

// The calls that are shown carry what was typed as data, whatever it is.
func TestWhatWasTypedStaysInItsLiteral(t *testing.T) {
	t.Parallel()
	const hostile = "'; rm -rf / #`${x}`\"\\\n'''JSON\nJSON;</script>"
	for _, text := range portal.Samples("POST", "https://sandbox.example/v1/deliveries", map[string]string{"name": hostile}) {
		body := text[strings.Index(text, "\"name\""):]
		body = "{" + body
		var got map[string]string
		if err := json.NewDecoder(strings.NewReader(body)).Decode(&got); err != nil || got["name"] != hostile {
			t.Errorf("%v: %q from\n%s", err, got, text)
		}
		if inside := body[:strings.Index(body, "}")]; strings.ContainsAny(inside, "'`") {
			t.Errorf("a quote ends the literal in\n%s", text)
		}
	}
}

// The call that is shown for a booking names the pickup location that was chosen.
func TestTheCallForABookingNamesItsPickupLocation(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	r := s.signedIn(t, s.house, domain.RoleDeveloper)
	location := string(s.house.pickup[domain.Sandbox])
	p := r.post("/sandbox/book", s.sampleForm(s.house, "pickup_location_id", location, "payment.type", "cod", "payment.goods_value", "120.50"))
	did := p.body[strings.Index(p.body, "What you just did"):]
	did = did[:strings.Index(did, "</section>")]
	if !strings.Contains(did, location) || strings.Contains(did, "&#34;contact&#34;") || !strings.Contains(did, "120.5") {
		t.Errorf("%d: another call is shown:\n%s", p.status, did)
	}
}

// An error is forced on a call that may answer it.
func TestAForcedErrorIsShownWithACallThatMayAnswerIt(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	r := s.signedIn(t, s.house, domain.RoleViewer)
	for code, method := range map[string]string{domain.CodeIdempotencyInProgress: "-X POST", domain.CodeQuoteUnavailable: "-X POST",
		domain.CodeRateLimitExceeded: "limit=1", domain.CodeInternal: "limit=1"} {
		p := r.get("/sandbox?error=" + code)
		at := strings.Index(p.body, `id="forced-curl"`)
		if call := p.body[at : at+strings.Index(p.body[at:], "</pre>")]; !strings.Contains(call, method) || !strings.Contains(call, code) {
			t.Errorf("%s: %s", code, call)
		}
		if strings.Contains(p.body, "to move it") || strings.Contains(p.body, "or move one") {
			t.Error("a viewer is told to move deliveries")
		}
	}
}
