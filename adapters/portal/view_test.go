package portal_test

import (
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"waybill/application/people"
	"waybill/domain"
)

const viewReason = "Order 1001 is said to be missing"

// staff signs a person of the delivery company in at the console.
func (s *scene) staff(t *testing.T, role domain.Role) people.Entered {
	t.Helper()
	issued := must[people.Issued](t)(s.directory.Invite(t.Context(), operator, people.Invitation{
		Email: "sam-" + string(role) + "@waybill.example", Name: "Sam Support", Role: string(role),
	}))
	return must[people.Entered](t)(s.access.Enter(t.Context(), people.Browser{}, issued.Secret))
}

// viewing is a browser that sees a house as its customer.
func (s *scene) viewing(t *testing.T, staff people.Entered, h house) *reader {
	t.Helper()
	asked := must[people.OpenedView](t)(s.access.ViewAs(t.Context(), staff.Principal, h.business.ID, viewReason))
	r := s.reader(t)
	if p := r.get("/view/" + asked.Secret); p.status != http.StatusOK || !strings.Contains(p.body, viewReason) ||
		!strings.Contains(p.body, h.business.Name) {
		t.Fatalf("the page of the link: %d %s", p.status, p.body)
	}
	if p := r.post("/view/"+asked.Secret, nil); p.at != "/" || p.status != http.StatusOK {
		t.Fatalf("the link leads to %s with %d", p.at, p.status)
	}
	return r
}

func TestAViewReadsWhatAViewerReadsAndNoFormPasses(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	view, viewer := s.viewing(t, s.staff(t, domain.RoleSupport), s.house), s.signedIn(t, s.house, domain.RoleViewer)
	before, asked := s.state(t, s.house), map[string]int{}
	for _, route := range slices.Sorted(maps.Keys(matrix)) {
		r := matrix[route]
		method, pattern, _ := strings.Cut(route, " ")
		if r.may == nil {
			continue
		}
		for _, h := range []house{s.house, s.other} {
			q := question{method: method, path: path(t, pattern, h.ids(pattern))}
			if r.form != nil {
				q.form = r.form(s, h)
			}
			p := view.ask(q)
			asked[method]++
			p.tells(t, "a view", q, s.other)
			ofAccount := strings.HasPrefix(pattern, "/account") || pattern == "/signout"
			want := http.StatusForbidden
			if method == http.MethodGet && !ofAccount {
				want = viewer.ask(q).status
			}
			if p.status != want {
				t.Errorf("%s: %d, want %d", route, p.status, want)
			}
			if p.status == http.StatusForbidden && method == http.MethodPost && !strings.Contains(p.body, "cannot change anything") {
				t.Errorf("%s is refused with %s", route, p.body)
			}
			if p.status == http.StatusOK && strings.HasPrefix(p.header.Get("Content-Type"), "text/html") &&
				strings.Contains(p.body, `class="menu"`) {
				asked["banner"]++
				if !strings.Contains(p.body, "You see "+s.house.business.Name+" as its customer: read-only.") || !strings.Contains(p.body, viewReason) {
					t.Errorf("%s has no banner", route)
				}
				if strings.Contains(p.body, "data-secret") {
					t.Errorf("%s shows a secret", route)
				}
			}
		}
	}
	if after := s.state(t, s.house); withoutSessions(after) != withoutSessions(before) {
		t.Errorf("the business was\n%s\nand is\n%s", before, after)
	}
	if asked[http.MethodGet] < 80 || asked[http.MethodPost] < 60 || asked["banner"] < 25 {
		t.Errorf("asked %v", asked)
	}
	if p := view.post("/signout", nil); p.at != "/view" || !strings.Contains(p.body, "This view has ended") {
		t.Errorf("its end leads to %s: %s", p.at, p.body)
	}
	if p := view.get("/"); p.at != "/signin" {
		t.Errorf("behind its end the start page is %s", p.at)
	}
}

func TestALinkToAViewOpensNoSessionAndWorksOnce(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	staff := s.staff(t, domain.RoleSupport)
	asked := must[people.OpenedView](t)(s.access.ViewAs(t.Context(), staff.Principal, s.house.business.ID, viewReason))
	r := s.reader(t)
	for _, path := range []string{"/enter/" + asked.Secret, "/view/" + strings.Repeat("x", 43)} {
		if p := r.get(path); p.status != http.StatusNotFound {
			t.Errorf("%s: %d", path, p.status)
		}
	}
	first, second := r.post("/view/"+asked.Secret, url.Values{}), s.reader(t).post("/view/"+asked.Secret, url.Values{})
	if first.at != "/" || second.status != http.StatusGone || second.at == "/" {
		t.Errorf("first at %s, second %d at %s", first.at, second.status, second.at)
	}
	// A sign-in of their own ends the view for the browser.
	owner := s.house.people[domain.RoleOwner]
	link := must[people.Issued](t)(s.directory.Link(t.Context(), operator, owner.ID, domain.Portal))
	if p := r.post("/enter/"+link.Secret, nil); p.at != "/" || strings.Contains(p.body, "read-only") || !strings.Contains(p.body, owner.Name) {
		t.Errorf("at %s: %s", p.at, p.body)
	}
}

func TestTheOwnerReadsWhoSawThePortalAndWhyAndMeetsThemNowhereElse(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	view := s.viewing(t, s.staff(t, domain.RoleAdmin), s.house)
	owner := s.signedIn(t, s.house, domain.RoleOwner)
	if p := view.post("/signout", nil); p.status != http.StatusOK {
		t.Fatal(p.status)
	}
	p := owner.get("/audit")
	for _, text := range []string{"Support of the delivery company", "Portal seen as you see it: began", "Portal seen as you see it: ended",
		"reason " + viewReason} {
		if !strings.Contains(p.body, text) {
			t.Errorf("the audit log has no %q", text)
		}
	}
	for _, path := range []string{"/audit", "/audit.csv", "/people", "/account"} {
		if body := owner.get(path).body; strings.Contains(body, "Sam Support") || strings.Contains(body, "waybill.example") {
			t.Errorf("%s names the person of the staff", path)
		}
	}
}

func TestAViewIsOverOnTheNextPageWhenItsPersonIsOutOfTheConsole(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	staff := s.staff(t, domain.RoleAdmin)
	view := s.viewing(t, staff, s.house)
	if err := s.access.SignOut(t.Context(), staff.Principal, "req_1"); err != nil {
		t.Fatal(err)
	}
	p := view.ask(question{method: http.MethodGet, path: "/apps"})
	if p.status != http.StatusUnauthorized || !strings.Contains(p.body, "This view has ended") || strings.Contains(p.body, s.house.app.Name) {
		t.Errorf("%d %s", p.status, p.body)
	}
}
