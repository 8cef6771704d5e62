package faults

import (
	"crypto/tls"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"
)

func mustParse(t *testing.T, text string) *url.URL {
	t.Helper()
	u, err := url.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func TestUnknownAndWrongAreOneAnswerAfterTheSameTimeAndTheSameLimit(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a server; left out in short mode")
	}
	t.Parallel()
	s := serve(t, freshDatabase(t, SQLite), 1, "WAYBILL_TRUSTED_PROXIES=127.0.0.1/32")
	t.Cleanup(s.close)
	const known, unknown, other = "ama@stormy.example", "nobody@stormy.example", "kofi@stormy.example"
	s.invites(t, newVisitor(t, s.portal(0)), known, "owner")
	s.invites(t, newVisitor(t, s.portal(0)), other, "owner")
	var invited struct{ Link string }
	if err := command(t.Context(), s.binary, s.env, &invited, "person", "invite", "--business", s.sender.customer.BusinessID, "--email",
		"no-password@stormy.example", "--name", "E", "--role", "viewer", "--json"); err != nil {
		t.Fatal(err)
	}
	try := func(from, email, password string) sheet {
		v := newVisitor(t, s.portal(0))
		v.from = from
		return v.post("/signin", "email", email, "password", password)
	}
	const tries = 10
	fastest, bodies := map[string]time.Duration{}, map[string]string{}
	emails := []string{known, unknown, "no-password@stormy.example", "no address at all"}
	for range tries {
		for _, email := range emails {
			p := try("10.1.1.1", email, "something else, long").is(t, http.StatusUnauthorized, "You are not signed in")
			if fastest[email] == 0 || p.took < fastest[email] {
				fastest[email] = p.took
			}
			bodies[email] = strings.ReplaceAll(p.body, email, "EMAIL")
		}
	}
	t.Logf("the fastest of %d each: %v", tries, fastest)
	for _, email := range emails {
		if bodies[email] != bodies[known] {
			t.Errorf("the page for %s is not the one for a wrong password", email)
		}
		// Without the work of a hash it would be a tenth.
		if fastest[email] < fastest[known]/2 || fastest[known] < fastest[email]/2 {
			t.Errorf("%s is answered after %s, a wrong password after %s", email, fastest[email], fastest[known])
		}
	}
	// From now on no password of these works there, not even the right one.
	for _, email := range []string{known, unknown} {
		p := try("10.1.1.1", email, sesame).is(t, http.StatusTooManyRequests, "Too many attempts")
		if p.header.Get("Retry-After") == "" {
			t.Errorf("%s: no Retry-After", email)
		}
	}
	try("10.1.1.1", other, sesame).is(t, http.StatusOK, "Hello")
	try("10.1.1.2", known, sesame).is(t, http.StatusOK, "Hello")
	// A link still works for a person who is locked out.
	var link struct{ Link string }
	var people []struct{ ID, Email string }
	if err := command(t.Context(), s.binary, s.env, &people, "person", "list", "--business", s.sender.customer.BusinessID,
		"--json"); err != nil {
		t.Fatal(err)
	}
	id := people[slices.IndexFunc(people, func(p struct{ ID, Email string }) bool { return p.Email == known })].ID
	if err := command(t.Context(), s.binary, s.env, &link, "person", "link", id, "--json"); err != nil {
		t.Fatal(err)
	}
	_, secret, _ := strings.Cut(link.Link, "/enter/")
	inside := newVisitor(t, s.portal(0))
	inside.from = "10.1.1.1"
	inside.post("/enter/"+secret).is(t, http.StatusOK, "Hello")

	// One address tries its luck with links. Passwords are another matter.
	guesser := newVisitor(t, s.portal(0))
	guesser.from = "10.9.9.9"
	for n := range 30 {
		guesser.get("/enter/"+strings.Repeat("x", 40)+fmt.Sprintf("%03d", n)).is(t, http.StatusNotFound, "There is no such link")
	}
	guesser.get("/enter/"+strings.Repeat("y", 43)).is(t, http.StatusTooManyRequests, "Too many attempts")
	try("10.9.9.9", other, sesame).is(t, http.StatusOK, "Hello")
}

