package portal_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"waybill/adapters/web/server"
	"waybill/application/people"
	"waybill/domain"
	"waybill/test/stage"
)

func (s *scene) link(t *testing.T, h house, role domain.Role) people.Issued {
	t.Helper()
	return must[people.Issued](t)(s.directory.Link(t.Context(), operator, h.people[role].ID, domain.Portal))
}

func TestALinkIsSpentByItsFormAndByNothingElse(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	at := "/enter/" + s.link(t, s.house, domain.RoleViewer).Secret
	for range 3 { // a scanner of mails, and a browser that reads ahead
		head, _ := http.NewRequestWithContext(t.Context(), http.MethodHead, s.url+at, http.NoBody)
		head.Header.Set("Sec-Purpose", "prefetch")
		if p := s.reader(t).do(head); p.status != http.StatusOK || p.body != "" || p.header.Get("Set-Cookie") != "" {
			t.Fatalf("HEAD: %d, %v", p.status, p.header)
		}
		if p := s.reader(t).get(at); p.status != http.StatusOK || strings.Count(p.body, "<form") != 1 || !strings.Contains(p.body, ">Sign in<") {
			t.Fatalf("%d\n%s", p.status, p.body)
		}
	}
	r := s.reader(t)
	if p := r.post(at, nil); p.status != http.StatusOK || p.at != "/" || !strings.Contains(p.body, "adom viewer") {
		t.Fatalf("%d at %s", p.status, p.at)
	}
	replaced := "/enter/" + s.link(t, s.house, domain.RoleDeveloper).Secret
	s.link(t, s.house, domain.RoleDeveloper)
	expired := "/enter/" + s.link(t, s.house, domain.RoleOwner).Secret
	s.wait(11 * time.Minute)
	staff := must[people.Issued](t)(s.directory.Invite(t.Context(), operator, people.Invitation{Email: "kofi@waybill.example", Name: "Kofi",
		Role: "admin"}))
	for path, want := range map[string]struct {
		status int
		title  string
	}{
		at: {http.StatusGone, "This link was already used"}, expired: {http.StatusGone, "This link has expired"},
		"/enter/" + strings.Repeat("A", 43): {http.StatusNotFound, "There is no such link"}, "/enter/" + staff.Secret: {http.StatusNotFound,
			"There is no such link"},
		replaced: {http.StatusGone, "This link has stopped working"},
	} {
		for _, p := range []page{s.reader(t).get(path), s.reader(t).post(path, nil)} {
			if p.status != want.status || !strings.Contains(p.body, want.title) ||
				!strings.Contains(p.body, "Ask an owner of your business for a new link") {
				t.Errorf("%s: %d, want %d and %q", path, p.status, want.status, want.title)
			}
			if said := strings.Count(p.body[strings.Index(p.body, "<h1"):], want.title); said != 1 {
				t.Errorf("%s says %q %d times", path, want.title, said)
			}
		}
	}
	if _, err := s.access.Enter(t.Context(), people.Browser{}, staff.Secret); err != nil {
		t.Errorf("the portal has spent a link to the console: %v", err)
	}
}

func TestASessionOfAPortalLinkShowsOneBusinessAndNoAccount(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	boss := s.house.people[domain.RoleOwner]
	issued := must[people.Issued](t)(s.directory.OpenPortal(t.Context(), operator, people.Invitation{BusinessID: s.other.business.ID,
		Email: string(boss.Email), Name: "Mallory", Role: "owner"}))
	r := s.reader(t)
	if p := r.post("/enter/"+issued.Secret, nil); p.status != http.StatusOK || strings.Contains(p.body, "You have no password yet") {
		t.Fatalf("%d\n%s", p.status, p.body)
	}
	account := r.get("/account")
	for _, foreign := range []string{s.house.business.Name, string(s.house.business.ID), `action="/account`, string(s.house.session),
		string(s.house.passkey), "/account/confirm"} {
		if account.status != http.StatusOK || strings.Contains(account.body, foreign) {
			t.Errorf("%d: the account page has %q", account.status, foreign)
		}
	}
	if !strings.Contains(account.body, "You cannot change your account here") {
		t.Errorf("%s", account.body)
	}
	for path, form := range map[string]url.Values{
		"/account/password": {"password": {"another horse battery staple"}}, "/account/passkeys": nil, "/account/passkeys/ask": nil,
		"/account/confirm": {"confirm": {"1"}, "password": {password}}, "/account/confirm/passkey": nil, "/account/sessions": nil,
		"/account/passkeys/" + string(s.house.passkey) + "/remove": nil,
	} {
		if p := r.post(path, form); p.status != http.StatusForbidden || !strings.Contains(p.body, "This needs your own sign-in") {
			t.Errorf("%s: %d\n%s", path, p.status, p.body)
		}
	}
	if p := r.post("/account/business", url.Values{"business": {string(s.house.business.ID)}}); p.status != http.StatusNotFound {
		t.Errorf("show the other business: %d", p.status)
	}
	invite := url.Values{"email": {"efua@new.example"}, "name": {"Efua"}, "role": {"viewer"}}
	if p := r.post("/people", invite); p.status != http.StatusOK {
		t.Errorf("what its role includes: %d", p.status)
	}
	s.wait(11 * time.Minute)
	for what, with := range map[string]url.Values{"without a password": {}, "with the person's": {"confirm": {"1"}, "password": {password}}} {
		for name, values := range invite {
			with[name] = values
		}
		if p := r.post("/people", with); p.status != http.StatusForbidden || !strings.Contains(p.body, "Open the portal again to continue") ||
			strings.Contains(p.body, `type="password"`) {
			t.Errorf("%s: %d\n%s", what, p.status, p.body)
		}
	}
}

