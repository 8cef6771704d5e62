package portal_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"

	"waybill/application/people"
	"waybill/domain"
	"waybill/test/browser"
)

// walk is one journey through the portal: a scene, and a browser to open tabs in.
type walk struct {
	*testing.T
	*scene
	browser *browser.Browser
	reader  browser.Reader
}

type journey struct {
	name  string
	plain bool // it is walked without scripts too, which change something in it
	walk  func(*walk)
}

// journeys are what people come for.
var journeys = []journey{
	{"a link, a first key, and the key is shown once", true, firstKey},
	{"a key is rotated and the old one revoked", false, rotateAndRevoke},
	{"a developer who is invited signs in and makes a key", true, inviteADeveloper},
	{"a viewer sees and cannot", false, viewerCannot},
	{"a password is set and lets in", false, setAPassword},
	{"a session lost in a form comes back to it", true, lostSession},
	{"an old sign-in is asked for again in place", true, askedAgain},
	{"the history shows a key no second time", true, historyHasNoKey},
	{"a form sent twice makes one key", true, sentTwice},
	{"everything by the keyboard alone", false, byKeyboard},
	{"an application is created, disabled and enabled", false, switchAnApplication},
	{"a person of two businesses goes from one to the other", false, twoBusinesses},
	{"a secret that was not copied is asked about", false, uncopied},
}

func walkAll(t *testing.T, b *browser.Browser, r browser.Reader) {
	for _, j := range journeys {
		if r.NoScripts && !j.plain {
			continue
		}
		t.Run(j.name, func(t *testing.T) {
			j.walk(&walk{T: t, scene: newScene(t), browser: b, reader: r})
		})
	}
}

// tab is a browser of one person: what it shows is watched to the end.
type tab struct {
	*walk
	*browser.Page
	left int // how often it went through the history
}

func (w *walk) open(path string) *tab {
	w.Helper()
	p := w.browser.Open(w.T, w.url+path, browser.Desk, w.reader)
	w.Cleanup(func() { w.wantQuiet(w.T, p) })
	return &tab{walk: w, Page: p}
}

// in signs in by a link.
func (w *walk) in(role domain.Role) *tab {
	w.Helper()
	p := w.open("/enter/" + w.link(w.T, w.house, role).Secret)
	p.click("main button", "Hello, adom "+string(role))
	return p
}

func (p *tab) to(path, heading string) {
	p.Helper()
	to(p.T, p.Page, p.url+path, heading)
}

// click clicks and waits for the page behind it.
func (p *tab) click(selector, heading string) {
	p.Helper()
	browser.Follow(p.T, p.Page, selector, heading)
}

func (p *tab) fill(selector, text string) {
	p.Helper()
	fill(p.T, p.Page, selector, text)
}

func (p *tab) shows(text string) bool {
	p.Helper()
	return browser.Eval[bool](p.T, p.Page, "document.body.textContent.includes("+browser.Quoted(text)+")")
}

func (p *tab) want(text string) {
	p.Helper()
	p.Eventually(p.T, "the page shows "+text, "document.readyState === 'complete' && document.body.textContent.includes("+browser.Quoted(text)+
		")")
}

func (p *tab) has(selector string) bool {
	p.Helper()
	return browser.Eval[bool](p.T, p.Page, "document.querySelector("+browser.Quoted(selector)+") !== null")
}

// secret is what the page shows once.
func (p *tab) secret() string {
	p.Helper()
	return browser.Eval[string](p.T, p.Page, "document.querySelector('output[data-secret]').textContent")
}

// copied tells the page that its secret was copied, so that it lets one go.
func copied(t *testing.T, p *browser.Page) {
	t.Helper()
	browser.Eval[bool](t, p, "document.querySelector('#once').dispatchEvent(new Event('copy'))")
}

func (p *tab) copied() { copied(p.T, p.Page) }

const createKey = `section[aria-labelledby="create"] button`

