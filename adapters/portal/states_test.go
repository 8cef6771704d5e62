package portal_test

import (
	"fmt"
	"net/http/httptest"
	"strings"

	"waybill/adapters/brand"
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

// show goes to a page and looks at it in every way.
func (p *tab) show(name, path, heading string) {
	p.Helper()
	p.to(path, heading)
	examine(p.T, p.Page, name)
}

// everyState looks at what pages turn into: refused, empty, gone, wrong and hostile.
func everyState(w *walk) {
	s, t := w.scene, w.T
	// A role that does not include what the page is for.
	viewer, live := w.in(domain.RoleViewer), s.house.keysPath(domain.Live)
	viewer.show("viewer-home", "/", "Hello")
	viewer.show("viewer-keys", live, "API keys")
	viewer.show("viewer-refused", "/audit", "")

	// Before anything is there.
	empty := must[domain.Business](t)(s.tenants.CreateBusiness(t.Context(), operator, "Empty", nil))
	first := must[people.Issued](t)(s.directory.Invite(t.Context(), operator,
		people.Invitation{BusinessID: empty.ID, Email: "first@empty.example", Name: "First", Role: "owner"}))
	p := w.open("/enter/" + first.Secret)
	p.click("main button", "Hello, First")
	examine(t, p.Page, "empty-home")
	p.show("empty-apps", "/apps", "Applications")
	p.show("no-password", "/account", "Account")
	p.show("webhooks-no-application", "/webhooks", "Webhooks")
	p.show("sandbox-empty", "/sandbox", "Sandbox")
	app := must[domain.Application](t)(s.tenants.CreateApplication(t.Context(), operator, empty.ID, "Shop"))
	p.show("empty-keys", "/apps/"+string(app.ID)+"/sandbox/keys", "API keys")

	// An owner, and what becomes of keys, people and forms.
	p = w.in(domain.RoleOwner)
	p.to("/pickup-locations/live/import", "Import pickup locations")
	p.fill("#csv", places)
	p.click("main form button", "Preview of the import")
	examine(t, p.Page, "import-preview")
	must[domain.APIKey](t)(s.tenants.RevokeKey(t.Context(), operator, s.house.key[domain.Live].ID))
	p.show("revoked", live+"/"+string(s.house.key[domain.Live].ID)+"/revoke", "was revoked")
	must[domain.Application](t)(s.tenants.SetDisabled(t.Context(), operator, s.house.app.ID, true))
	p.show("app-disabled", "/apps/"+string(s.house.app.ID), s.house.app.Name)
	p.to("/people/"+string(s.house.people[domain.RoleOwner].ID)+"/remove", "Remove adom owner")
	p.Page.Click(t, "button.danger")
	p.want("This is the last owner")
	examine(t, p.Page, "conflict")
	p.to("/people/new", "Invite a person")
	p.fill("#name", "Efua")
	s.wait(domain.SessionIdle)
	browser.Eval[bool](t, p.Page, "document.querySelector('form[action=\"/people\"]').noValidate = true")
	p.Page.Click(t, `form[action="/people"] button`)
	p.want("You are signed out")
	examine(t, p.Page, "session-lost")
	p.signsIn(string(s.house.people[domain.RoleOwner].Email), "Invite a person")
	p.want("What you typed is still here")
	examine(t, p.Page, "resumed")

	// Names that try to break a page break none.
	for i, name := range hostile {
		issued := must[people.Issued](t)(s.directory.Invite(t.Context(), operator, people.Invitation{BusinessID: s.house.business.ID,
			Email: fmt.Sprintf("%s%d@%s.example", strings.Repeat("m", 60), i, strings.Repeat("n", 60)), Name: name, Role: "owner"}))
		if i == 0 {
			p.to("/people/"+string(issued.Member.Reference())+"/remove", "Remove "+name)
			examine(t, p.Page, "hostile-remove")
		}
		must[domain.Application](t)(s.tenants.CreateApplication(t.Context(), operator, s.house.business.ID, name))
	}
	p.show("hostile-people", "/people", "People")
	p.show("hostile-apps", "/apps", "Applications")
	p.show("hostile-home", "/", "Hello")
	if browser.Eval[bool](t, p.Page, "document.querySelector('main script, main img') !== null") {
		t.Error("a name became a part of the page")
	}

	// Nothing but a page that says so.
	s.storage.breakDown(true)
	p.show("database-gone", "/apps", "")
	s.storage.breakDown(false)
	starting := httptest.NewServer(portal.NotYet(brand.Brand{}).Handler)
	t.Cleanup(starting.Close)
	waiting := w.browser.Open(t, starting.URL+"/people", browser.Desk, browser.Reader{})
	browser.Settled(t, waiting, "Starting")
	examine(t, waiting, "starting")
}
