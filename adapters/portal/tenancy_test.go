package portal_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"waybill/adapters/portal"
	"waybill/application/people"
	"waybill/domain"
)

// foreign are texts of a house that no page of another one may have. Its IDs are left
// out of what the caller itself sends.
func (h house) foreign() []string {
	texts := []string{h.business.Name, h.app.Name, string(h.business.ID)}
	for _, k := range h.key {
		texts = append(texts, "…"+k.LastFour, "ending "+k.LastFour, k.Secret)
	}
	for _, p := range h.people {
		texts = append(texts, p.Name, string(p.Email))
	}
	return texts
}

// fill puts IDs of a house into a route.
func (h house) fill(path string, e domain.Environment, k domain.ID) string {
	return strings.NewReplacer(":app", string(h.app.ID), ":env", string(e), ":key", string(k), ":person", string(h.people[domain.RoleViewer].ID), ":link", strings.Repeat("x", 43)).Replace(path)
}

// counts are what a house has, to see that nothing of it was changed.
func (s *scene) counts(t *testing.T, h house) (counts [4]int) {
	t.Helper()
	apps := must[[]domain.Application](t)(s.tenants.Applications(t.Context(), h.business.ID))
	counts[0] = len(apps)
	for _, a := range apps {
		if a.Disabled {
			counts[1]++
		}
		for _, k := range must[[]domain.APIKey](t)(s.tenants.Keys(t.Context(), a.ID)) {
			counts[2]++
			if k.RevokedAt != nil {
				counts[2] += 1000
			}
		}
	}
	for _, m := range must[[]domain.Member](t)(s.directory.Members(t.Context(), h.business.ID)) {
		counts[3] += 10 + len(m.Membership.Role)
	}
	return counts
}

