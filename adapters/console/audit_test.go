package console_test

import (
	"encoding/csv"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"waybill/domain"
)

func init() {
	add(map[string]row{"GET /audit": {may: readers}, "GET /audit.csv": {may: readers}})
	states = append(states, []state{
		{name: "audit", role: domain.RoleAdmin, path: "/audit", heading: "Audit log"},
		{name: "audit-none", role: domain.RoleSupport, path: "/audit?action=key.revoke", heading: "Audit log"},
		{name: "audit-wrong", role: domain.RoleSupport, path: "/audit?actor=ama&business=adom&since=never", heading: "Audit log"},
		{name: "audit-refused", role: domain.RoleViewer, path: "/audit", heading: "Your role does not include this"},
	}...)
}

func TestTheAuditLogIsFilteredByItsAddressOnThePageAndInTheFile(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	admin, support := s.signedIn(t, domain.RoleAdmin), s.signedIn(t, domain.RoleSupport)
	formula := `=HYPERLINK("//evil.example")`
	s.wait(30 * time.Minute)
	began := s.Clock.Now()
	if p := admin.post("/staff", url.Values{"email": {"x@waybill.example"}, "name": {formula}, "role": {"viewer"}, "confirm": {"1"},
		"password": {password}}); p.status != http.StatusOK {
		t.Fatalf("invite: %d\n%s", p.status, p.body)
	}
	must[domain.Business](t)(s.tenants.CreateBusiness(t.Context(), domain.AuditActor{Name: formula}, "Last", nil))
	id := string(s.staff[domain.RoleAdmin].ID)
	for query, want := range map[string]int{
		"": -1, "?action=person.invite&actor=" + id: 1, "?actor=" + id + "&since=" + url.QueryEscape(began.Format("2006-01-02T15:04")): -1,
		"?until=2001-01-01T00:00": 0, "?business=" + string(s.business.ID) + "&action=business.create": 1,
		"?target=" + string(s.app.ID): 1,
	} {
		file := support.get("/audit.csv" + query)
		rows, err := csv.NewReader(strings.NewReader(file.body)).ReadAll()
		if err != nil || file.status != http.StatusOK || len(rows) == 0 {
			t.Fatalf("%s: %d, %v", query, file.status, err)
		}
		if want >= 0 && len(rows)-1 != want {
			t.Errorf("%s: %d rows in the file, want %d", query, len(rows)-1, want)
		}
		shown := support.get("/audit" + query)
		if n := strings.Count(shown.body, "<tr data-id="); n != min(len(rows)-1, 50) {
			t.Errorf("%s: %d rows on the page, and %d in the file", query, n, len(rows)-1)
		}
		for _, row := range rows[1:] {
			if strings.HasPrefix(row[3], "=") || strings.HasPrefix(row[7], "=") {
				t.Errorf("%s: a cell is a formula: %q", query, row)
			}
			if !strings.Contains(shown.body, row[9]) {
				t.Errorf("%s: the page lacks %s", query, row[9])
			}
		}
	}
	if all := support.get("/audit.csv").body; !strings.Contains(all, `"'=HYPERLINK`) {
		t.Errorf("the name that is a formula is not in the file:\n%s", all)
	}
	if p := support.get("/audit?actor=ama"); p.status != http.StatusUnprocessableEntity || !strings.Contains(p.body, `id="actor-error"`) {
		t.Errorf("an actor that is none: %d", p.status)
	}
}
