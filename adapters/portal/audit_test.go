package portal_test

import (
	"context"
	"encoding/csv"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"waybill/domain"
	"waybill/ports"
)

func TestTheAuditLogIsFilteredByPersonAndActionInItsAddress(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	owner, developer := s.signedIn(t, s.house, domain.RoleOwner), s.signedIn(t, s.house, domain.RoleDeveloper)
	id := string(s.house.people[domain.RoleDeveloper].ID)
	what := func(query string) (lines []string) {
		t.Helper()
		file := owner.get("/audit.csv" + query)
		rows, err := csv.NewReader(strings.NewReader(file.body)).ReadAll()
		if err != nil || file.status != http.StatusOK || len(rows) == 0 || !strings.Contains(file.header.Get("Content-Disposition"),
			"attachment") {
			t.Fatalf("%s: %d, %v\n%s", query, file.status, err, file.body)
		}
		shown := owner.get("/audit" + query).body
		for _, row := range rows[1:] {
			lines = append(lines, row[1]+" "+row[4])
			if strings.Count(shown, "<tr data-id=") < 50 && !strings.Contains(shown, `<tr data-id="`+row[7]+`"`) {
				t.Errorf("%s: the page lacks what the file has: %v", query, row)
			}
		}
		if n := strings.Count(shown, "<tr data-id="); n != min(50, len(lines)) {
			t.Errorf("%s: %d rows on the page, %d in the file", query, n, len(lines))
		}
		return lines
	}
	if p := developer.post("/account/password", url.Values{"password": {"another battery, another horse"}}); !strings.Contains(p.body,
		"The password was saved") {
		t.Fatalf("%d", p.status)
	}
	for query, want := range map[string]string{
		"?person=" + id + "&action=person.password": "person.password " + id, "?action=business.create": "business.create ",
	} {
		lines := what(query)
		if len(lines) == 0 {
			t.Errorf("%s: nothing", query)
		}
		for _, line := range lines {
			if line != want {
				t.Errorf("%s: %s", query, line)
			}
		}
	}
	if lines := what("?person=" + string(s.other.people[domain.RoleOwner].ID)); len(lines) != 0 {
		t.Errorf("of a person of another business: %v", lines)
	}
	body := owner.get("/audit?person=" + id + "&action=person.sign_in").body
	for _, want := range []string{`<option value="` + id + `" selected>`, `<option value="person.sign_in" selected>`,
		`href="/audit?person=` + id + `"`, "/audit.csv?action=person.sign_in&amp;person=" + id} {
		if !strings.Contains(body, want) {
			t.Errorf("the page lacks %s", want)
		}
	}
	for _, query := range []string{"?action=nothing", "?person=x"} {
		if p := owner.get("/audit" + query); p.status != http.StatusNotFound {
			t.Errorf("%s: %d", query, p.status)
		}
	}
}

func TestTheAuditLogGoesOnByPagesAndAsAFileMissesNothing(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	owner := s.signedIn(t, s.house, domain.RoleOwner)
	s.Write(t, func(ctx context.Context, tx ports.Stores) error {
		for range 620 {
			if err := tx.Audit.Append(ctx, domain.AuditEntry{
				ID: s.IDs.ID(domain.PrefixAuditEntry), At: s.Clock.Now(), Actor: domain.AuditActor{
					ID: s.house.people[domain.RoleViewer].ID, Name: "Ama", BusinessID: s.house.business.ID,
				},
				AuditRecord: domain.AuditRecord{Action: domain.ActionApplicationRename, Target: s.house.app.ID, BusinessID: s.house.business.ID},
			}); err != nil {
				return err
			}
		}
		return nil
	})
	rows, err := csv.NewReader(strings.NewReader(owner.get("/audit.csv?action=application.rename").body)).ReadAll()
	if err != nil || len(rows) != 621 {
		t.Fatalf("%d rows, %v, want 620 and a head", len(rows), err)
	}
	seen := map[string]bool{}
	for _, row := range rows[1:] {
		seen[row[7]] = true
	}
	if len(seen) != 620 {
		t.Errorf("%d entries, some twice", len(seen))
	}
	ids, pages := owner.walk("/audit?action=application.rename", `class="button second" href="(/audit\?[^"]*)"`)
	for _, id := range ids {
		delete(seen, id)
	}
	if len(seen) != 0 || pages != 13 {
		t.Errorf("%d pages, and %d entries on none of them", pages, len(seen))
	}
}

func TestApplicationsAreRenamedAndListedByPages(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	owner := s.signedIn(t, s.house, domain.RoleOwner)
	at := "/apps/" + string(s.house.app.ID)
	action, form := owner.get(at).form(t, "Save")
	if form.Get("name") != s.house.app.Name {
		t.Errorf("the form has the name %q", form.Get("name"))
	}
	form.Set("name", " ")
	if p := owner.post(action, form); p.status != http.StatusUnprocessableEntity || !strings.Contains(p.body, `id="name-error"`) {
		t.Errorf("no name: %d", p.status)
	}
	form.Set("name", "Corner shop")
	if p := owner.post(action, form); p.status != http.StatusOK || p.at != at || !strings.Contains(p.body, "The application was renamed") ||
		!strings.Contains(p.body, "<h1>Corner shop</h1>") {
		t.Errorf("%d at %s\n%s", p.status, p.at, p.body)
	}
	if log := owner.get("/audit?action=application.rename").body; !strings.Contains(log, "name Corner shop, before Adom Foods shop") {
		t.Error("the audit log lacks the name from before")
	}
	if p := owner.post("/apps/"+string(s.other.app.ID)+"/rename", form); p.status != http.StatusNotFound {
		t.Errorf("of another business: %d", p.status)
	}
	for i := range 51 {
		must[domain.Application](t)(s.tenants.CreateApplication(t.Context(), operator, s.house.business.ID, fmt.Sprintf("Shop %d", i)))
	}
	ids, pages := owner.walk("/apps", `href="(/apps\?after=[^"]*)"`)
	slices.Sort(ids)
	if n := len(slices.Compact(ids)); n != 52 || pages != 3 {
		t.Errorf("%d applications on %d pages", n, pages)
	}
	if p := owner.get("/apps?after=" + string(s.other.app.ID)); p.status != http.StatusNotFound {
		t.Errorf("behind an application of another business: %d", p.status)
	}
}

func TestTheAuditLogTellsAllThatWasStored(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	r := s.signedIn(t, s.house, domain.RoleDeveloper)
	id := s.booked(t, s.house, domain.Sandbox)
	r.post(at(id)+"/move", url.Values{"from": {"booked"}, "status": {"assigned"}})
	r.post(at(s.house.delivery)+"/simulate", url.Values{"scenario": {"delivered"}, "step_seconds": {"5"}})
	for _, path := range []string{"/audit", "/audit.csv"} {
		for _, text := range []string{"from booked", "to assigned", "scenario delivered", "name " + s.house.app.Name} {
			if p := r.get(path); !strings.Contains(p.body, text) {
				t.Errorf("%s lacks %q", path, text)
			}
		}
	}
}
