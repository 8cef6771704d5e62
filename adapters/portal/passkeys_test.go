package portal_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"waybill/domain"
	"waybill/test/browser"
	"waybill/test/stage"
)

// asked is what a script of the page gets.
func (r *reader) asked(t *testing.T, path string) (ceremony string, options json.RawMessage) {
	t.Helper()
	p := r.post(path, nil)
	var got struct {
		Ceremony string
		Options  json.RawMessage
	}
	if err := json.Unmarshal([]byte(p.body), &got); err != nil || p.status != http.StatusOK {
		t.Fatalf("%s: %d, %v\n%s", path, p.status, err, p.body)
	}
	return got.Ceremony, got.Options
}

// addPasskey makes a passkey of the person who is signed in.
func (s *scene) addPasskey(t *testing.T, r *reader, d *stage.Device) {
	t.Helper()
	ceremony, options := r.asked(t, "/account/passkeys/ask")
	p := r.post("/account/passkeys", url.Values{"ceremony": {ceremony}, "passkey": {string(d.Make(t, options))}, "name": {"Blue key"}})
	if !strings.Contains(p.body, "The passkey was added") || !strings.Contains(p.body, "Blue key") {
		t.Fatalf("%d\n%s", p.status, p.body)
	}
}

func (s *scene) device() *stage.Device { return &stage.Device{Origin: s.url, Count: 1} }

func TestAPasskeyIsUsedOnceWhateverProcessAnswers(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	d := s.device()
	owner := s.signedIn(t, s.house, domain.RoleDeveloper)
	s.addPasskey(t, owner, d)
	anonymous := s.reader(t)
	ceremony, options := anonymous.asked(t, "/signin/passkey")
	answer := url.Values{"ceremony": {ceremony}, "passkey": {string(d.Use(t, options))}, "next": {"/apps"}}
	if p := anonymous.post("/signin", answer); p.status != http.StatusOK || p.at != "/apps" {
		t.Fatalf("%d at %s\n%s", p.status, p.at, p.body)
	}
	again := s.reader(t)
	for at, why := range map[string]string{s.url: "was sent twice", s.second: "does not let you in"} { // its address is another one
		again.url = at
		if p := again.post("/signin", answer); p.status != http.StatusUnauthorized || !strings.Contains(p.body, why) {
			t.Errorf("a second time, at %s: %d\n%s", at, p.status, p.body)
		}
	}
	d.Count, again.url = 1, s.url
	ceremony, options = again.asked(t, "/signin/passkey")
	p := again.post("/signin", url.Values{"ceremony": {ceremony}, "passkey": {string(d.Use(t, options))}})
	if p.status != http.StatusUnauthorized || !strings.Contains(p.body, "This passkey does not let you in") {
		t.Errorf("with a lower count: %d", p.status)
	}
	if log := s.log.String(); !strings.Contains(log, "the count of uses has not grown") {
		t.Errorf("the log does not say why: %s", log)
	}
}

func TestAFormSurvivesAPasskeyInPlace(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	d := s.device()
	r := s.signedIn(t, s.house, domain.RoleOwner)
	s.addPasskey(t, r, d)
	s.wait(11 * time.Minute)
	list := s.house.keysPath(domain.Live)
	action, form := r.get(list+"/new").form(t, "Create")
	form["scopes"] = []string{"quotes:read"}
	stale := r.post(action, form)
	if stale.status != http.StatusForbidden || !strings.Contains(stale.body, `data-passkey="/account/confirm/passkey"`) ||
		!strings.Contains(stale.body, `value="quotes:read"`) {
		t.Fatalf("%d\n%s", stale.status, stale.body)
	}
	ceremony, _ := r.asked(t, "/account/confirm/passkey")
	form.Set("confirm", "1")
	form.Set("ceremony", ceremony)
	form.Set("passkey", "{}")
	if p := r.post(action, form); p.status != http.StatusUnauthorized || !strings.Contains(p.body, "This passkey does not let you in") ||
		p.secret() != "" {
		t.Errorf("with an answer that proves nothing: %d", p.status)
	}
	ceremony, options := r.asked(t, "/account/confirm/passkey")
	form.Set("ceremony", ceremony)
	form.Set("passkey", string(d.Use(t, options)))
	made := r.post(action, form)
	if made.status != http.StatusOK || made.secret() == "" {
		t.Fatalf("%d\n%s", made.status, made.body)
	}
	if k := must[domain.APIKey](t)(s.tenants.Key(t.Context(), s.made(t, domain.RoleOwner, form))); len(k.Scopes) != 1 {
		t.Errorf("the form did not survive: %v", k.Scopes)
	}
}

func TestPasskeysAreRenamedRemovedAndAudited(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	r := s.signedIn(t, s.house, domain.RoleOwner)
	s.addPasskey(t, r, s.device())
	known := must[[]domain.Passkey](t)(s.Store.Read().Passkeys.OfPerson(t.Context(), s.house.people[domain.RoleOwner].ID))
	at := "/account/passkeys/" + string(known[len(known)-1].ID)
	action, form := r.get(at).form(t, "Save")
	form.Set("name", "a\u202eb")
	if p := r.post(action, form); p.status != http.StatusUnprocessableEntity || !strings.Contains(p.body, `id="name-error"`) {
		t.Errorf("a name that is none: %d", p.status)
	}
	form.Set("name", "Green key")
	if p := r.post(action, form); !strings.Contains(p.body, "The passkey was renamed") || !strings.Contains(p.body, "Green key") {
		t.Errorf("%d\n%s", p.status, p.body)
	}
	s.wait(11 * time.Minute)
	action, form = r.get(at+"/remove").form(t, "Remove")
	if p := r.post(action, form); p.status != http.StatusForbidden || !strings.Contains(p.body, "Sign in again to continue") {
		t.Errorf("with an old sign-in: %d", p.status)
	}
	p := r.post(action, url.Values{"confirm": {"1"}, "password": {password}})
	if !strings.Contains(p.body, "The passkey was removed") || strings.Contains(p.body, "Green key") {
		t.Errorf("%d\n%s", p.status, p.body)
	}
	log := r.get("/audit").body
	for _, want := range []string{"Passkey added", "Passkey renamed", "Passkey removed", "before Blue key"} {
		if !strings.Contains(log, want) {
			t.Errorf("the audit log lacks %q", want)
		}
	}
}

