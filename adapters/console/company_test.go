package console_test

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"waybill/adapters/console"
	"waybill/adapters/oidc"
	"waybill/adapters/pages"
	"waybill/adapters/passkeys"
	"waybill/application/people"
	"waybill/domain"
	"waybill/ports"
	"waybill/test/backend"
	"waybill/test/stage"
)

// nowhere is a provider that sends everybody to one address and vouches for no one, or is gone.
type nowhere struct{ *scene }

func (n nowhere) Begin(context.Context, ports.IdentityRequest) (string, error) {
	if n.providerGone {
		return "", ports.ErrIdentityUnavailable
	}
	return "https://id.example.com/auth", nil
}

func (nowhere) Finish(context.Context, ports.IdentityRequest, string) (domain.Identity, error) {
	return domain.Identity{}, ports.ErrIdentityUnproven
}

func init() {
	add(map[string]row{
		"GET /signin/oidc": {}, "GET /signin/oidc/callback": {},
		"GET /account/confirm/oidc": {may: everybody}, "GET /account/oidc": {may: everybody}, "POST /account/oidc": {may: everybody},
	})
	equip = append(equip, func(_ *testing.T, s *scene, u *console.UseCases) {
		u.Company = people.NewCompany(u.Access, nowhere{s}, nil, stage.Digester{})
	})
	states = append(states, state{name: "oidc-gone", path: "/signin/oidc", heading: "Sign in",
		before: func(_ *testing.T, s *scene) { s.providerGone = true }})
}

// wallClock is the clock of this machine.
type wallClock struct{}

func (wallClock) Now() time.Time { return time.Now() }

// shifted tells when a person signed in by the clock of the scene.
type shifted struct {
	ports.IdentityProvider
	clock ports.Clock
}

func (p shifted) Finish(ctx context.Context, r ports.IdentityRequest, code string) (domain.Identity, error) {
	i, err := p.IdentityProvider.Finish(ctx, r, code)
	i.AuthenticatedAt = i.AuthenticatedAt.Add(time.Until(p.clock.Now()))
	return i, err
}

// withDex is a scene whose console sends staff to a Dex.
func withDex(t *testing.T) (*scene, *backend.Dex) {
	t.Helper()
	server, at := atLocalhost()
	account := func(name string, groups ...string) backend.DexAccount {
		return backend.DexAccount{ID: name, Email: name + "@company.example", Name: "Efua " + name, Verified: true, Groups: groups}
	}
	unverified, customer := account("unverified", "ops"), account("customer", "ops")
	unverified.Verified, customer.Email = false, "owner@adom.example"
	dex := backend.DexForTest(t, backend.DexKnown{
		Sessions: true,
		Clients:  []backend.DexClient{{ID: "waybill", Secret: "secret", RedirectURIs: []string{pages.CompanyBack(at, console.Prefix)}}},
		Accounts: []backend.DexAccount{account("admin", "ops", "everybody"), account("dispatcher", "riders desk"), account("support", "care"),
			account("viewer", "everybody"), account("rider"), unverified, customer},
	})
	s := newScene(t)
	party := must[*passkeys.Party](t)(passkeys.New(at))
	u := console.UseCases{Access: s.access, Directory: s.directory, Audit: s.audit, Passkeys: people.NewPasskeys(s.access, party, stage.Digester{})}
	for _, add := range equip {
		add(t, s, &u)
	}
	provider := oidc.New(oidc.Config{Issuer: dex.Issuer, ClientID: "waybill", ClientSecret: "secret",
		RedirectURL: pages.CompanyBack(at, console.Prefix), GroupsClaim: "groups"}, wallClock{})
	u.Company = people.NewCompany(s.access, shifted{provider, s.Clock}, domain.MakeRoleRules(map[string]string{
		"group:ops": "admin", "group:riders desk": "dispatcher", "group:care": "support", "group:everybody": "viewer"}), stage.Digester{})
	p := console.New(u, console.Options{BaseURL: at, Log: slog.New(slog.NewTextHandler(&s.log, nil)), Clock: s.Clock, Identifiers: s.IDs})
	start(t, server, p)
	s.url = at + console.Prefix
	return s, dex
}

// away leaves for the provider, signs in there, and is the path that leads back.
func (r *reader) away(from, email string) string {
	r.t.Helper()
	left := r.ask(http.MethodGet, from, nil)
	if left.status != http.StatusSeeOther {
		r.t.Fatalf("%s answers %d\n%s", from, left.status, left.body)
	}
	back, _, err := backend.NewDexVisitor().SignIn(r.t.Context(), left.header.Get("Location"), email)
	if err != nil {
		r.t.Fatal(err)
	}
	return strings.TrimPrefix(back.RequestURI(), console.Prefix)
}

