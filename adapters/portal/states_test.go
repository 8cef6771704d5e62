package portal_test

import (
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"

	"waybill/adapters/portal"
	"waybill/application/people"
	"waybill/domain"
	"waybill/test/browser"
)

// hostile are names that try to break a page: none is refused.
var hostile = []string{
	`"><script>alert(1)</script><img src=//evil.example/x onerror=alert(2)>`, "{{.Secret}} ${7*7} %s", strings.Repeat("😀", 128),
	strings.Repeat("W", 128),
	strings.Repeat("שלום ", 25), "</title></textarea></select><h1>Owned",
}

// everyState looks at what pages turn into: refused, empty, gone, wrong and hostile.
func everyState(t *testing.T, b *browser.Browser) {
	s := newScene(t)
	w := &walk{T: t, scene: s, browser: b}
	show := func(p *tab, name, path, heading string) {
		t.Helper()
		p.to(path, heading)
		examine(t, p.Page, name)
	}
	// A role that does not include what the page is for.
	viewer, live := w.in(domain.RoleViewer), s.house.keysPath(domain.Live)
	liveKey := live + "/" + string(s.house.key[domain.Live].ID)
	show(viewer, "viewer-home", "/", "Hello")
	show(viewer, "viewer-keys", live, "API keys")
	show(viewer, "viewer-rotate", liveKey+"/rotate", "Rotate the live key")
	show(viewer, "viewer-people", "/people", "People")
	show(viewer, "viewer-remove", "/people/"+string(s.house.people[domain.RoleOwner].ID)+"/remove", "Your role does not include this")
	show(viewer, "viewer-refused", "/audit", "")

	// Before anything is there.
	empty := must[domain.Business](t)(s.tenants.CreateBusiness(t.Context(), operator, "Empty", nil))
	first := must[people.Issued](t)(s.directory.Invite(t.Context(), operator,
		people.Invitation{BusinessID: empty.ID, Email: "first@empty.example", Name: "First", Role: "owner"}))
	p := w.open("/enter/" + first.Secret)
	p.click("main button", "Hello, First")
	examine(t, p.Page, "empty-home")
	show(p, "empty-apps", "/apps", "Applications")
	show(p, "no-password", "/account", "Account")
	app := must[domain.Application](t)(s.tenants.CreateApplication(t.Context(), operator, empty.ID, "Shop"))
	show(p, "empty-audit", "/audit?action=key.create", "Audit log")
	show(p, "empty-keys", "/apps/"+string(app.ID)+"/sandbox/keys", "API keys")
	s.wait(domain.FreshFor)
	show(p, "stale-account", "/account", "Account")
	p.to("/people", "People")
	p.fill("#name", "Efua")
	p.fill("#email", "efua@empty.example")
	p.click(`form[action="/people"] button`, "Sign in again to go on")
	examine(t, p.Page, "again-without-password")

	// An invitation to an account: the own sign-in is asked for, or the own session accepts.
	invited := must[people.Issued](t)(s.directory.Invite(t.Context(), operator, people.Invitation{BusinessID: s.other.business.ID,
		Email: string(s.house.people[domain.RoleViewer].Email), Name: hostile[0], Role: "viewer"}))
	show(viewer, "accept-here", "/enter/"+invited.Secret, "Accept the invitation")
	p = w.open("/enter/" + invited.Secret)
	p.fill("#password", "something else, long")
	p.click("form:has(#password) button", "Accept the invitation")
	p.want("You are not signed in")
	examine(t, p.Page, "accept-wrong")

	// An owner, and what becomes of keys, people and forms.
	p = w.in(domain.RoleOwner)
	show(p, "rotate", liveKey+"/rotate", "Rotate the live key")
	must[domain.APIKey](t)(s.tenants.RevokeKey(t.Context(), operator, s.house.key[domain.Live].ID))
	show(p, "revoked", liveKey+"/revoke", "was revoked")
	p.to(live, "API keys")
	browser.Eval[bool](t, p.Page, "(document.querySelector('details').open = true)")
	examine(t, p.Page, "past-keys")
	must[domain.Application](t)(s.tenants.SetDisabled(t.Context(), operator, s.house.app.ID, true))
	show(p, "app-disabled", "/apps/"+string(s.house.app.ID), s.house.app.Name)
	show(p, "keys-disabled", s.house.keysPath(domain.Sandbox), "API keys")
	show(p, "told", "/people?done=role", "People")
	p.Page.Click(t, fmt.Sprintf(`form[action="/people/%s/link"] button`, s.house.people[domain.RoleViewer].ID))
	p.want("A link for adom viewer")
	examine(t, p.Page, "link")
	p.copied()
	p.to("/people/"+string(s.house.people[domain.RoleOwner].ID)+"/remove", "Remove adom owner")
	p.Page.Click(t, "button.danger")
	p.want("This is the last owner")
	examine(t, p.Page, "conflict")
	p.to("/people", "People")
	p.fill("#name", "Efua")
	s.wait(domain.SessionIdle)
	browser.Eval[bool](t, p.Page, "document.querySelector('form[action=\"/people\"]').noValidate = true")
	p.Page.Click(t, `form[action="/people"] button`)
	p.want("You are not signed in any more")
	examine(t, p.Page, "session-lost")
	p.signsIn(string(s.house.people[domain.RoleOwner].Email), "People")
	p.want("What you typed is still here")
	examine(t, p.Page, "resumed")
	p.click(`form[action="/signout"] button`, "Sign in")
	examine(t, p.Page, "signed-out")
	p.fill("#email", "nobody@adom.example")
	p.fill("#password", "something else, long")
	p.Page.Click(t, "main form button")
	p.want("do not match")
	examine(t, p.Page, "signin-wrong")

	// Names that try to break a page break none.
	p.signsIn(string(s.house.people[domain.RoleOwner].Email), "Hello")
	for i, name := range hostile {
		issued := must[people.Issued](t)(s.directory.Invite(t.Context(), operator, people.Invitation{BusinessID: s.house.business.ID,
			Email: fmt.Sprintf("%s%d@%s.example", strings.Repeat("m", 60), i, strings.Repeat("n", 60)), Name: name, Role: "owner"}))
		if i == 0 {
			p.to("/people/"+string(issued.Member.Reference())+"/remove", "Remove "+name)
			examine(t, p.Page, "hostile-remove")
		}
		must[domain.Application](t)(s.tenants.CreateApplication(t.Context(), operator, s.house.business.ID, name))
	}
	show(p, "hostile-people", "/people", "People")
	show(p, "hostile-apps", "/apps", "Applications")
	show(p, "hostile-home", "/", "Hello")
	if browser.Eval[bool](t, p.Page, "document.querySelector('main script, main img') !== null") {
		t.Error("a name became a part of the page")
	}

	// Nothing but a page that says so.
	s.storage.breakDown(true)
	show(p, "database-gone", "/apps", "")
	s.storage.breakDown(false)
	starting := httptest.NewServer(portal.NotYet().Handler)
	t.Cleanup(starting.Close)
	waiting := b.Open(t, starting.URL+"/people", browser.Desk, browser.Reader{})
	settled(t, waiting, "Not yet")
	examine(t, waiting, "starting")
}
