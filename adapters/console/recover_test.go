package console_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"waybill/domain"
)

func init() {
	add(map[string]row{
		"GET /webhooks/:endpoint/recover":  {may: everybody},
		"POST /webhooks/:endpoint/recover": {may: admins, form: sent("since", "2026-03-14T11:00", "until", "2026-03-14T12:00", "count", "0")},
	})
	states = append(states, []state{
		{name: "webhook-recover", role: domain.RoleAdmin, path: "/webhooks/:endpoint/recover", heading: "Recover webhooks", before: held},
		{name: "webhook-recover-nothing", role: domain.RoleAdmin, path: "/webhooks/:endpoint/recover", heading: "Recover webhooks"},
		{name: "webhook-recover-wrong", role: domain.RoleAdmin, path: "/webhooks/:endpoint/recover?since=2026-03-20T00:00&until=2026-03-19T00:00",
			heading: "Recover webhooks"},
	}...)
}

// held turns the endpoint off, moves a delivery meanwhile and turns it on again.
func held(t *testing.T, s *scene) {
	t.Helper()
	r, at := s.signedIn(t, domain.RoleAdmin), "/webhooks/"+s.ids[":endpoint"]
	for _, p := range []page{
		r.post(at+"/pause", nil), moved(t, r, r.get("/deliveries/"+s.ids[":delivery"]), "assigned", ""), r.post(at+"/resume", nil),
	} {
		if p.status != http.StatusOK {
			t.Fatalf("%s: %d\n%s", p.at, p.status, p.body)
		}
	}
}

func TestAnAdminRecoversAPeriodOfAnEndpointOnceWithTheNumberThatWasShown(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	held(t, s)
	at := "/webhooks/" + s.ids[":endpoint"] + "/recover"
	r, dispatcher := s.signedIn(t, domain.RoleAdmin), s.signedIn(t, domain.RoleDispatcher)
	to, form := r.get(at).form(t, "Recover")
	if to != at || form.Get("count") == "0" {
		t.Fatalf("the form: %s %v", to, form)
	}
	before := s.state(t)
	if p := r.post(at, nil); p.status != http.StatusUnprocessableEntity || !strings.Contains(p.body, "Nothing was sent yet") {
		t.Errorf("without the number: %d", p.status)
	}
	other := url.Values{}
	for name, values := range form {
		other[name] = values
	}
	other["count"] = []string{"77"}
	if p := r.post(at, other); p.status != http.StatusConflict || !strings.Contains(p.body, "Nothing was sent") {
		t.Errorf("with another number: %d", p.status)
	}
	if p := dispatcher.post(at, form); p.status != http.StatusForbidden {
		t.Errorf("a dispatcher: %d", p.status)
	}
	s.wantSame(t, before, "a recovery that was refused")
	if p := r.post(at, form); p.status != http.StatusOK || !strings.Contains(p.body, form.Get("count")+" webhooks are on their way again") {
		t.Errorf("%d\n%s", p.status, p.body)
	}
	s.wantAuditedBy(t, domain.ActionEndpointRecover)
	if p := r.get(at); strings.Contains(p.body, `name="count"`) {
		t.Error("there is something to recover again")
	}
	if p := r.get("/webhooks/whe_1/recover"); p.status != http.StatusNotFound {
		t.Errorf("no ID: %d", p.status)
	}
}

func TestStaffReadNoQueryOfAnEndpointWhichMayBeSecret(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	r := s.signedIn(t, domain.RoleAdmin)
	for _, path := range []string{"/", "/webhooks", "/webhooks/" + s.ids[":endpoint"], "/webhooks/" + s.ids[":endpoint"] + "/recover"} {
		if p := r.get(path); !strings.Contains(p.body, "https://hooks.adom.example/waybill?…") || strings.Contains(p.body, "their-secret") {
			t.Errorf("%s shows the query, or no address", path)
		}
	}
}