// Images of any web page would use up what the address of an office may begin.
func TestAForeignPageBeginsNoSignInAtTheProvider(t *testing.T) {
	t.Parallel()
	s, _ := withDex(t)
	for name, value := range map[string]string{"Sec-Fetch-Site": "cross-site", "Referer": "https://evil.example/", "Accept": "image/*"} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url+"/signin/oidc?next=%2Faccount", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set(name, value)
		res, err := http.DefaultTransport.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		if to := res.Header.Get("Location"); to != console.Prefix+"/signin?next=%2Faccount" || len(res.Cookies()) != 0 {
			t.Errorf("%s: %s leads to %q with %d cookies", name, value, to, len(res.Cookies()))
		}
	}
	req := must[*http.Request](t)(http.NewRequestWithContext(t.Context(), http.MethodGet, s.url+"/signin/oidc", http.NoBody))
	req.Header.Set("Referer", s.url+"/signin") // over plain http
	res := must[*http.Response](t)(http.DefaultTransport.RoundTrip(req))
	if _ = res.Body.Close(); len(res.Cookies()) != 1 {
		t.Errorf("from our own page it leads to %q", res.Header.Get("Location"))
	}
}

func TestStaffSignInAtARealProviderWithTheRoleOfTheirGroup(t *testing.T) {
	t.Parallel()
	s, _ := withDex(t)
	for _, role := range domain.Roles(domain.Console) {
		r := s.reader(t)
		if !strings.Contains(r.get("/signin").body, `href="/console/signin/oidc?next=%2F"`) {
			t.Error("the page for signing in does not offer it")
		}
		p := r.get(r.away("/signin/oidc?next=%2Faccount", string(role)+"@company.example"))
		if p.status != http.StatusOK || p.at != "/account" || !strings.Contains(p.body, "Efua "+string(role)) ||
			!strings.Contains(p.body, "by oidc") {
			t.Errorf("%s: %d at %s\n%s", role, p.status, p.at, p.body)
		}
		staff := must[[]domain.Member](t)(s.directory.Members(t.Context(), ""))
		if last := staff[len(staff)-1]; last.Person.Email != domain.Email(role+"@company.example") || last.Membership.Role != role {
			t.Errorf("%s is %+v", role, last)
		}
	}
}

func TestAnOldSignInIsConfirmedAtTheProvider(t *testing.T) {
	t.Parallel()
	s, _ := withDex(t)
	const admin = "admin@company.example"
	r := s.reader(t)
	r.get(r.away("/signin/oidc", admin))
	s.wait(domain.FreshFor)
	invite := url.Values{"email": {"abena@company.example"}, "name": {"Abena"}, "role": {"viewer"}}
	if p := r.post("/staff", invite); p.status != http.StatusForbidden || !strings.Contains(p.body, `href="/console/account/confirm/oidc"`) {
		t.Fatalf("after 10 minutes: %d\n%s", p.status, p.body)
	}
	if p := r.get(r.away("/account/confirm/oidc", admin)); !strings.Contains(p.body, "You have signed in again") {
		t.Errorf("%d at %s\n%s", p.status, p.at, p.body)
	}
	if p := r.post("/staff", invite); p.status != http.StatusOK || !strings.Contains(p.body, "abena@company.example") {
		t.Errorf("%d\n%s", p.status, p.body)
	}
}

func TestAWrongOrSecondReturnFromTheProviderLetsNoOneIn(t *testing.T) {
	t.Parallel()
	s, _ := withDex(t)
	for name, spoil := range map[string]func(r *reader, back string) string{
		"another browser": func(r *reader, back string) string { *r = *s.reader(t); return back },
		"another code":    func(_ *reader, back string) string { return strings.Replace(back, "code=", "code=x", 1) },
		"a second time": func(r *reader, back string) string {
			r.get(back)
			r.post("/signout", url.Values{})
			return back
		},
		"refused there": func(_ *reader, back string) string { return back + "&error=access_denied" },
	} {
		r := s.reader(t)
		p := r.get(spoil(r, r.away("/signin/oidc", "dispatcher@company.example")))
		if p.status != http.StatusForbidden || !strings.Contains(p.body, "Sign-in failed") || !strings.Contains(p.body, `name="password"`) {
			t.Errorf("%s: %d\n%s", name, p.status, p.body)
		}
		if after := r.get("/account"); after.at != "/signin" {
			t.Errorf("%s: at %s", name, after.at)
		}
	}
}

