package console_test

import (
	"github.com/chromedp/chromedp/kb"

	"waybill/domain"
	"waybill/test/browser"
)

func failByKeyboard(w *walk) {
	p := w.open("/signin")
	p.keys("[name=email]", string(w.staff[domain.RoleDispatcher].Email))
	p.keys("[name=password]", password)
	p.enter("main form button", "Kofi dispatcher")
	p.enter(`nav a[href="/console/board"]`, "Board")
	p.enter(`a[data-cell="a/booked/0"]`, "Deliveries")
	p.enter(`a[href$="`+w.ids[":delivery"]+`"]`, "-")
	p.enter("#to-assigned button", "-")
	p.at("assigned")
	p.keyTo("details:has(#to-failed) summary")
	p.Press(w.T, kb.Enter)
	p.enter("#to-failed button", "-")
	p.want("Choose why it is failed")
	p.keys("#reason-failed", "no rider")
	p.enter("#to-failed button", "-")
	p.at("failed")
	p.want("reason: no rider")
	p.enter(`form[action="/console/signout"] button`, "Sign in")
}

// keyTo presses Tab until what a selector finds has the focus.
func (p *tab) keyTo(selector string) {
	p.Helper()
	const most = 120
	for range most {
		p.Press(p.T, kb.Tab)
		if browser.Eval[bool](p.T, p.Page, "document.activeElement.matches("+browser.Quoted(selector)+")") {
			p.wantFocusSeen(selector)
			return
		}
	}
	p.Fatalf("Tab does not lead to %s", selector)
}

func (p *tab) wantFocusSeen(name string) {
	p.Helper()
	if browser.Eval[bool](p.T, p.Page,
		"(s => s.outlineStyle === 'none' || s.outlineWidth === '0px')(getComputedStyle(document.activeElement))") {
		p.Errorf("the focus on %s cannot be seen", name)
	}
}

// keys types into a field; in a list of options that chooses the one that begins so.
func (p *tab) keys(selector, text string) {
	p.Helper()
	p.keyTo(selector)
	p.Press(p.T, text)
}

// enter follows a link or presses a button, and waits for the page behind it.
func (p *tab) enter(selector, heading string) {
	p.Helper()
	p.keyTo(selector)
	browser.Eval[bool](p.T, p.Page, "(window.onbeforeunload = null) === null && (window.left = true)") // secrets are left uncopied
	p.Press(p.T, kb.Enter)
	p.Eventually(p.T, "another page", "window.left === undefined")
	browser.Settled(p.T, p.Page, heading)
}