func TestAFormComesBackAfterALostSession(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	r := s.signedIn(t, s.house, domain.RoleOwner)
	s.wait(2 * time.Hour)
	lost := r.post("/people", url.Values{"email": {"efua@adom.example"}, "name": {`Efua "E" <Owusu>`}, "role": {"viewer"}})
	if lost.status != http.StatusUnauthorized || !strings.Contains(lost.body, "Nothing was changed") {
		t.Fatalf("%d\n%s", lost.status, lost.body)
	}
	action, form := lost.form(t, "Sign in")
	for name, values := range form { // as a browser reads them
		for i, v := range values {
			form[name][i] = strings.NewReplacer("&#34;", `"`, "&lt;", "<", "&gt;", ">", "&amp;", "&").Replace(v)
		}
	}
	form.Set("email", string(s.house.people[domain.RoleOwner].Email))
	form.Set("password", "a wrong one, twelve")
	wrong := r.post(action, form)
	if wrong.status != http.StatusUnauthorized || !strings.Contains(wrong.body, "kept.name") || strings.Contains(wrong.body, "a wrong one") {
		t.Errorf("a wrong password: %d\n%s", wrong.status, wrong.body)
	}
	form.Set("password", password)
	back := r.post(action, form)
	if back.status != http.StatusOK || !strings.Contains(back.body, "What you typed is still here") ||
		!strings.Contains(back.body, `value="efua@adom.example"`) ||
		!strings.Contains(back.body, `Efua &#34;E&#34; &lt;Owusu&gt;`) || !strings.Contains(back.body, `<option value="viewer" selected>Viewer`) {
		t.Errorf("%d\n%s", back.status, back.body)
	}
	if members := must[[]domain.Member](t)(s.directory.Members(t.Context(), s.house.business.ID)); len(members) != 3 {
		t.Error("the form was sent by itself")
	}
	if p := r.get("/people"); p.at != "/people" {
		t.Errorf("the new session leads to %s", p.at)
	}
}

func TestWhatTakesAFreshSignInAsksForThePasswordAndGoesOn(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	r := s.signedIn(t, s.house, domain.RoleOwner)
	list := s.house.keysPath(domain.Live)
	action, form := r.get(list+"/new").form(t, "Create")
	form["scopes"] = []string{"quotes:read", "recipients:read"}
	s.wait(11 * time.Minute)
	asked := r.post(action, form)
	if asked.status != http.StatusForbidden || asked.secret() != "" || !strings.Contains(asked.body, "Sign in again to continue") {
		t.Fatalf("%d\n%s", asked.status, asked.body)
	}
	action, form = asked.form(t, "Sign in")
	form.Set("password", "not the password")
	if p := r.post(action, form); p.status != http.StatusUnauthorized || p.secret() != "" ||
		!strings.Contains(p.body, `id="password-error"`) || strings.Contains(p.body, "not the password") {
		t.Errorf("a wrong password: %d", p.status)
	}
	form.Set("password", password)
	made := r.post(action, form)
	if made.status != http.StatusOK || made.secret() == "" {
		t.Fatalf("%d\n%s", made.status, made.body)
	}
	if k := must[domain.APIKey](t)(s.tenants.Key(t.Context(), s.made(t, domain.RoleOwner, form))); len(k.Scopes) != 2 {
		t.Errorf("the form did not survive: %v", k.Scopes)
	}
	// The sandbox takes no recent sign-in.
	s.wait(11 * time.Minute)
	action, form = r.get(s.house.keysPath(domain.Sandbox)+"/new").form(t, "Create")
	if p := r.post(action, form); p.secret() == "" {
		t.Errorf("a sandbox key with an older sign-in: %d", p.status)
	}
	// The password is changed with the one before it, in one form.
	action, form = r.get("/account").form(t, "Save password")
	form.Set("password", "another battery, another horse")
	if p := r.post(action, form); p.status != http.StatusForbidden || !strings.Contains(p.body, `id="current_password-error"`) {
		t.Errorf("a new password without the old one: %d", p.status)
	}
	form.Set("current_password", password)
	if p := r.post(action, form); p.status != http.StatusOK || !strings.Contains(p.body, "The password was saved") {
		t.Errorf("%d\n%s", p.status, p.body)
	}
}