func TestAnAccountThatMayNotComeInIsToldWhy(t *testing.T) {
	t.Parallel()
	s, _ := withDex(t)
	for email, words := range map[string]string{"unverified@company.example": "has verified", "rider@company.example": "in no group",
		"owner@adom.example": "is not connected"} {
		r := s.reader(t)
		p := r.get(r.away("/signin/oidc", email))
		if p.status != http.StatusForbidden || !strings.Contains(p.body, words) || r.get("/account").at != "/signin" {
			t.Errorf("%s: %d\n%s", email, p.status, p.body)
		}
	}
}

func TestAConsoleWithoutAProviderOffersNone(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	party := must[*passkeys.Party](t)(passkeys.New("http://localhost:1"))
	p := console.New(console.UseCases{Access: s.access, Directory: s.directory, Audit: s.audit, Passkeys: people.NewPasskeys(s.access, party, stage.Digester{}),
		Company: people.NewCompany(s.access, nil, nil, nil)}, console.Options{BaseURL: "http://localhost:1", Clock: s.Clock, Identifiers: s.IDs,
		Log: slog.New(slog.NewTextHandler(&s.log, nil))})
	for path, want := range map[string]int{"/signin": 200, "/signin/oidc": 404, "/signin/oidc/callback": 404} {
		w := httptest.NewRecorder()
		p.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "http://localhost:1/console"+path, http.NoBody))
		if w.Code != want || strings.Contains(w.Body.String(), "company account") {
			t.Errorf("%s: %d\n%s", path, w.Code, w.Body)
		}
	}
}

// A page of another site could open a link, and so connect an account of its own choice.
func TestToConnectACompanyAccountBeginsWithAForm(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	r := s.signedIn(t, domain.RoleAdmin)
	if p := r.ask(http.MethodGet, "/account/oidc", nil); p.status != http.StatusOK || p.header.Get("Set-Cookie") != "" ||
		!strings.Contains(p.body, `<form method="post" action="/console/account/oidc">`) {
		t.Errorf("a link: %d, %v\n%s", p.status, p.header, p.body)
	}
	p := r.ask(http.MethodPost, "/account/oidc", url.Values{})
	if p.status != http.StatusOK || p.header.Get("Refresh") != "0;url=https://id.example.com/auth" ||
		!strings.Contains(p.body, `href="https://id.example.com/auth"`) || !strings.Contains(p.header.Get("Set-Cookie"), "waybill_console_oidc=") {
		t.Errorf("the form: %d, %v\n%s", p.status, p.header, p.body)
	}
	s.wait(domain.FreshFor)
	if p := r.ask(http.MethodPost, "/account/oidc", url.Values{}); p.status != http.StatusForbidden || p.header.Get("Refresh") != "" {
		t.Errorf("after 10 minutes: %d, %v", p.status, p.header)
	}
}

// closed is a provider that does not accept this client.
type closed struct{ nowhere }

func (closed) Begin(context.Context, ports.IdentityRequest) (string, error) {
	return "", ports.ErrIdentityClientRefused
}

func TestAClientThatTheProviderRefusesIsAnErrorWithARemedy(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	party := must[*passkeys.Party](t)(passkeys.New("http://localhost:1"))
	p := console.New(console.UseCases{Access: s.access, Directory: s.directory, Audit: s.audit, Passkeys: people.NewPasskeys(s.access, party, stage.Digester{}),
		Company: people.NewCompany(s.access, closed{}, nil, stage.Digester{})}, console.Options{BaseURL: "http://localhost:1", Clock: s.Clock, Identifiers: s.IDs,
		Log: slog.New(slog.NewTextHandler(&s.log, nil))})
	w, asked := httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "http://localhost:1/console/signin/oidc", http.NoBody)
	asked.Header.Set("Sec-Fetch-Site", "same-origin")
	p.Handler().ServeHTTP(w, asked)
	if w.Code != http.StatusServiceUnavailable || !strings.Contains(w.Body.String(), "set WAYBILL_OIDC_CLIENT_SECRET") ||
		strings.Contains(w.Body.String(), "Try again in a minute") {
		t.Errorf("%d\n%s", w.Code, w.Body)
	}
	if told := s.log.String(); !strings.Contains(told, "level=ERROR") || !strings.Contains(told, "refuses this client") {
		t.Errorf("%s", told)
	}
}
