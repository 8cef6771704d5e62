package portal_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"

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

// tab is a browser of one person: what it shows is watched to the end.
type tab struct {
	*walk
	*browser.Page
	left int // how often it went through the history
}

func (w *walk) open(path string) *tab {
	w.Helper()
	p := w.browser.Open(w.T, w.url+path, browser.Desk, w.reader)
	w.Cleanup(func() { browser.WantQuiet(w.T, p, w.url) })
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
	browser.Go(p.T, p.Page, p.url+path, heading)
}

// click clicks and waits for the page behind it.
func (p *tab) click(selector, heading string) {
	p.Helper()
	browser.Follow(p.T, p.Page, selector, heading)
}

func (p *tab) fill(selector, text string) {
	p.Helper()
	browser.Fill(p.T, p.Page, selector, text)
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

const createKey = `main form[method="post"] button`

// makeKey makes a key and tells it; the browser stays on its page.
func (p *tab) makeKey(e domain.Environment) string {
	p.Helper()
	p.to(p.house.keysPath(e)+"/new", "Create a "+string(e)+" key")
	browser.Eval[bool](p.T, p.Page, "document.querySelectorAll('input[name=scopes]').forEach(box => { box.checked = true; }) === undefined")
	p.click(createKey, "Your new "+string(e)+" key")
	return p.secret()
}

func firstKey(w *walk) {
	p := w.in(domain.RoleOwner)
	p.click(`article a[href$="/live/keys"]`, "API keys")
	p.click(`.listhead a`, "Create a live key")
	browser.Eval[bool](w.T, p.Page, "document.querySelectorAll('input[name=scopes]').forEach((box, i) => { box.checked = i < 2; }) === "+
		"undefined")
	p.click(createKey, "Your new live key")
	key := p.secret()
	if e, sound := domain.ParseAPIKey(key); !sound || e != domain.Live {
		w.Fatalf("the page shows %q", key)
	}
	if hidden := browser.Eval[bool](w.T, p.Page, "document.querySelector('[data-copy=once]').hidden"); hidden {
		w.Error("the button that copies is hidden")
	}
	p.copied()
	p.to(w.house.keysPath(domain.Live), "API keys")
	if p.shows(key) || !p.shows("…"+key[len(key)-4:]) {
		w.Error("the list has the key, or not its end")
	}
	local := browser.Eval[string](w.T, p.Page, "document.querySelector('td[data-label=\"Created by\"] time').textContent")
	if !strings.Contains(local, "17:30") { // noon, in Kolkata
		w.Errorf("the time is %q", local)
	}
}

// signsIn fills in the page for that.
func (p *tab) signsIn(email, heading string) {
	p.Helper()
	p.fill("#email", email)
	p.fill("#password", password)
	p.click("main form button", heading)
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
	browser.Settled(w.T, p.Page, "Hello, adom owner")
	p.Press(w.T, kb.Tab)
	if p.focused() != "Skip to content" {
		w.Errorf("the first stop is %s", p.focused())
	}
	p.Press(w.T, kb.Enter)
	p.Eventually(w.T, "the content has the focus", "document.activeElement.id === 'content'")
	p.tabTo("Sandbox: 1 key")
	p.Press(w.T, kb.Enter)
	browser.Settled(w.T, p.Page, "API keys")
	p.tabTo("Create sandbox key")
	p.Press(w.T, kb.Enter)
	browser.Settled(w.T, p.Page, "Create a sandbox key")
	p.tabTo("scopes")
	p.Press(w.T, " ")
	p.tabTo("Create key")
	p.Press(w.T, kb.Enter)
	browser.Settled(w.T, p.Page, "Your new sandbox key")
	if !p.shows("deliveries:read") || p.shows("quotes:read") {
		w.Error("the space key does not choose scopes")
	}
	p.copied()
	p.tabTo("All keys")
	p.Press(w.T, kb.Enter)
	browser.Settled(w.T, p.Page, "API keys")
	p.tabTo("Revoke the key ending " + w.house.key[domain.Sandbox].LastFour)
	p.Press(w.T, kb.Enter)
	browser.Settled(w.T, p.Page, "Revoke the sandbox key")
	p.tabTo("Revoke key")
	p.Press(w.T, kb.Enter)
	browser.Settled(w.T, p.Page, "API keys")
	p.want("The key was revoked")
	p.tabTo("Sign out")
	p.Press(w.T, kb.Enter)
	browser.Settled(w.T, p.Page, "Sign in")
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

func slashSearches(w *walk) {
	d := must[*domain.Delivery](w.T)(w.Store.Read().Deliveries.Get(w.Context(), w.house.tenant(domain.Sandbox), w.house.delivery))
	p := w.in(domain.RoleViewer)
	// A keyboard types nothing whose event was taken; the one of this browser would.
	const pressed = "!document.activeElement.dispatchEvent(new KeyboardEvent('keydown', {key: '/', bubbles: true, cancelable: true}))"
	if taken := browser.Eval[bool](w.T, p.Page, pressed); !taken {
		w.Error("the shortcut is not taken")
	}
	if now := browser.Eval[string](w.T, p.Page, "document.activeElement.id"); now != "find" {
		w.Fatalf("the focus is on %q", now)
	}
	p.Press(w.T, string(d.Reference)+kb.Enter)
	browser.Settled(w.T, p.Page, string(d.Reference))
	// A slash that is typed into a field is one.
	p.to("/deliveries", "Deliveries")
	browser.Eval[bool](w.T, p.Page, "(document.querySelector('#q').focus(), true)")
	if browser.Eval[bool](w.T, p.Page, pressed) {
		w.Error("the shortcut is taken from another field")
	}
}