func TestUnknownAndWrongLookTheSame(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	known := string(s.house.people[domain.RoleOwner].Email)
	var bodies []string
	for _, email := range []string{known, "nobody@adom.example"} {
		p := s.reader(t).post("/signin", url.Values{"email": {email}, "password": {"something else, long"}})
		if p.status != http.StatusUnauthorized || !strings.Contains(p.body, `value="`+email+`"`) {
			t.Errorf("%s: %d", email, p.status)
		}
		bodies = append(bodies, strings.ReplaceAll(p.body, email, "EMAIL"))
	}
	if bodies[0] != bodies[1] {
		t.Error("the page tells an unknown person from a wrong password")
	}
}

func TestAForeignSiteSendsNoForm(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	r := s.signedIn(t, s.house, domain.RoleOwner)
	for name, value := range map[string]string{"Sec-Fetch-Site": "cross-site", "Origin": "https://evil.example"} {
		req, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url+"/apps", strings.NewReader("name=Injected"))
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		req.Header.Set(name, value)
		if p := r.do(req); p.status != http.StatusForbidden {
			t.Errorf("%s: %s: %d", name, value, p.status)
		}
	}
	if apps := must[[]domain.Application](t)(s.tenants.Applications(t.Context(), s.house.business.ID)); len(apps) != 1 {
		t.Errorf("%d applications", len(apps))
	}
}

func TestADatabaseThatIsGoneIsOneHonestPage(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	r := s.signedIn(t, s.house, domain.RoleOwner)
	s.storage.breakDown(true)
	for _, p := range []page{r.get("/"), r.get(s.house.keysPath(domain.Live)), r.post("/apps", url.Values{"name": {"New"}})} {
		if p.status != http.StatusServiceUnavailable || p.header.Get("Retry-After") == "" ||
			!strings.Contains(p.body, "This page is not available right now") || !strings.Contains(p.body, `role="alert"`) {
			t.Errorf("%d\n%s", p.status, p.body)
		}
	}
	s.storage.breakDown(false)
	if p := r.get("/"); p.status != http.StatusOK {
		t.Errorf("afterwards: %d", p.status)
	}
}

// Who hangs up needs no account, and must not fill the log with failures that are none.
func TestABrowserThatHasLeftIsNoFailureOfOurs(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	left, leave := context.WithCancel(t.Context())
	leave()
	form := url.Values{"email": {"nobody@adom.example"}, "password": {password}}
	req := httptest.NewRequestWithContext(left, http.MethodPost, s.url+"/signin", strings.NewReader(form.Encode()))
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	w := httptest.NewRecorder()
	s.processes[0].portal.Handler().ServeHTTP(w, req)
	if w.Code != http.StatusServiceUnavailable || w.Body.Len() > 0 || s.log.String() != "" {
		t.Errorf("%d %q, and the log has %s", w.Code, w.Body, s.log.String())
	}
}

func TestAFormThatHasNoPlaceToArriveIsAskedForAgain(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	for _, kind := range []string{"application/x-www-form-urlencoded", "multipart/form-data; boundary=x"} {
		req := httptest.NewRequestWithContext(t.Context(), http.MethodPost, s.url+"/signin", iotest.ErrReader(server.ErrBodiesArriving))
		req.Header.Set("Content-Type", kind)
		w := httptest.NewRecorder()
		s.processes[0].portal.Handler().ServeHTTP(w, req)
		if w.Code != http.StatusServiceUnavailable || w.Header().Get("Retry-After") != "1" || !strings.Contains(w.Body.String(), "Send it again") {
			t.Errorf("%s: %d %v\n%s", kind, w.Code, w.Header(), w.Body)
		}
	}
}

