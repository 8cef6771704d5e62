package portal_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"waybill/application/access"
	"waybill/domain"
)

func TestWhatIsDoneByHandCountsAgainstTheAllowanceOfTheAPI(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	r := s.signedIn(t, s.house, domain.RoleDeveloper)
	const allowed = 3
	must[domain.Business](t)(s.tenants.ChangeBusiness(t.Context(), operator, s.house.business.ID,
		access.BusinessChange{RateLimit: &domain.RateLimit{Limit: allowed, Window: time.Hour}}))
	before := len(s.sandboxDeliveries(t, s.house))
	for i := range allowed {
		if p := r.post("/sandbox/book", s.sampleForm(s.house)); p.status != http.StatusOK {
			t.Fatalf("booking %d: %d\n%s", i+1, p.status, p.body)
		}
	}
	sent := "/webhooks/" + string(s.house.endpoint.ID)
	for path, title := range map[string]string{
		"/sandbox/book": "Nothing was booked", at(s.house.delivery) + "/move": "Nothing was changed",
		at(s.house.delivery) + "/simulate": "Nothing was changed", at(s.house.delivery) + "/stop": "Nothing was changed",
		at(s.house.delivery) + "/cancel": "Nothing was changed",
		sent + "/test":                   "Nothing was", sent + "/sent/" + string(s.house.sent) + "/resend": "Nothing was",
	} {
		form := s.sampleForm(s.house, "recipient.name", "Kept Name", "from", "booked", "status", "assigned", "scenario", "delivered",
			"step_seconds", "1")
		p := r.post(path, form)
		if p.status != http.StatusTooManyRequests || p.header.Get("Retry-After") == "" || !strings.Contains(p.body, title) ||
			!strings.Contains(p.body, "for this business are used up. Try again in ") {
			t.Errorf("%s beyond the allowance: %d", path, p.status)
		}
		if path == "/sandbox/book" && !strings.Contains(p.body, "Kept Name") {
			t.Error("what was typed is lost")
		}
	}
	if n := len(s.sandboxDeliveries(t, s.house)) - before; n != allowed {
		t.Errorf("%d were booked", n)
	}
	key := s.house.key[domain.Sandbox]
	_, err := s.admission().Admit(t.Context(), access.Credentials{Environment: domain.Sandbox, Address: "192.0.2.1", Key: key.Secret})
	if !domain.HasCode(err, domain.CodeRateLimitExceeded) {
		t.Errorf("the API has an allowance of its own: %v", err)
	}
	live := s.house.key[domain.Live]
	if _, err := s.admission().Admit(t.Context(), access.Credentials{Environment: domain.Live, Address: "192.0.2.1",
		Key: live.Secret}); err != nil {
		t.Errorf("live is charged too: %v", err)
	}
	if p := s.signedIn(t, s.other, domain.RoleDeveloper).post("/sandbox/book", s.sampleForm(s.other)); p.status != http.StatusOK {
		t.Errorf("another business: %d", p.status)
	}
}

func TestTheSecondOfTwoClicksTellsWhatTheFirstBooks(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	r := s.signedIn(t, s.house, domain.RoleDeveloper)
	form := s.sampleForm(s.house)
	s.busy.attempts.Store(3)
	if p := r.post("/sandbox/book", form); p.status != http.StatusOK || !strings.Contains(p.body, "The sample was booked") {
		t.Errorf("while the first one is booked: %d\n%s", p.status, p.body)
	}
	s.busy.attempts.Store(1 << 40)
	form = s.sampleForm(s.house)
	p := r.post("/sandbox/book", form)
	if p.status != http.StatusConflict || !strings.Contains(p.body, "The sample is being booked") ||
		strings.Contains(p.body, "Nothing was booked") {
		t.Errorf("a first one that takes longer: %d", p.status)
	}
	s.busy.attempts.Store(0)
	_, again := p.form(t, "Book sample")
	if again.Get("once") != form.Get("once") {
		t.Error("sent again, it books another one")
	}
}

