package console_test

import (
	"testing"

	"waybill/domain"
	"waybill/test/browser"
)

func init() {
	states = append(states, []state{
		{name: "signin", path: "/signin", heading: "Sign in"},
		{name: "badlink", path: "/enter/:link", heading: "There is no such link"},
		{name: "signin-wrong", path: "/signin", heading: "Sign in", then: func(p *tab) {
			p.fill("#email", "nobody@waybill.example")
			p.fill("#password", "something else, long")
			p.Page.Click(p.T, "main form button")
			p.want("do not match")
		}},
		{name: "home", role: domain.RoleAdmin, path: "/", heading: "Kofi admin"},
		{name: "home-viewer", role: domain.RoleViewer, path: "/", heading: "Kofi viewer"},
		{name: "missing", role: domain.RoleViewer, path: "/nothing", heading: "There is nothing here"},
		{name: "account", role: domain.RoleViewer, path: "/account", heading: "Account"},
		{name: "staff", role: domain.RoleAdmin, path: "/staff", heading: "Staff"},
		{name: "staff-remove", role: domain.RoleAdmin, path: "/staff/:person/remove", heading: "Remove Kofi dispatcher"},
		{name: "staff-refused", role: domain.RoleSupport, path: "/staff/:person/remove", heading: "Your role does not include this"},
		{name: "staff-error", role: domain.RoleAdmin, path: "/staff", heading: "Staff", then: func(p *tab) {
			browser.Eval[bool](p.T, p.Page, `document.querySelector('form[action="/console/staff"]').noValidate = true`)
			p.fill("#name", "Efua")
			p.fill("#email", "nobody@nowhere..")
			p.Page.Click(p.T, `form[action="/console/staff"] button`)
			p.Eventually(p.T, "the error", "document.querySelector('#email-error') !== null && document.readyState === 'complete'")
		}},
		{name: "again", alone: true, role: domain.RoleAdmin, path: "/staff", heading: "Staff", then: func(p *tab) {
			p.wait(domain.FreshFor)
			p.inviteEfua("Sign in again to go on")
		}},
	}...)
	journeys = append(journeys, []journey{
		{"an admin invites a dispatcher, who comes in and sets a password", false, inviteADispatcher},
		{"a session that is lost in a form comes back to it", false, lostSession},
		{"a session of the portal opens no page", false, portalIsElsewhere},
	}...)
}

func (p *tab) inviteEfua(heading string) {
	p.Helper()
	p.fill("#name", "Efua Owusu")
	p.fill("#email", "efua@waybill.example")
	p.choose("#role", "dispatcher")
	p.click(`form[action="/console/staff"] button`, heading)
}

func (p *tab) secret() string {
	p.Helper()
	return browser.Eval[string](p.T, p.Page, "document.querySelector('output[data-secret]').textContent")
}

func inviteADispatcher(w *walk) {
	admin := w.as(domain.RoleAdmin)
	admin.to("/staff", "Staff")
	admin.inviteEfua("Staff")
	admin.want("Efua Owusu is invited")
	link := admin.secret()
	browser.Eval[bool](w.T, admin.Page, "(window.onbeforeunload = null) === null")
	efua := w.browser.Open(w.T, link, browser.Desk, w.reader)
	p := &tab{walk: w, Page: efua}
	browser.Settled(w.T, efua, "Sign in to Waybill")
	p.click("main button", "Efua Owusu")
	if p.has(`a[href="/console/audit"]`) {
		w.Error("a dispatcher is led to the audit log")
	}
	p.to("/account", "Account")
	p.fill("#password", "a long and good password")
	p.click(`form[action="/console/account/password"] button`, "Account")
	p.want("The password was saved")
	p.click(`form[action="/console/signout"] button`, "Sign in")
	p.fill("#email", "efua@waybill.example")
	p.fill("#password", "a long and good password")
	p.click("main form button", "Efua Owusu")
}

func lostSession(w *walk) {
	p := w.as(domain.RoleAdmin)
	p.to("/staff", "Staff")
	w.wait(domain.SessionIdle)
	p.inviteEfua("Sign in")
	p.want("You are not signed in any more")
	p.fill("#email", string(w.staff[domain.RoleAdmin].Email))
	p.fill("#password", password)
	p.click("main form button", "Staff")
	p.want("What you typed is still here")
	if got := browser.Eval[string](w.T, p.Page, "document.querySelector('#name').value"); got != "Efua Owusu" {
		w.Errorf("the form has %q", got)
	}
}

func portalIsElsewhere(w *walk) {
	p := w.open("/signin")
	browser.Settled(w.T, p.Page, "Sign in")
	p.fill("#email", string(w.owner.Email))
	p.fill("#password", password)
	p.click("main form button", "Sign in")
	p.want("do not match")
}

func TestASessionThatEndsIsOutInEveryProcessAtOnce(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	for name, end := range map[string]func() error{
		"sessions ended": func() error {
			_, err := s.directory.EndSessions(t.Context(), operator, s.staff[domain.RoleSupport].ID)
			return err
		},
		"disabled": func() error {
			_, err := s.directory.SetDisabled(t.Context(), operator, s.staff[domain.RoleViewer].ID, true)
			return err
		},
		"removed": func() error {
			_, err := s.directory.Remove(t.Context(), operator, "", s.staff[domain.RoleDispatcher].ID)
			return err
		},
	} {
		role := map[string]domain.Role{"sessions ended": domain.RoleSupport, "disabled": domain.RoleViewer,
			"removed": domain.RoleDispatcher}[name]
		r := s.signedIn(t, role)
		for _, at := range []string{s.url, s.second} {
			if r.url = at; r.get("/staff").at != "/staff" {
				t.Fatalf("%s: not in at %s", name, at)
			}
		}
		if err := end(); err != nil {
			t.Fatal(err)
		}
		for _, at := range []string{s.url, s.second} {
			if r.url = at; r.get("/staff").at != "/signin" {
				t.Errorf("%s: an ended session is at /staff of %s", name, at)
			}
		}
	}
}
