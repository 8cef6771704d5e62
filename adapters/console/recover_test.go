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
	}...)
}

// held turns the endpoint off, moves a delivery meanwhile and turns it on again.
func held(t *testing.T, s *scene) {
	t.Helper()
	r, at := s.signedIn(t, domain.RoleAdmin), "/webhooks/"+s.ids[":endpoint"]
	for _, p := range []page{
		r.post(at+"/pause", url.Values{"reason": {"The server is down"}}), moved(t, r, r.get("/deliveries/"+s.ids[":delivery"]), "assigned", ""), r.post(at+"/resume", nil),
	} {
		if p.status != http.StatusOK {
			t.Fatalf("%s: %d\n%s", p.at, p.status, p.body)
		}
	}
}

func TestAnAdminRecoversTheNumberThatWasShownAndNoOther(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	held(t, s)
	at, r := "/webhooks/"+s.ids[":endpoint"]+"/recover", s.signedIn(t, domain.RoleAdmin)
	_, form := r.get(at).form(t, "Recover")
	number, before := form.Get("count"), s.state(t)
	for count, want := range map[string]int{"": http.StatusUnprocessableEntity, "77": http.StatusConflict} {
		form.Set("count", count)
		if p := r.post(at, form); p.status != want || !strings.Contains(p.body, "Nothing was sent") {
			t.Errorf("the number %q: %d", count, p.status)
		}
	}
	s.wantSame(t, before, "a recovery that was refused")
	form.Set("count", number)
	if p := r.post(at, form); p.status != http.StatusOK || !strings.Contains(p.body, number+" webhooks are on their way again") {
		t.Errorf("%d\n%s", p.status, p.body)
	}
	s.wantAuditedBy(t, domain.ActionEndpointRecover)
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