// makeKey makes a key and tells it; the browser stays on its page.
func (p *tab) makeKey(e domain.Environment) string {
	p.Helper()
	p.to(p.house.keysPath(e), "API keys")
	browser.Eval[bool](p.T, p.Page, "document.querySelectorAll('input[name=scopes]').forEach(box => { box.checked = true; }) === undefined")
	p.click(createKey, "Your new "+string(e)+" key")
	return p.secret()
}

func firstKey(w *walk) {
	p := w.in(domain.RoleOwner)
	p.click(`article a[href$="/live/keys"]`, "API keys")
	browser.Eval[bool](w.T, p.Page, "document.querySelectorAll('input[name=scopes]').forEach((box, i) => { box.checked = i < 2; }) === "+
		"undefined")
	p.click(createKey, "Your new live key")
	key := p.secret()
	if e, sound := domain.ParseAPIKey(key); !sound || e != domain.Live {
		w.Fatalf("the page shows %q", key)
	}
	if copies := browser.Eval[bool](w.T, p.Page, "!document.querySelector('[data-copy=once]').hidden"); copies == w.reader.NoScripts {
		w.Errorf("the button that copies is shown: %v", copies)
	}
	p.copied()
	p.to(w.house.keysPath(domain.Live), "API keys")
	if p.shows(key) || !p.shows("…"+key[len(key)-4:]) {
		w.Error("the list has the key, or not its end")
	}
	local := browser.Eval[string](w.T, p.Page, "document.querySelector('td[data-label=\"Made by\"] time').textContent")
	if strings.Contains(local, "17:30") == w.reader.NoScripts { // noon, in Kolkata
		w.Errorf("the time is %q", local)
	}
}

func rotateAndRevoke(w *walk) {
	p := w.in(domain.RoleOwner)
	old := w.house.key[domain.Live]
	p.to(w.house.keysPath(domain.Live), "API keys")
	row := fmt.Sprintf("tr[data-id=%q] ", old.ID)
	p.click(row+"form button", "Your new live key")
	if p.secret() == old.Secret || !p.shows("which works on until you revoke it") {
		w.Error("the key was not rotated")
	}
	p.copied()
	p.click("main a[href$='/revoke']", "Revoke the live key ending "+old.LastFour)
	p.click("button.danger", "API keys")
	p.want("The key was revoked")
	if browser.Eval[bool](w.T, p.Page, "document.querySelector('div.card > table "+row+"') !== null") {
		w.Error("the key is still among those that work")
	}
}

func inviteADeveloper(w *walk) {
	owner := w.in(domain.RoleOwner)
	owner.to("/people", "People")
	owner.fill("#name", "Efua Owusu")
	owner.fill("#email", "efua@adom.example")
	owner.Page.Click(w.T, `form[action="/people"] button`)
	owner.want("Efua Owusu is invited")
	link, ours := strings.CutPrefix(owner.secret(), w.url)
	if !ours {
		w.Fatalf("the link is %q", link)
	}
	owner.copied()
	efua := w.open(link)
	efua.click("main button", "Hello, Efua Owusu")
	efua.to(w.house.keysPath(domain.Live), "API keys")
	if efua.has(createKey) {
		w.Error("a developer may create live keys")
	}
	efua.makeKey(domain.Sandbox)
	efua.copied()
	owner.to(w.house.keysPath(domain.Sandbox), "API keys")
	if !owner.shows("Efua Owusu") {
		w.Error("the list does not tell who made the key")
	}
}

func viewerCannot(w *walk) {
	p := w.in(domain.RoleViewer)
	for path, heading := range map[string]string{"/apps": "Applications", w.house.keysPath(domain.Live): "API keys",
		w.house.keysPath(domain.Sandbox): "API keys", "/people": "People"} {
		p.to(path, heading)
		if p.has("main form") {
			w.Errorf("a viewer has a form at %s", path)
		}
	}
	p.to("/audit", "Your role does not include this")
	p.want("Ask an owner of your business")
	if p.has(`a[href="/audit"]`) {
		w.Error("the menu leads a viewer to the audit log")
	}
}