func TestEveryAnswerIsGuarded(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	r := s.signedIn(t, s.house, domain.RoleOwner)
	for _, path := range []string{"/", "/signin", "/nowhere", "/account", "/enter/x"} {
		h := r.get(path).header
		if !strings.HasPrefix(h.Get("Content-Security-Policy"), "default-src 'none'") || h.Get("X-Content-Type-Options") != "nosniff" ||
			h.Get("Cache-Control") != "no-store" || h.Get("X-Request-ID") == "" {
			t.Errorf("%s: %v", path, h)
		}
	}
	req, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url+"/enter/"+s.link(t, s.house, domain.RoleViewer).Secret,
		http.NoBody)
	res, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	if c := res.Header.Get("Set-Cookie"); !strings.Contains(c, "HttpOnly") || !strings.Contains(c, "SameSite=Lax") ||
		!strings.Contains(c, "Path=/;") || strings.Contains(c, "Domain") {
		t.Errorf("Set-Cookie: %s", c)
	}
}

func TestPeopleAreInvitedAndGetTheirRoles(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	owner := s.signedIn(t, s.house, domain.RoleOwner)
	action, form := owner.get("/people/new").form(t, "Invite")
	form.Set("email", "efua@adom.example")
	form.Set("name", "Efua")
	form.Set("role", "developer")
	invited := owner.post(action, form)
	link, ok := strings.CutPrefix(invited.secret(), s.url)
	if invited.status != http.StatusOK || !ok {
		t.Fatalf("%d %q", invited.status, invited.secret())
	}
	efua := s.reader(t)
	action, form = efua.get(link).form(t, "Sign in")
	if p := efua.post(action, form); p.at != "/" || !strings.Contains(p.body, "You have no password yet") ||
		!strings.Contains(p.body, `href="/account"`) {
		t.Errorf("%d at %s", p.status, p.at)
	}
	action, form = efua.get("/account").form(t, "Save password")
	form.Set("password", "short")
	if p := efua.post(action, form); p.status != http.StatusUnprocessableEntity || !strings.Contains(p.body, `id="password-error"`) ||
		strings.Contains(p.body, `value="short"`) {
		t.Errorf("a short password: %d", p.status)
	}
	form.Set("password", password)
	if p := efua.post(action, form); !strings.Contains(p.body, "The password was saved") ||
		strings.Contains(efua.get("/").body, "You have no password yet") {
		t.Errorf("%d", p.status)
	}
	// The last owner stays.
	self := "/people/" + string(s.house.people[domain.RoleOwner].ID)
	for path, form := range map[string]url.Values{self + "/role": {"role": {"viewer"}}, self + "/remove": nil} {
		if p := owner.post(path, form); p.status != http.StatusConflict || !strings.Contains(p.body, "This is the last owner") {
			t.Errorf("%s: %d", path, p.status)
		}
	}
	if p := owner.post("/people/"+string(s.house.people[domain.RoleViewer].ID)+"/role", url.Values{"role": {"developer"}}); !strings.Contains(
		p.body, "The role was changed") {
		t.Errorf("%d", p.status)
	}
	audit := owner.get("/audit").body
	for _, want := range []string{"Role changed", "Person invited", "Password set", "Invitation accepted"} {
		if !strings.Contains(audit, want) {
			t.Errorf("the audit log lacks %q", want)
		}
	}
}

func TestWhoReadsTooManyPagesIsToldToWait(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	r := s.signedIn(t, s.house, domain.RoleViewer)
	s.guard.pages.Store(true)
	for _, path := range []string{"/", "/deliveries", "/usage.csv", "/sandbox/inbox?application=" + string(s.house.app.ID)} {
		p := r.get(path)
		if p.status != http.StatusTooManyRequests || p.header.Get("Retry-After") != "60" || !strings.Contains(p.body, "Too many pages at once") {
			t.Errorf("%s: %d, again after %q", path, p.status, p.header.Get("Retry-After"))
		}
	}
	if p := r.post("/webhooks/verify", nil); p.status != http.StatusTooManyRequests {
		t.Errorf("a form: %d", p.status)
	}
	if p := r.post("/signout", nil); p.status != http.StatusOK {
		t.Errorf("signing out: %d", p.status)
	}
}

func TestAFormWhoseSenderSignedOutBeforeItsEndChangesNothing(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	owner := s.signedIn(t, s.house, domain.RoleOwner)
	form := url.Values{"email": {"late@adom.example"}, "name": {"Late"}, "role": {"owner"}}.Encode()
	body := &stage.LateBody{Reader: strings.NewReader(form), Before: func() { owner.post("/signout", nil) }}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, owner.url+"/people", body)
	if err != nil {
		t.Fatal(err)
	}
	req.ContentLength = int64(len(form))
	req.Header.Set("Expect", "100-continue")
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if p := owner.do(req); p.status != http.StatusUnauthorized || strings.Contains(p.body, "is invited") {
		t.Errorf("%d\n%s", p.status, p.body)
	}
	if p := s.signedIn(t, s.house, domain.RoleOwner).get("/people"); strings.Contains(p.body, "late@adom.example") {
		t.Error("the form was carried out")
	}
}