// A proxy speaks https to browsers and http to the portal, and names itself to it, as
// proxies do by default.
func TestBehindAProxyWithHTTPSCookiesAreForThisHostAlone(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a server; left out in short mode")
	}
	t.Parallel()
	var to *url.URL
	proxy := httptest.NewUnstartedServer(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(to) // and with it the Host
		r.SetXForwarded()
	}})
	proxy.StartTLS()
	t.Cleanup(proxy.Close)
	base := strings.Replace(proxy.URL, "https://", "HTTPS://", 1) // schemes know no case
	s := serve(t, freshDatabase(t, SQLite), 1, "WAYBILL_PORTAL_BASE_URL="+base, "WAYBILL_TRUSTED_PROXIES=127.0.0.1/32")
	t.Cleanup(s.close)
	to = mustParse(t, s.portal(0))
	ama := newVisitor(t, proxy.URL)
	authorities := proxy.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs
	ama.client.Transport = &http.Transport{TLSClientConfig: &tls.Config{RootCAs: authorities, MinVersion: tls.VersionTLS12}}
	t.Cleanup(ama.client.CloseIdleConnections)
	s.invites(t, ama, "ama@stormy.example", "owner")
	const name = "__Host-waybill_portal"
	anonymous := newVisitor(t, proxy.URL)
	anonymous.client.Transport = ama.client.Transport
	anonymous.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	in := anonymous.post("/signin", "email", "ama@stormy.example", "password", sesame)
	set := in.header.Values("Set-Cookie")
	if len(set) == 0 || !strings.HasPrefix(set[0], name+"=") {
		t.Fatalf("%d, Set-Cookie: %q", in.status, set)
	}
	for _, cookie := range set { // that of the device too
		for _, want := range []string{"__Host-", "; Secure", "; HttpOnly", "; SameSite=Lax", "; Path=/;"} {
			if !strings.Contains(cookie, want) {
				t.Errorf("Set-Cookie %q lacks %q", cookie, want)
			}
		}
		if strings.Contains(cookie, "Domain") {
			t.Errorf("Set-Cookie: %s", cookie)
		}
	}
	// A cookie that a neighbour's host or a page without https could set is none.
	cookie, _, _ := strings.Cut(strings.TrimPrefix(set[0], name+"="), ";")
	plain := newVisitor(t, proxy.URL)
	plain.client.Transport = ama.client.Transport
	if p := plain.send(http.MethodGet, "/people", nil, "Cookie", "waybill_portal="+cookie); p.path != "/signin" {
		t.Errorf("a cookie without the prefix is let in: %d at %s", p.status, p.path)
	}
	// Links lead to the public address whatever Host a request names.
	made := ama.send(http.MethodPost, "/people", url.Values{"email": {"efua@stormy.example"}, "name": {"Efua"}, "role": {"viewer"}},
		"X-Forwarded-Host", "evil.example")
	if made.is(t, http.StatusOK, "Efua is invited"); !strings.HasPrefix(strings.ToLower(made.secret()), strings.ToLower(base)+"/enter/") {
		t.Errorf("the link is %s", made.secret())
	}
	// A browser too old for Sec-Fetch-Site tells its origin: ours is let in, others not.
	for origin, want := range map[string]int{proxy.URL: http.StatusOK, "https://evil.example": http.StatusForbidden,
		"null": http.StatusForbidden} {
		if p := ama.send(http.MethodPost, "/apps", url.Values{"name": {"Shop"}}, "Origin", origin); p.status != want {
			t.Errorf("a form of %s is answered %d, want %d", origin, p.status, want)
		}
	}
}