func setAPassword(w *walk) {
	issued := must[people.Issued](w.T)(w.directory.Invite(w.Context(), operator, people.Invitation{BusinessID: w.house.business.ID,
		Email: "efua@adom.example", Name: "Efua", Role: "viewer"}))
	p := w.open("/enter/" + issued.Secret)
	p.click("main button", "Hello, Efua")
	p.want("You have no password yet")
	p.click(`main a[href="/account"]`, "Account")
	p.fill("#password", "too short")
	browser.Eval[bool](w.T, p.Page, "document.querySelector('#password').form.noValidate = true")
	p.Page.Click(w.T, "#password ~ p button, form[action='/account/password'] button")
	p.Eventually(w.T, "the error", "document.querySelector('#password-error') !== null && document.readyState === 'complete'")
	if browser.Eval[string](w.T, p.Page, "document.querySelector('#password').value") != "" {
		w.Error("a password that was typed comes back")
	}
	p.fill("#password", password)
	p.Page.Click(w.T, "form[action='/account/password'] button")
	p.want("The password was saved")
	p.click(`form[action="/signout"] button`, "Sign in")
	p.signsIn("efua@adom.example", "Hello, Efua")
}

// signsIn fills in the page for that.
func (p *tab) signsIn(email, heading string) {
	p.Helper()
	p.fill("#email", email)
	p.fill("#password", password)
	p.click("main form button", heading)
}

func lostSession(w *walk) {
	p := w.in(domain.RoleOwner)
	p.to("/people", "People")
	p.fill("#name", `Efua "E" <Owusu>`)
	p.fill("#email", "efua@adom.example")
	browser.Eval[bool](w.T, p.Page, "(document.querySelector('#role').value = 'viewer') !== ''")
	w.wait(domain.SessionIdle)
	p.Page.Click(w.T, `form[action="/people"] button`)
	p.want("You are not signed in any more")
	p.fill("#email", string(w.house.people[domain.RoleOwner].Email))
	p.fill("#password", "a wrong one, twelve")
	p.Page.Click(w.T, "main form button")
	p.want("do not match")
	p.signsIn(string(w.house.people[domain.RoleOwner].Email), "People")
	p.want("What you typed is still here")
	if typed := browser.Eval[string](w.T, p.Page,
		"[...['name', 'email', 'role']].map(id => "+
			"document.getElementById(id).value).join()"); typed != `Efua "E" <Owusu>,efua@adom.example,viewer` {
		w.Errorf("the form has %s", typed)
	}
	p.Page.Click(w.T, `form[action="/people"] button`)
	p.want("is invited")
	p.copied()
}

func askedAgain(w *walk) {
	p := w.in(domain.RoleOwner)
	p.to(w.house.keysPath(domain.Live), "API keys")
	w.wait(domain.FreshFor)
	browser.Eval[bool](w.T, p.Page, "document.querySelectorAll('input[name=scopes]').forEach((box, i) => { box.checked = i === 1; }) === "+
		"undefined")
	p.click(createKey, "Sign in again to go on")
	p.fill("#password", "a wrong one, twelve")
	p.Page.Click(w.T, "main form button")
	p.Eventually(w.T, "the error", "document.querySelector('#password-error') !== null && document.readyState === 'complete'")
	p.fill("#password", password)
	p.click("main form button", "Your new live key")
	if scopes := browser.Eval[string](w.T, p.Page, "document.querySelector('#facts ~ dl dd').textContent"); scopes != string(
		domain.AllScopes()[1]) {
		w.Errorf("the key has the scopes %s", scopes)
	}
	p.copied()
}

// goBack goes through the history and waits for the page there, whichever it is: the
// browser may have kept it as it was.
func (p *tab) goBack(n int) {
	p.Helper()
	p.left++
	browser.Eval[bool](p.T, p.Page, fmt.Sprintf("(window.leftBy = %d) > 0", p.left))
	p.Step(p.T, n)
	p.Eventually(p.T, "another page of the history", fmt.Sprintf("window.leftBy !== %d && document.readyState === 'complete'", p.left))
}

