package console_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"waybill/application/bulk"
	"waybill/domain"
	"waybill/test/sample"
)

func TestAViewerFindsNothingByPhoneNumberAndIsToldSo(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	r := s.signedIn(t, domain.RoleViewer)
	number := string(s.delivery.Recipient.PhoneNumber)
	for _, typed := range []string{number, "00" + number[1:]} {
		p := r.get("/deliveries?q=" + url.QueryEscape(typed))
		if told := strings.Contains(p.body, "Your role does not find deliveries by phone number"); p.at != "/deliveries" ||
			p.status != http.StatusOK || !told || strings.Contains(p.body, string(s.delivery.ID)) {
			t.Errorf("%q leads to %s (%d)", typed, p.at, p.status)
		}
		if p := r.get("/deliveries.csv?q=" + url.QueryEscape(typed)); strings.Contains(p.body, string(s.delivery.ID)) {
			t.Errorf("the file of %q has the delivery", typed)
		}
	}
	for _, typed := range []string{string(s.delivery.Reference), s.delivery.ExternalID, string(s.delivery.ID)} {
		if p := r.get("/deliveries?q=" + url.QueryEscape(typed)); p.at != "/deliveries/"+string(s.delivery.ID) {
			t.Errorf("%q leads to %s (%d)", typed, p.at, p.status)
		}
	}
}

func TestAnAlarmOfAnEndpointLeadsToItsPage(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	r := s.signedIn(t, domain.RoleViewer)
	link := `href="/console/webhooks/` + s.ids[":endpoint"] + `"`
	if home := r.get("/"); !strings.Contains(home.body, link) {
		t.Errorf("the attention page has no %s:\n%s", link, home.body)
	}
}

func TestSigningAPersonOutSaysThatItIsEverywhere(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	r := s.signedIn(t, domain.RoleAdmin)
	for path, person := range map[string]domain.Person{"/staff": s.staff[domain.RoleViewer],
		"/businesses/" + string(s.business.ID) + "/people": s.owner} {
		if p := r.get(path); !strings.Contains(p.body, `aria-label="Sign out everywhere: `+person.Name+`"`) ||
			!strings.Contains(p.body, "at the console and at every customer they belong to") {
			t.Errorf("%s does not say how far a sign-out reaches", path)
		}
		if p := r.post(path+"/"+string(person.ID)+"/sessions", nil); p.status != http.StatusOK ||
			!strings.Contains(p.body, "The person is signed out everywhere") {
			t.Errorf("%s: %d", path, p.status)
		}
	}
}

func TestAFormThatNamesTheRunOfAProgramMakesARunOfItsOwn(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	r := s.signedIn(t, domain.RoleDispatcher)
	p := r.post("/bulk/move", url.Values{"references": {string(s.delivery.Reference)}, "status": {"assigned"}, "reason_code": {""},
		"once": {s.ids[":run"]}})
	if p.status != http.StatusOK || p.at == "/bulk/runs/"+s.ids[":run"] || !strings.Contains(p.body, "1 of 1 moved") {
		t.Errorf("%d at %s\n%s", p.status, p.at, p.body)
	}
}

// What was decided by a person who might is carried to its end under their name, also where
// the process died and the person was taken the role meanwhile. Only the form is refused.
func TestARunGoesOnWhenItsPersonLosesTheRole(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	r, kofi := s.signedIn(t, domain.RoleDispatcher), s.staff[domain.RoleDispatcher]
	form := url.Values{"status": {"assigned"}, "reason_code": {""}, "once": {string(s.IDs.ID(domain.PrefixMoveRun))}}
	var items []bulk.MoveOrder
	var booked []*domain.Delivery
	for range 2 {
		w := sample.BookingWrite(s.delivery.Tenant, func(b *domain.Booking) { b.CreatedAt = s.Clock.Now() })
		if err := s.Store.Book(t.Context(), w); err != nil {
			t.Fatal(err)
		}
		booked = append(booked, w.Delivery)
		items = append(items, bulk.MoveOrder{Name: string(w.Delivery.ID), To: domain.Assigned})
		form.Add("references", string(w.Delivery.ID))
	}
	form.Set("references", strings.Join(form["references"], "\n"))
	id := s.run(t, domain.RoleDispatcher, form)
	_, _, err := s.moves().Advance(t.Context(), bulk.MoveOrders{Run: id, Key: "console-" + string(id), Items: items,
		By: domain.AuditActor{ID: kofi.ID, Name: kofi.Name}}) // without patience: it ends behind the first one, as a process that dies
	if !domain.HasCode(err, domain.CodeIdempotencyInProgress) {
		t.Fatalf("the run has ended: %v", err)
	}
	if _, err := s.directory.SetRole(t.Context(), operator, "", kofi.ID, string(domain.RoleViewer)); err != nil {
		t.Fatal(err)
	}
	if p := r.post("/bulk/move", form); p.status != http.StatusForbidden {
		t.Errorf("the form of one who may no more: %d", p.status)
	}
	for range 16 { // webhooks of an event have its ID but for the last digit, and here IDs are counted up
		s.IDs.ID(domain.PrefixEvent)
	}
	if worked, err := s.moves().GoOn(t.Context(), time.Minute); !worked || err != nil {
		t.Fatalf("%t, %v", worked, err)
	}
	if p := r.get("/bulk/runs/" + string(id)); !strings.Contains(p.body, "2 of 2 moved") {
		t.Errorf("%d\n%s", p.status, p.body)
	}
	for _, d := range booked {
		found, err := s.audit.Entries(t.Context(), domain.AuditFilter{Target: d.ID}, domain.PageRequest{Limit: 10})
		if err != nil || len(found) != 1 || found[0].Actor.ID != kofi.ID {
			t.Errorf("%+v, %v", found, err)
		}
	}
}
