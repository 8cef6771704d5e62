package portal_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"waybill/application/people"
	"waybill/domain"
)

func TestAnOwnerMakesAnotherInvitationForOneWhoWasInvited(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	r := s.signedIn(t, s.house, domain.RoleOwner)
	first := r.post("/people", url.Values{"email": {"efua@new.example"}, "name": {"Efua"}, "role": {"viewer"}})
	action, form := r.get("/people").form(t, "Invite again")
	second := r.post(action, form)
	if second.status != http.StatusOK || !strings.Contains(second.body, "Efua is invited") || !strings.Contains(second.body, "within 7 days") {
		t.Fatalf("%d\n%s", second.status, second.body)
	}
	secret := func(p page) string { return strings.TrimPrefix(p.secret(), s.url+"/enter/") }
	if _, err := s.access.Enter(t.Context(), people.Browser{}, secret(first)); !domain.HasCode(err, domain.CodeLinkReplaced) {
		t.Errorf("the first link: %v", err)
	}
	entered, err := s.access.Enter(t.Context(), people.Browser{}, secret(second))
	if err != nil || entered.Role != domain.RoleViewer {
		t.Errorf("the second link: %v, as %s", err, entered.Role)
	}
	if p := r.get("/people"); strings.Contains(p.body, "Invite again") {
		t.Error("one who has accepted is offered another invitation")
	}
}
