package console_test

import (
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
		{name: "missing", role: domain.RoleViewer, path: "/nothing", heading: "Page not found"},
		{name: "account", role: domain.RoleViewer, path: "/account", heading: "Account"},
		{name: "staff", role: domain.RoleAdmin, path: "/staff", heading: "Staff"},
		{name: "staff-remove", role: domain.RoleAdmin, path: "/staff/:person/remove", heading: "Remove Kofi dispatcher"},
		{name: "staff-refused", role: domain.RoleSupport, path: "/staff/:person/remove", heading: "Your role does not allow this"},
		{name: "staff-error", role: domain.RoleAdmin, path: "/staff/new", heading: "Invite a person", then: func(p *tab) {
			browser.Eval[bool](p.T, p.Page, `document.querySelector('form[action="/console/staff"]').noValidate = true`)
			p.fill("#name", "Efua")
			p.fill("#email", "nobody@nowhere..")
			p.Page.Click(p.T, `form[action="/console/staff"] button`)
			p.Eventually(p.T, "the error", "document.querySelector('#email-error') !== null && document.readyState === 'complete'")
		}},
		{name: "again", alone: true, role: domain.RoleAdmin, path: "/staff/new", heading: "Invite a person", then: func(p *tab) {
			p.wait(domain.FreshFor)
			p.inviteEfua("Sign in again to continue")
		}},
	}...)
}

func (p *tab) inviteEfua(heading string) {
	p.Helper()
	p.fill("#name", "Efua Owusu")
	p.fill("#email", "efua@waybill.example")
	p.choose("#role", "dispatcher")
	p.click(`form[action="/console/staff"] button`, heading)
}