func historyHasNoKey(w *walk) {
	p := w.in(domain.RoleOwner)
	key := p.makeKey(domain.Live)
	before := w.state(w.T, w.house)
	p.copied()
	p.to("/people", "People")
	for _, step := range []int{1, -1, 2, -1, -1} {
		p.goBack(step)
		if p.shows(key) || strings.Contains(browser.Eval[string](w.T, p.Page, "document.documentElement.outerHTML"), key) {
			w.Errorf("%d back in the history, %s shows the key again", step, browser.Eval[string](w.T, p.Page, "location.href"))
		}
	}
	if kept := browser.Eval[string](w.T, p.Page, "location.href + JSON.stringify(localStorage) + JSON.stringify(sessionStorage) + "+
		"document.cookie + document.referrer"); strings.Contains(kept, key) || strings.Contains(kept, "waybill_portal") {
		w.Errorf("the browser keeps %s", kept)
	}
	p.to("/people", "People")
	p.click(`form[action="/signout"] button`, "Sign in")
	p.goBack(1)
	if p.shows(string(w.house.people[domain.RoleViewer].Email)) {
		w.Error("the history shows a page of somebody who has signed out")
	}
	if after := w.state(w.T, w.house); withoutSessions(after) != withoutSessions(before) {
		w.Errorf("going back and forth made\n%s\nof\n%s", after, before)
	}
}

func sentTwice(w *walk) {
	p := w.in(domain.RoleOwner)
	p.to(w.house.keysPath(domain.Sandbox), "API keys")
	made := func() int {
		return len(must[[]domain.APIKey](w.T)(w.tenants.KeysOf(w.Context(), w.house.business.ID, w.house.app.ID, domain.Sandbox)))
	}
	before := made()
	// Two clicks before the first answer, and then a reload, which sends the form again.
	browser.Eval[bool](w.T, p.Page, "(b => { b.click(); b.click(); return true; })(document.querySelector("+browser.Quoted(createKey)+"))")
	p.Eventually(w.T, "an answer", "document.readyState === 'complete' && (document.querySelector('h1')?.textContent.includes('Your new') "+
		"|| document.body.textContent.includes('No second key was made'))")
	if n := made() - before; n != 1 {
		w.Errorf("two clicks made %d keys", n)
	}
	if p.has("#once") {
		p.copied()
	}
	browser.Eval[bool](w.T, p.Page, "location.reload() === undefined")
	p.want("No second key was made")
	if n := made() - before; n != 1 {
		w.Errorf("with a reload there are %d keys", n)
	}
}

// focused is the text of what has the focus, or its name.
func (p *tab) focused() string {
	p.Helper()
	return browser.Eval[string](p.T, p.Page,
		"(e => e.getAttribute('aria-label') || e.name || e.textContent.trim() || e.tagName)(document.activeElement)")
}

// tabTo presses Tab until something has the focus, and sees it each time.
func (p *tab) tabTo(name string) {
	p.Helper()
	const most = 60
	var seen []string
	for range most {
		p.Press(p.T, kb.Tab)
		if now := p.focused(); now == name {
			if invisible := browser.Eval[bool](p.T, p.Page,
				"(s => s.outlineStyle === 'none' || s.outlineWidth === '0px')(getComputedStyle(document.activeElement))"); invisible {
				p.Errorf("the focus on %s cannot be seen", name)
			}
			return
		} else {
			seen = append(seen, now)
		}
	}
	p.Fatalf("Tab does not lead to %q, only to %q", name, seen)
}

func byKeyboard(w *walk) {
	p := w.open("/signin")
	p.tabTo("email")
	p.Press(w.T, string(w.house.people[domain.RoleOwner].Email))
	p.tabTo("password")
	p.Press(w.T, password+kb.Enter)
	settled(w.T, p.Page, "Hello, adom owner")
	p.Press(w.T, kb.Tab)
	if p.focused() != "Skip to the content" {
		w.Errorf("the first stop is %s", p.focused())
	}
	p.Press(w.T, kb.Enter)
	p.Eventually(w.T, "the content has the focus", "document.activeElement.id === 'content'")
	p.tabTo("Sandbox: 1 key")
	p.Press(w.T, kb.Enter)
	settled(w.T, p.Page, "API keys")
	p.tabTo("scopes")
	p.Press(w.T, " ")
	p.tabTo("Create key")
	p.Press(w.T, kb.Enter)
	settled(w.T, p.Page, "Your new sandbox key")
	if !p.shows("recipients:read") || p.shows("quotes:read") {
		w.Error("the space key does not choose scopes")
	}
	p.copied()
	p.tabTo("All keys")
	p.Press(w.T, kb.Enter)
	settled(w.T, p.Page, "API keys")
	p.tabTo("Revoke the key ending " + w.house.key[domain.Sandbox].LastFour)
	p.Press(w.T, kb.Enter)
	settled(w.T, p.Page, "Revoke the sandbox key")
	p.tabTo("Revoke key")
	p.Press(w.T, kb.Enter)
	settled(w.T, p.Page, "API keys")
	p.want("The key was revoked")
	p.tabTo("Sign out")
	p.Press(w.T, kb.Enter)
	settled(w.T, p.Page, "Sign in")
}