func TestAPortalAtANumberSaysThatBrowsersHaveNoPasskeysThere(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.url = s.serveAt(t, "127.0.0.1")
	if p := s.reader(t).get("/signin"); !strings.Contains(p.body, "at an address that is a number, such as 127.0.0.1") ||
		strings.Contains(p.body, "data-passkey") {
		t.Errorf("%s", p.body)
	}
	r := s.signedIn(t, s.house, domain.RoleOwner)
	if p := r.get("/account"); p.status != http.StatusOK || !strings.Contains(p.body, "at an address that is a number") ||
		!strings.Contains(p.body, "for localhost only") {
		t.Errorf("%d\n%s", p.status, p.body)
	}
	for _, path := range []string{"/signin/passkey", "/account/passkeys/ask"} {
		if p := r.post(path, nil); p.status != http.StatusConflict || !strings.Contains(p.body, "at an address that is a number") {
			t.Errorf("%s: %d", path, p.status)
		}
	}
}

// passkeysInABrowser adds a passkey with a device, comes in by it, confirms a form with
// it and removes it; a reader without scripts is told of other ways.
func passkeysInABrowser(w *walk) {
	s, t, b := w.scene, w.T, w.browser
	p := w.in(domain.RoleDeveloper).Page
	p.Authenticate(t)
	browser.Go(t, p, s.url+"/account", "Account")
	browser.Fill(t, p, "#passkey-name", "My laptop")
	p.Click(t, `form[data-passkey="/account/passkeys/ask"] button`)
	p.Eventually(t, "the passkey",
		"document.readyState === 'complete' && document.querySelector('[role=status]')?.textContent.includes('The passkey was added')")
	examine(t, p, "account-passkeys")
	p.Click(t, `form[data-passkey="/account/passkeys/ask"] button`)
	p.Eventually(t, "that there is one",
		`document.querySelector('form[data-passkey] [role=alert]').textContent.includes("has a passkey here already")`)
	examine(t, p, "account-passkey-twice")

	p.Click(t, `form[action="/signout"] button`)
	browser.Settled(t, p, "Sign in")
	p.Click(t, `form[data-passkey="/signin/passkey"] button`)
	browser.Settled(t, p, "Hello, adom developer")
	browser.Go(t, p, s.url+"/pickup-locations/sandbox/import", "Import pickup locations")
	browser.Fill(t, p, "#csv", "name,address")
	s.wait(domain.SessionIdle)
	p.Click(t, "form.card button")
	browser.Settled(t, p, "Sign in")
	p.Click(t, `form[data-passkey="/signin/passkey"] button`)
	browser.Settled(t, p, "Import pickup locations")
	if kept := browser.Eval[string](t, p, "document.querySelector('#csv').value"); kept != "name,address" {
		t.Errorf("a form that was sent without a session comes back with %q", kept)
	}

	s.wait(11 * time.Minute)
	browser.Go(t, p, s.url+"/account", "Account")
	p.Click(t, `a[href="/account/confirm"].button`)
	browser.Settled(t, p, "Sign in again to continue")
	examine(t, p, "again-passkey")
	p.Click(t, `form[data-passkey="/account/confirm/passkey"] button`)
	browser.Settled(t, p, "Account")
	p.Eventually(t, "a passkey may be added", `document.querySelector('form[data-passkey="/account/passkeys/ask"]') !== null`)
	p.Click(t, `a[aria-label="Rename or remove My laptop"]`)
	browser.Settled(t, p, "Passkey My laptop")
	examine(t, p, "passkey")
	p.Click(t, "button.danger")
	p.Eventually(t, "it is gone", "document.readyState === 'complete' && document.querySelector('h1').textContent === 'Account' && "+
		"!document.querySelector('main').textContent.includes('My laptop')")

	p.Click(t, `form[action="/signout"] button`)
	browser.Settled(t, p, "Sign in")
	p.Click(t, `form[data-passkey="/signin/passkey"] button`)
	browser.Settled(t, p, "Sign in")
	p.Eventually(t, "that it does not let in",
		`document.querySelector('[role=alert]').textContent.includes("This passkey does not let you in")`)
	examine(t, p, "signin-passkey-refused")

	without := b.Open(t, s.url+"/signin", browser.Phone, browser.Reader{NoScripts: true})
	browser.Settled(t, without, "Sign in")
	text := browser.Eval[string](t, without, "document.querySelector('main').innerText")
	if !strings.Contains(text, "Passkeys need JavaScript") || !strings.Contains(text, "Use your password or a link") ||
		strings.Contains(text, "Sign in with a passkey") {
		t.Errorf("without scripts the page says %q", text)
	}
	elsewhere := b.Open(t, strings.Replace(s.url, "localhost", "127.0.0.1", 1)+"/signin", browser.Desk, browser.Reader{})
	browser.Settled(t, elsewhere, "Sign in")
	elsewhere.Eventually(t, "where passkeys work", `document.querySelector('[role=alert]').textContent.includes("Passkeys work at `+s.url+`")`)
}
