package portal_test

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"waybill/domain"
	"waybill/ports"
	"waybill/test/sample"
)

// booked is a delivery of a house that was booked now.
func (s *scene) booked(t *testing.T, h house, e domain.Environment, with ...func(*domain.Booking)) domain.ID {
	t.Helper()
	tenant := domain.Tenant{BusinessID: h.business.ID, ApplicationID: h.app.ID, Environment: e}
	w := sample.BookingWrite(tenant, append([]func(*domain.Booking){func(b *domain.Booking) { b.CreatedAt = s.Clock.Now() }}, with...)...)
	if err := s.Store.Book(t.Context(), w); err != nil {
		t.Fatal(err)
	}
	return w.Delivery.ID
}

func (h house) tenant(e domain.Environment) domain.Tenant {
	return domain.Tenant{BusinessID: h.business.ID, ApplicationID: h.app.ID, Environment: e}
}

func at(id domain.ID) string { return "/deliveries/" + string(id) }

func TestTheListOfDeliveriesIsWhatItsAddressSays(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	r := s.signedIn(t, s.house, domain.RoleViewer)
	live := s.booked(t, s.house, domain.Live)
	var many []domain.ID
	for range 60 {
		s.wait(time.Second)
		many = append(many, s.booked(t, s.house, domain.Sandbox))
	}
	app := "application=" + string(s.house.app.ID)
	holds := func(path string, is bool, ids ...domain.ID) page {
		t.Helper()
		p := r.get(path)
		if p.status != http.StatusOK {
			t.Fatalf("%s: %d", path, p.status)
		}
		for _, id := range ids {
			if strings.Contains(p.body, `data-id="`+string(id)+`"`) != is {
				t.Errorf("%s: that it has %s is not %v", path, id, is)
			}
		}
		return p
	}
	first := holds("/deliveries", true, many[10:]...)
	holds("/deliveries", false, slices.Concat(many[:10], []domain.ID{live})...)
	if !strings.Contains(first.body, ">Older</a>") {
		t.Fatal("there is no second page")
	}
	holds("/deliveries?before="+string(many[10]), true, slices.Concat(many[:10], []domain.ID{s.house.delivery})...)
	holds("/deliveries?"+app+"&environment=live", true, live)
	holds("/deliveries?application=&environment=live", true, live)
	holds("/deliveries?"+app+"&environment=live&status=delivered", false, live)
	holds("/deliveries?environment=live&created_after=2026-03-15", false, live)
	holds("/deliveries?environment=live&created_before=2026-03-15", true, live)
	for _, path := range []string{
		"/deliveries?application=" + string(s.other.app.ID), "/deliveries?environment=moon", "/deliveries?status=lost",
		"/deliveries?before=" + string(s.other.delivery), "/deliveries?before=dlv_1", "/deliveries?environment=sandbox&before=" + string(live),
	} {
		if p := r.get(path); p.status != http.StatusNotFound {
			t.Errorf("%s: %d", path, p.status)
		}
	}
}

func TestADeliveryIsFoundByWhatOneHasInHand(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	id := s.booked(t, s.house, domain.Live, func(b *domain.Booking) { b.Reference, b.ExternalID = "WB42-7KQ2-9XRM", "order 17/b" })
	foreign := s.booked(t, s.other, domain.Live, func(b *domain.Booking) { b.ExternalID = "order 18" })
	r := s.signedIn(t, s.house, domain.RoleViewer)
	for _, text := range []string{string(id), "order 17/b", " order 17/b "} {
		if p := r.get("/deliveries?q=" + url.QueryEscape(text)); p.at != at(id) {
			t.Errorf("%q leads to %s", text, p.at)
		}
	}
	s.booked(t, s.house, domain.Sandbox, func(b *domain.Booking) { b.ExternalID = "order 17/b" })
	if p := r.get("/deliveries?q=order+17%2Fb"); p.at != "/deliveries" || strings.Count(p.body, "<tr data-id=") != 2 {
		t.Errorf("two of one external_id: %d at %s", strings.Count(p.body, "<tr data-id="), p.at)
	}
	for _, text := range []string{"order 18", string(foreign), "order", "dlv_", "'; --"} {
		if p := r.get("/deliveries?q=" + url.QueryEscape(text)); strings.Contains(p.body, "<tr data-id=") ||
			!strings.Contains(p.body, "Partial matches are not supported") {
			t.Errorf("%q finds something: %s", text, p.at)
		}
	}
}

