package console_test

import (
	"waybill/application/people"
	"waybill/domain"
	"waybill/test/browser"
)

func init() {
	journeys = append(journeys, []journey{
		{"an admin creates a customer and invites its owner, who comes into the portal", false, createCustomer},
		{"support views as a customer, whose owner reads it in the audit log", false, viewAsCustomer},
	}...)
}

// inPortal opens a page of the customers' portal.
func (w *walk) inPortal(url string) *tab {
	w.Helper()
	p := w.browser.Open(w.T, url, browser.Desk, w.reader)
	w.Cleanup(func() { browser.WantQuiet(w.T, p, w.portal) })
	return &tab{walk: w, Page: p}
}

// ownerIn is the owner of the customer, signed in at the portal by a link.
func (w *walk) ownerIn() *tab {
	w.Helper()
	link := must[people.Issued](w.T)(w.directory.Link(w.Context(), operator, w.owner.ID, domain.Portal)).Secret
	p := w.inPortal(w.portal + "/enter/" + link)
	p.click("main button", "Hello, "+w.owner.Name)
	return p
}

func createCustomer(w *walk) {
	p := w.as(domain.RoleAdmin)
	p.to("/businesses", "Customers")
	p.fill("#name", "Kofi Pharmacy")
	p.press("Create customer")
	browser.Settled(w.T, p.Page, "Kofi Pharmacy")
	p.want("The customer was created")
	p.click(`.over a[href$="/people"]`, "People")
	p.fill("#name", "Ama Mensah")
	p.fill("#email", "ama@kofi.example")
	p.choose("#role", "owner")
	p.press("Invite person")
	p.want("Ama Mensah is invited")
	link := p.secret()
	browser.Eval[bool](w.T, p.Page, "(window.onbeforeunload = null) === null")
	ama := w.inPortal(link)
	ama.click("main button", "Hello, Ama Mensah")
	ama.want("Kofi Pharmacy")
	if ama.shows(w.business.Name) {
		w.Error("the owner reads the name of another customer")
	}
	p.to("/businesses?q=ama%40kofi.example", "Customers")
	p.want("Kofi Pharmacy")
	if p.shows(w.business.Name) {
		w.Error("the search for an address finds other customers")
	}
}

func viewAsCustomer(w *walk) {
	p := w.as(domain.RoleSupport)
	p.to(w.customerAt(""), w.business.Name)
	p.fill("#reason", viewReason)
	p.press("View as customer")
	browser.Settled(w.T, p.Page, "View Adom Foods as its customer")
	p.want(viewReason)
	seen := w.inPortal(browser.Eval[string](w.T, p.Page, "document.querySelector('a[data-view]').href"))
	seen.want(viewReason)
	seen.press("Open the view")
	seen.want("You see Adom Foods as its customer: read-only.")
	browser.Go(w.T, seen.Page, w.portal+"/apps", "Applications")
	seen.want("You see Adom Foods as its customer: read-only.")
	if n := browser.Eval[int](w.T, seen.Page, "document.querySelectorAll('form[method=post]').length"); n != 1 {
		w.Errorf("the view has %d forms beside the one that ends it", n-1)
	}
	browser.Examine(w.T, seen.Page, "console", "portal-in-a-view")
	seen.press("End the view")
	seen.want("This view has ended")
	browser.Go(w.T, seen.Page, w.portal+"/apps", "Sign in")
	owner := w.ownerIn()
	browser.Go(w.T, owner.Page, w.portal+"/audit", "Audit log")
	owner.want(viewReason)
}

func (p *tab) wantFocusSeen(name string) {
	p.Helper()
	if browser.Eval[bool](p.T, p.Page,
		"(s => s.outlineStyle === 'none' || s.outlineWidth === '0px')(getComputedStyle(document.activeElement))") {
		p.Errorf("the focus on %s cannot be seen", name)
	}
}