func TestAFormThatHasBookedAndWasChangedBooksAnotherOneWhenItIsSentAgain(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	r := s.signedIn(t, s.house, domain.RoleDeveloper)
	form := s.sampleForm(s.house)
	r.post("/sandbox/book", form)
	form.Set("recipient.name", "Somebody Else")
	p := r.post("/sandbox/book", form)
	if p.status != http.StatusConflict || !strings.Contains(p.body, "has already booked a sample") {
		t.Fatalf("changed: %d", p.status)
	}
	_, again := p.form(t, "Book sample")
	if again.Get("once") == form.Get("once") {
		t.Fatal("the form is stuck")
	}
	form.Set("once", again.Get("once"))
	if p := r.post("/sandbox/book", form); p.status != http.StatusOK || !strings.Contains(p.body, "The sample was booked") ||
		s.sandboxDeliveries(t, s.house)[0].Recipient.Name != "Somebody Else" {
		t.Errorf("sent again: %d", p.status)
	}
}

func TestNoVisitOpensAnInboxAndWhoOpensOneIsInTheAuditLog(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	r := s.signedIn(t, s.house, domain.RoleDeveloper)
	opened := func() (listeners, entries int) {
		t.Helper()
		of := s.house.tenant(domain.Sandbox)
		log := must[[]domain.AuditEntry](t)(s.audit.EntriesOfBusiness(t.Context(), of.BusinessID,
			domain.AuditFilter{Action: domain.ActionInboxOpen}, domain.PageRequest{Limit: 100}))
		for _, e := range log {
			if e.Actor.ID != s.house.people[domain.RoleDeveloper].ID || e.Target != s.house.app.ID || e.Actor.RequestID == "" {
				t.Errorf("the entry is %+v", e)
			}
		}
		return len(must[[]domain.WebhookEndpoint](t)(s.Store.Read().Webhooks.Listeners(t.Context(), of))), len(log)
	}
	want := func(what string, listeners, entries int) {
		t.Helper()
		if l, e := opened(); l != listeners || e != entries {
			t.Errorf("%s: %d listeners and %d entries, want %d and %d", what, l, e, listeners, entries)
		}
	}
	for _, method := range []string{http.MethodGet, http.MethodHead} {
		for _, path := range []string{"/sandbox", "/sandbox/inbox", "/sandbox/inbox?application=" + string(s.house.app.ID)} {
			if p := r.ask(question{method: method, path: path}); p.status != http.StatusOK && p.status != http.StatusSeeOther {
				t.Errorf("%s %s: %d", method, path, p.status)
			}
		}
	}
	if e := r.read(s.url, s.house.app.ID, "").next("state"); e.data != "closed" {
		t.Errorf("the stream: %+v", e)
	}
	want("visits", 0, 0)
	action, form := r.get("/sandbox").form(t, "Open inbox")
	if p := r.post(action, form); p.at != "/sandbox" || !strings.Contains(p.body, "The inbox is open.") ||
		!strings.Contains(p.body, "<div data-closed hidden>") {
		t.Errorf("the button: %d at %s\n%s", p.status, p.at, p.body)
	}
	want("the button", 1, 1)
	r.post(action, form)
	r.post("/sandbox/book", s.sampleForm(s.house))
	want("an inbox that is open", 1, 1)
	if p := s.signedIn(t, s.other, domain.RoleOwner).post(action, form); p.status < http.StatusBadRequest {
		t.Errorf("another business opens it: %d", p.status)
	}
	want("another business", 1, 1)
}

func TestABookingOpensTheInbox(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	p := s.signedIn(t, s.house, domain.RoleDeveloper).post("/sandbox/book", s.sampleForm(s.house))
	if p.status != http.StatusOK || !strings.Contains(p.body, "<div data-closed hidden>") {
		t.Errorf("%d\n%s", p.status, p.body)
	}
}