// followed is a sandbox delivery that a call booked and whose first webhook was refused
// once and then taken.
func (s *scene) followed(t *testing.T) domain.ID {
	t.Helper()
	ctx := t.Context()
	var endpoint domain.WebhookEndpoint
	s.Write(t, func(ctx context.Context, tx ports.Stores) (err error) {
		endpoint, err = tx.Webhooks.InsertEndpoint(ctx, sample.WebhookEndpoint(s.house.tenant(domain.Sandbox), func(e *domain.WebhookEndpoint) {
			e.URL = "https://shop.example/hooks?token=s3same"
		}))
		return err
	})
	id := s.booked(t, s.house, domain.Sandbox)
	s.called(t, s.house, sandboxCall, func(r *domain.RequestRecord) { r.ID, r.DeliveryID = "-1s", id })
	s.wait(time.Second)
	due, err := s.Store.Outbox().Due(ctx, endpoint.ID, s.Clock.Now(), 10)
	if err != nil || len(due) == 0 {
		t.Fatalf("%d webhooks are due: %v", len(due), err)
	}
	refused := s.settles(t, endpoint, due[0].WebhookDelivery, sample.Refused(s.Clock.Now()))
	s.wait(time.Second)
	s.settles(t, endpoint, refused, sample.Arrived(s.Clock.Now()))
	return id
}

func TestTheTimelineHasCallsEventsAndAttemptsInTheirOrder(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	id := s.followed(t)
	p := s.signedIn(t, s.house, domain.RoleViewer).get(at(id))
	last := 0
	for _, text := range []string{"POST /v1/deliveries", "delivery.created, number 1", "sent to shop.example", "answered 503",
		"sent to shop.example", "answered 204"} {
		i := strings.Index(p.body[last:], text)
		if i < 0 {
			t.Fatalf("%q is not behind what comes before it:\n%s", text, p.body)
		}
		last += i + len(text)
	}
	if strings.Count(p.body, "/sent/whd_") < 2 {
		t.Errorf("attempts do not lead to what was sent\n%s", p.body)
	}
	if strings.Contains(p.body, "s3same") {
		t.Error("the query of the endpoint's address is shown")
	}
	if strings.Contains(p.body, "<form method=\"post\" action=\"/deliveries") {
		t.Error("a viewer is offered to change it")
	}
	s.storage.breakLog(ports.ErrTookTooLong)
	p = s.signedIn(t, s.house, domain.RoleViewer).get(at(id))
	if p.status != http.StatusOK || !strings.Contains(p.body, "the request log cannot be read right now") || !strings.Contains(p.body, "answered 204") {
		t.Errorf("without the log: %d\n%s", p.status, p.body)
	}
}

func TestASandboxDeliveryIsPlayedByHandAndEachStepIsAudited(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	id := s.booked(t, s.house, domain.Sandbox)
	r := s.signedIn(t, s.house, domain.RoleDeveloper)
	action, form := r.get(at(id)).form(t, "Move to assigned")
	if p := r.post(action, form); p.at != at(id) || !strings.Contains(p.body, "The delivery was moved") {
		t.Fatalf("moved: %d at %s", p.status, p.at)
	}
	if p := r.post(action, form); p.status != http.StatusConflict || !strings.Contains(p.body, "is assigned by now, and no longer booked") {
		t.Errorf("the same form once more: %d\n%s", p.status, p.body)
	}
	action, form = r.get(at(id)+"/cancel").form(t, "Cancel")
	for range 2 { // the second one changes nothing
		if p := r.post(action, form); p.at != at(id) || !strings.Contains(p.body, `<span class="tag s-cancelled">cancelled</span>`) {
			t.Errorf("cancelled: %d at %s", p.status, p.at)
		}
	}
	if p := r.get(at(id)); strings.Count(p.body, "by "+s.house.people[domain.RoleDeveloper].Name+" in the portal") != 2 {
		t.Errorf("the timeline does not say who moved and cancelled it\n%s", p.body)
	}
	other := s.booked(t, s.house, domain.Sandbox)
	action, form = r.get(at(other)).form(t, "Start simulation")
	form.Set("scenario", "delivered")
	form.Set("step_seconds", "0")
	if p := r.post(action, form); p.status != http.StatusUnprocessableEntity || !strings.Contains(p.body, "A whole number from 1 to 300.") ||
		!strings.Contains(p.body, `value="0"`) {
		t.Errorf("0 seconds: %d\n%s", p.status, p.body)
	}
	form.Set("step_seconds", "5")
	if p := r.post(action, form); p.at != at(other) || !strings.Contains(p.body, "“delivered” moves it") {
		t.Errorf("simulated: %d at %s\n%s", p.status, p.at, p.body)
	}
	if p := r.post(action, form); p.status != http.StatusConflict {
		t.Errorf("a second simulation: %d", p.status)
	}
	form.Set("scenario", "x")
	if p := r.post(at(id)+"/simulate", form); p.status != http.StatusUnprocessableEntity || !strings.Contains(p.body, "Nothing was changed") ||
		!strings.Contains(p.body, "Choose one from the list.") {
		t.Errorf("a bad scenario for one that has moved: %d\n%s", p.status, p.body)
	}
	var got []string
	for _, e := range must[[]domain.AuditEntry](t)(s.audit.EntriesOfBusiness(t.Context(), s.house.business.ID,
		domain.AuditFilter{ActorID: s.house.people[domain.RoleDeveloper].ID}, domain.PageRequest{Limit: 50})) {
		if strings.HasPrefix(string(e.Action), "delivery.") {
			got = append(got, string(e.Action)+" "+string(e.Target))
		}
	}
	want := "delivery.simulate " + string(other) + ", delivery.cancel " + string(id) + ", delivery.move " + string(id)
	if strings.Join(got, ", ") != want {
		t.Errorf("the audit log has %v, want %s", got, want)
	}
}