func TestNoRouteGivesACallerAByteOfAnotherBusiness(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	spare := must[domain.Application](t)(s.tenants.CreateApplication(t.Context(), operator, s.house.business.ID, "Second shop"))
	spareKey, err := s.tenants.IssueKey(t.Context(), operator, spare.ID, domain.Sandbox, domain.AllScopes(), nil)
	if err != nil {
		t.Fatal(err)
	}
	ended := s.signedIn(t, s.house, domain.RoleOwner)
	staff := s.reader(t)
	issued := must[people.Issued](t)(s.directory.Invite(t.Context(), operator, people.Invitation{Email: "kofi@waybill.example", Name: "Kofi", Role: string(domain.RoleAdmin)}))
	entered := must[people.Entered](t)(s.access.Enter(t.Context(), people.Browser{}, issued.Secret))
	at, _ := url.Parse(s.url)
	staff.client.Jar.SetCookies(at, []*http.Cookie{{Name: "waybill_portal", Value: entered.Secret}})
	if p := ended.post("/signout", nil); p.at != "/signin" {
		t.Fatalf("sign out leads to %s", p.at)
	}
	callers := map[string]*reader{"signed out": s.reader(t), "ended session": ended, "staff": staff}
	for _, role := range domain.Roles(domain.Portal) {
		callers[string(role)] = s.signedIn(t, s.house, role)
	}
	before := s.counts(t, s.other)
	asked := 0
	for name, caller := range callers {
		for _, route := range portal.Routes() {
			for _, e := range []domain.Environment{domain.Live, domain.Sandbox} {
				// Foreign IDs, and those of an own application around a foreign key.
				own := s.house
				mixed := own.fill(strings.ReplaceAll(route.Path, ":person", string(s.other.people[domain.RoleViewer].ID)), e, s.other.key[e].ID)
				for _, path := range []string{s.other.fill(route.Path, e, s.other.key[e].ID), mixed} {
					if strings.HasPrefix(route.Path, "/sign") || route.Path == "/account/sessions" {
						continue // of the caller's own session alone
					}
					asked++
					form := url.Values{"once": {string(s.IDs.ID(domain.PrefixAPIKey))}, "scopes": {"all"}, "role": {"owner"}, "business": {string(s.other.business.ID)}, "session": {"ses_1"}}
					var p page
					if route.Method == http.MethodPost {
						p = caller.post(path, form)
					} else {
						p = caller.get(path)
					}
					sent := strings.ReplaceAll(p.body, string(s.other.business.ID)+`">`, "") // a hidden field of what was sent
					for _, text := range s.other.foreign() {
						if strings.Contains(sent, text) {
							t.Errorf("%s, %s %s: the answer (%d) has %q of another business", name, route.Method, path, p.status, text)
						}
					}
					_, inside := map[string]bool{"owner": true, "developer": true, "viewer": true}[name]
					if inside && strings.Contains(route.Path, ":") && path != mixed && route.Method == http.MethodGet && route.Path != "/enter/:link" &&
						!strings.HasPrefix(route.Path, "/people/:person/role") && !strings.HasPrefix(route.Path, "/people/:person/link") &&
						p.status != http.StatusNotFound && p.status != http.StatusForbidden {
						t.Errorf("%s, %s %s: %d, want 404", name, route.Method, path, p.status)
					}
				}
			}
		}
	}
	if after := s.counts(t, s.other); after != before {
		t.Errorf("the other business had %v and has %v", before, after)
	}
	if asked < 300 {
		t.Errorf("only %d requests were made", asked)
	}
	// An application of the same business is no way to a key of another one.
	owner := callers["owner"]
	for _, act := range []string{"rotate", "revoke"} {
		if p := owner.post("/apps/"+string(s.house.app.ID)+"/sandbox/keys/"+string(spareKey.ID)+"/"+act, url.Values{"once": {string(s.IDs.ID(domain.PrefixAPIKey))}}); p.status != http.StatusNotFound {
			t.Errorf("%s a key through another application: %d", act, p.status)
		}
	}
	if k := must[domain.APIKey](t)(s.tenants.Key(t.Context(), spareKey.ID)); k.RevokedAt != nil {
		t.Error("the key was revoked through another application")
	}
	for _, path := range []string{"/apps/" + string(s.other.app.ID), "/apps/" + string(s.IDs.ID(domain.PrefixApplication)), "/apps/app_1", "/apps/%2e%2e", s.house.keysPath("nowhere")} {
		if p, unknown := owner.get(path), owner.get("/apps/"+string(s.IDs.ID(domain.PrefixApplication))); p.status != http.StatusNotFound || p.body != unknown.body {
			t.Errorf("%s: %d, or another page than for an unknown ID", path, p.status)
		}
	}
}

func TestARoleDoesWhatItIncludesAndNothingElse(t *testing.T) {
	t.Parallel()
	for role, may := range map[domain.Role]map[string]bool{
		domain.RoleOwner:     {"live key": true, "sandbox key": true, "application": true, "person": true, "audit": true},
		domain.RoleDeveloper: {"sandbox key": true, "audit": true},
		domain.RoleViewer:    {},
	} {
		s := newScene(t)
		r := s.signedIn(t, s.house, role)
		once := func() url.Values {
			return url.Values{"once": {string(s.IDs.ID(domain.PrefixAPIKey))}, "scopes": {"quotes:read"}}
		}
		for name, p := range map[string]page{
			"live key":    r.post(s.house.keysPath(domain.Live), once()),
			"sandbox key": r.post(s.house.keysPath(domain.Sandbox), once()),
			"application": r.post("/apps", url.Values{"name": {"Another"}}),
			"person":      r.post("/people", url.Values{"email": {"new@adom.example"}, "name": {"New"}, "role": {"viewer"}}),
			"audit":       r.get("/audit"),
		} {
			if want := map[bool]int{true: http.StatusOK, false: http.StatusForbidden}[may[name]]; p.status != want {
				t.Errorf("%s, %s: %d, want %d", role, name, p.status, want)
			}
		}
		keys := r.get(s.house.keysPath(domain.Live)).body
		if strings.Contains(keys, ">Create key") != may["live key"] || strings.Contains(keys, ">Rotate<") != may["live key"] {
			t.Errorf("%s: the forms for live keys do not fit the role", role)
		}
	}
}