func switchAnApplication(w *walk) {
	p := w.in(domain.RoleOwner)
	p.to("/apps", "Applications")
	p.fill("#name", "Zweite <b>Kasse</b>")
	p.click(`form[action="/apps"] button`, "Zweite <b>Kasse</b>")
	p.want("Next it needs a key")
	p.click(`main a[href$="/disable"]`, "Disable Zweite <b>Kasse</b>?")
	p.click("button.danger", "Zweite <b>Kasse</b>")
	p.want("None of its keys works any more")
	p.Page.Click(w.T, `form[action$="/enable"] button`)
	p.want("Its keys work again")
}

func twoBusinesses(w *walk) {
	invited := func(role domain.Role) string {
		return "/enter/" + must[people.Issued](w.T)(w.directory.Invite(w.Context(), operator, people.Invitation{BusinessID: w.other.business.ID,
			Email: string(w.house.people[role].Email), Name: "A", Role: "viewer"})).Secret
	}
	p := w.open(invited(domain.RoleDeveloper))
	p.want("You are invited to " + w.other.business.Name + ", as viewer")
	p.fill("#password", "a wrong one, twelve")
	p.click("form:has(#password) button", "Accept the invitation")
	p.want("You are not signed in")
	p.fill("#password", password)
	p.click("form:has(#password) button", "Hello, adom developer")
	p.acceptedThere()
	p.to("/account", "Account")
	p.click(fmt.Sprintf("button[aria-label='Show %s']", w.house.business.Name), "Hello, adom developer")
	if !p.shows(w.house.app.Name) || p.shows(w.other.app.Name) {
		w.Error("the other business is not shown")
	}
	p.makeKey(domain.Sandbox) // as a developer here; there it would be a viewer
	p.copied()

	p = w.in(domain.RoleOwner) // whose own session takes no password
	p.to(invited(domain.RoleOwner), "Accept the invitation")
	p.click(`form[action^="/enter/"] button`, "Hello, adom owner")
	p.acceptedThere()
}

// acceptedThere wants the page of the other business after its invitation was accepted.
func (p *tab) acceptedThere() {
	p.Helper()
	p.want("You accepted the invitation")
	if !p.shows(p.other.app.Name) || p.shows(p.house.app.Name) {
		p.Error("the invitation does not lead to the business that made it")
	}
}

func uncopied(w *walk) {
	p := w.in(domain.RoleOwner)
	key := p.makeKey(domain.Sandbox)
	p.click(`.menu a[href="/apps"]`, "Applications")
	if p.AskedToStay() != 1 {
		w.Errorf("leaving was asked about %d times, with the key uncopied", p.AskedToStay())
	}
	if p.makeKey(domain.Sandbox) == key {
		w.Error("two forms made one key")
	}
	p.copied()
	p.click(`.menu a[href="/apps"]`, "Applications")
	if p.AskedToStay() != 1 {
		w.Error("leaving is asked about with the key copied")
	}
	// A page that is left may be kept as it was, for going back.
	kept := p.makeKey(domain.Sandbox)
	browser.Eval[bool](w.T, p.Page, "window.dispatchEvent(new PageTransitionEvent('pagehide', {persisted: true}))")
	if p.shows(kept) {
		w.Error("the page keeps the key when it is left")
	}
	p.copied()
}
