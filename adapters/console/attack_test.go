package console_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"waybill/domain"
)

func TestAViewerFindsNothingByPhoneNumberAndIsToldSo(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	r := s.signedIn(t, domain.RoleViewer)
	number := string(s.delivery.Recipient.PhoneNumber)
	for _, typed := range []string{number, "00" + number[1:]} {
		p := r.get("/deliveries?q=" + url.QueryEscape(typed))
		if told := strings.Contains(p.body, "Your role cannot search by phone number"); p.at != "/deliveries" ||
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
