package portal_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"waybill/application/people"
	"waybill/domain"
)

func TestAFormOfOneBusinessChangesNothingInAnother(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	r := s.reader(t)
	issued := must[people.Issued](t)(s.directory.Invite(t.Context(), operator, people.Invitation{BusinessID: s.other.business.ID,
		Email: string(s.house.people[domain.RoleOwner].Email), Name: "A", Role: "owner"}))
	r.post("/enter/"+issued.Secret, url.Values{"password": {password}})
	show := func(h house) {
		if p := r.post("/account/business", url.Values{"business": {string(h.business.ID)}}); p.status != http.StatusOK || p.at != "/" {
			t.Fatalf("show %s: %d at %s", h.business.Name, p.status, p.at)
		}
	}
	for _, c := range []struct {
		page, button string
		typed        url.Values
	}{
		{"/apps/new", "Create application", url.Values{"name": {"Straying shop"}}},
		{"/people/new", "Invite", url.Values{"name": {"Efua"}, "email": {"straying@adom.example"}, "role": {"viewer"}}},
		{"/pickup-locations/live/new", "Create pickup location", url.Values{"name": {"Straying branch"}, "address": {"7 Ring Road, Accra"},
			"latitude": {"5.6037"}, "longitude": {"-0.187"}}},
	} {
		show(s.house)
		action, form := r.get(c.page).form(t, c.button)
		for name, values := range c.typed {
			form[name] = values
		}
		show(s.other)
		if p := r.get("/account"); !strings.Contains(p.body, `aria-label="Show `+s.house.business.Name+`"`) {
			t.Errorf("the account page does not lead to the first business\n%s", p.body)
		}
		if p := r.post(action, form); p.status != http.StatusConflict || !strings.Contains(p.body, "This form belongs to another business") {
			t.Errorf("%s at %s: %d, want it refused\n%s", c.button, c.page, p.status, p.body)
		}
		for _, text := range []string{"Straying", "straying@"} {
			if strings.Contains(r.get(c.page).body, text) {
				t.Errorf("%s has %q in the other business", c.page, text)
			}
		}
		show(s.house)
		if p := r.post(action, form); p.status != http.StatusOK {
			t.Errorf("%s in its own business: %d\n%s", c.button, p.status, p.body)
		}
	}
}
