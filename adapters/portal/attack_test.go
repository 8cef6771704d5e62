package portal_test

import (
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"waybill/domain"
)

func TestNoSignInLeadsToAnotherSite(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	own := must[*url.URL](t)(url.Parse(s.url)).Host
	form := url.Values{"email": {string(s.house.people[domain.RoleOwner].Email)}, "password": {password}}
	for _, next := range []string{
		"https://evil.example/", "//evil.example", "///evil.example", "/\\evil.example", "\\\\evil.example", "/\tevil.example",
		"/\n/evil.example", " //evil.example", "/.//evil.example",
		"/..//evil.example", "/%2fevil.example", "/%5cevil.example", "/%09/evil.example", "http:evil.example", "javascript:alert(1)",
		"data:text/html,x", "//evil.example@" + own, "/people#//evil.example",
		"?next=//evil.example", "", "#", "/apps/../..//evil.example", "//" + own + ".evil.example/", "/enter/x", "/signin?next=//evil.example",
		"/signout", strings.Repeat("/a", 2_000), "/people\r\nSet-Cookie: a=b",
	} {
		form.Set("next", next)
		p := s.reader(t).ask(question{method: http.MethodPost, path: "/signin", form: form})
		to, err := must[*url.URL](t)(url.Parse(s.url + "/signin")).Parse(p.header.Get("Location"))
		if p.status != http.StatusSeeOther || err != nil || to.Host != own || to.Scheme != "http" || strings.HasPrefix(p.header.Get("Location"),
			"//") || strings.Contains(p.header.Get("Location"), "\\") {
			t.Errorf("next=%.60q: %d, Location %.60q", next, p.status, p.header.Get("Location"))
		}
		if shown := s.reader(t).get("/signin?" + url.Values{"next": {next}}.Encode()); shown.status != http.StatusOK ||
			strings.Contains(shown.body, "evil.example@") || strings.Contains(shown.body, `value="//`) {
			t.Errorf("next=%.60q: %d", next, shown.status)
		}
	}
	form.Set("next", "/audit?action=key.create")
	if p := s.reader(t).post("/signin", form); p.at != "/audit" || p.status != http.StatusOK {
		t.Errorf("a page that was asked for: %d at %s", p.status, p.at)
	}
}

func TestASessionIsNeitherFixedNorReadFromAnotherHost(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	at := must[*url.URL](t)(url.Parse(s.url))
	cookie := func(r *reader) string {
		for _, c := range r.client.Jar.Cookies(at) {
			if c.Name == "waybill_portal" {
				return c.Value
			}
		}
		return ""
	}
	// A secret that an attacker knows before the sign-in is none after it.
	for _, fixed := range []string{strings.Repeat("A", 43), cookie(s.signedIn(t, s.house, domain.RoleViewer))} {
		r := s.reader(t)
		r.client.Jar.SetCookies(at, []*http.Cookie{{Name: "waybill_portal", Value: fixed}})
		r.post("/signin", url.Values{"email": {string(s.house.people[domain.RoleOwner].Email)}, "password": {password}})
		if now := cookie(r); now == fixed || now == "" {
			t.Errorf("after signing in the session is %q", now)
		}
	}
	// What a request says of its host is in no link, and in no answer.
	owner := s.signedIn(t, s.house, domain.RoleOwner)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url+"/people",
		strings.NewReader(url.Values{"email": {"efua@adom.example"}, "name": {"Efua"}, "role": {"viewer"}}.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	req.Host = "evil.example"
	for name, value := range map[string]string{"Content-Type": "application/x-www-form-urlencoded", "X-Forwarded-Host": "evil.example",
		"Forwarded": "host=evil.example", "Cookie": "waybill_portal=" + cookie(owner)} {
		req.Header.Set(name, value)
	}
	p := owner.do(req)
	if p.status != http.StatusOK || !strings.HasPrefix(p.secret(), s.url+"/enter/") || strings.Contains(p.body, "evil.example") {
		t.Errorf("%d: the link is %q", p.status, p.secret())
	}
}

func TestASignInThatHasToWaitKeepsTheForm(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	form := url.Values{
		"email": {string(s.house.people[domain.RoleOwner].Email)}, "password": {password}, "next": {"/people"}, "kept.name": {"Efua"},
		"kept.email": {"efua@adom.example"},
	}
	for want, obstacle := range map[int]*atomic.Bool{http.StatusTooManyRequests: &s.guard.limits,
		http.StatusServiceUnavailable: &s.guard.hashes} {
		obstacle.Store(true)
		p := s.reader(t).post("/signin", form)
		if p.status != want || p.header.Get("Retry-After") == "" || !strings.Contains(p.body, `name="kept.name" value="Efua"`) ||
			!strings.Contains(p.body, `role="alert"`) || strings.Contains(p.body, password) {
			t.Errorf("%d, want %d and the form\n%s", p.status, want, p.body)
		}
		obstacle.Store(false)
	}
}

// What was chosen for a form that needs a younger sign-in survives a wait, too.
func TestAConfirmationThatHasToWaitKeepsTheForm(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	owner := s.signedIn(t, s.house, domain.RoleOwner)
	s.wait(domain.FreshFor)
	asked := owner.post("/people", url.Values{"email": {"efua@adom.example"}, "name": {"Efua"}, "role": {"viewer"}})
	action, form := asked.form(t, "Sign in")
	form.Set("password", password)
	for want, obstacle := range map[int]*atomic.Bool{http.StatusTooManyRequests: &s.guard.limits,
		http.StatusServiceUnavailable: &s.guard.hashes} {
		obstacle.Store(true)
		if p := owner.post(action, form); p.status != want || p.header.Get("Retry-After") == "" ||
			!strings.Contains(p.body, `name="name" value="Efua"`) {
			t.Errorf("%d, want %d and the form\n%s", p.status, want, p.body)
		}
		obstacle.Store(false)
	}
	if p := owner.post(action, form); !strings.Contains(p.body, "Efua is invited") {
		t.Errorf("%d\n%s", p.status, p.body)
	}
}