func TestALiveDeliveryIsCancelledByAnOwnerAndMovedByNobody(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	id := s.booked(t, s.house, domain.Live)
	developer, owner := s.signedIn(t, s.house, domain.RoleDeveloper), s.signedIn(t, s.house, domain.RoleOwner)
	if p := developer.post(at(id)+"/cancel", nil); p.status != http.StatusForbidden {
		t.Errorf("a developer cancels: %d", p.status)
	}
	for path, form := range map[string]url.Values{
		"/move": {"from": {"booked"}, "status": {"assigned"}}, "/simulate": {"scenario": {"delivered"}, "step_seconds": {"5"}},
	} {
		if p := owner.post(at(id)+path, form); p.status < 400 || p.status >= 500 {
			t.Errorf("an owner posts to %s: %d", path, p.status)
		}
	}
	if p := owner.get(at(id)); !strings.Contains(p.body, ">booked</span>") {
		t.Error("it has moved")
	}
	action, form := owner.get(at(id)+"/cancel").form(t, "Cancel")
	if p := owner.post(action, form); !strings.Contains(p.body, ">cancelled</span>") {
		t.Errorf("an owner cancels: %d at %s", p.status, p.at)
	}
	if p := owner.get(at(id) + "/cancel"); strings.Contains(p.body, "<button class=\"danger\"") {
		t.Error("what is cancelled can be cancelled")
	}
}

func TestTheListOpensOnTheApplicationThatBookedLastAndADeliveryTellsAllThatIsKnown(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	second := s.house
	second.app = must[domain.Application](t)(s.tenants.CreateApplication(t.Context(), operator, s.house.business.ID, "A second shop"))
	s.wait(time.Second)
	for _, h := range []house{second, s.house} {
		s.wait(time.Second)
		id := s.booked(t, h, domain.Sandbox, func(b *domain.Booking) {
			b.Dropoff.Municipality, b.Dropoff.Address = "", "7 Palm Lane"
			b.Payment = domain.Payment{Type: domain.CashOnDelivery, GoodsValue: &domain.Money{Minor: 4505, Currency: "GHS"}}
			b.Quote.Distance = domain.Distance{Kilometres: 4.2, Source: domain.DistanceRoad}
		})
		r := s.signedIn(t, s.house, domain.RoleViewer)
		if p := r.get("/deliveries"); !strings.Contains(p.body, `data-id="`+string(id)+`"`) || !strings.Contains(p.body, "7 Palm Lane") {
			t.Errorf("the list lacks %s of %s, or where it goes", id, h.app.Name)
		}
		p := r.get(at(id))
		for _, text := range []string{"45.05 GHS to collect", "4.20 km, road", `<a href="http://live.example/track/`} {
			if !strings.Contains(p.body, text) {
				t.Errorf("the delivery lacks %q", text)
			}
		}
	}
}

func TestTheChoiceOfEnvironmentAndApplicationIsRememberedAndStartsWithTheLatestTraffic(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	second := s.program(t, "A second shop")
	s.wait(time.Second)
	live := s.booked(t, second, domain.Live)
	r := s.signedIn(t, s.house, domain.RoleViewer)
	lists := func(path string, id domain.ID) page {
		t.Helper()
		p := r.get(path)
		if !strings.Contains(p.body, `data-id="`+string(id)+`"`) {
			t.Errorf("%s lacks %s", path, id)
		}
		return p
	}
	if p := lists("/deliveries", live); !strings.Contains(p.body, `class="sidebar of-live"`) || !strings.Contains(p.body, "<summary>A second shop") {
		t.Error("the first choice is not the one with the latest traffic")
	}
	lists("/deliveries?environment=sandbox&application="+string(s.house.app.ID), s.house.delivery)
	lists("/deliveries", s.house.delivery) // it is remembered
	lists("/requests", s.house.request)    // by all pages
	lists("/webhooks", s.house.endpoint.ID)
	r.get("/apps/" + string(second.app.ID) + "/live/keys") // an address sets it
	lists("/deliveries", live)
	r.get("/?environment=sandbox&application=") // all
	lists("/deliveries", s.house.delivery)
	r.get("/?application=" + string(s.other.app.ID)) // of others nothing is chosen
	lists("/deliveries", s.house.delivery)
	if p := r.get("/sandbox"); strings.Contains(p.body, ">Live</a>") || !strings.Contains(p.body, "A second shop</a>") {
		t.Error("the sandbox has a switch to live, or none to another application")
	}
}
