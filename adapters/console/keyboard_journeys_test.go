package console_test

import (
	"strings"

	"github.com/chromedp/chromedp/kb"

	"waybill/domain"
	"waybill/test/browser"
)

func init() {
	journeys = append(journeys, []journey{
		{"by the keyboard alone a dispatcher signs in and fails a delivery of the board with a reason", false, failByKeyboard},
		{"by the keyboard alone a dispatcher previews many deliveries and moves them", false, bulkByKeyboard},
		{"by the keyboard alone an admin pauses the sending with a reason, resumes it and sends a mail again", false, repairByKeyboard},
		{"by the keyboard alone an admin invites a person, changes the role and removes the person", false, staffByKeyboard},
		{"by the keyboard alone lists, reports, the audit log and the map are narrowed", false, narrowByKeyboard},
	}...)
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
	browser.Eval[bool](p.T, p.Page, "window.left = true")
	p.Press(p.T, kb.Enter)
	p.Eventually(p.T, "another page", "window.left === undefined")
	browser.Settled(p.T, p.Page, heading)
}

func failByKeyboard(w *walk) {
	p := w.open("/signin")
	p.keys("[name=email]", string(w.staff[domain.RoleDispatcher].Email))
	p.keys("[name=password]", password)
	p.enter("main form button", "Kofi dispatcher")
	p.enter(`nav a[href="/console/board"]`, "Board")
	p.enter(`a[data-cell="a/booked/0"]`, "Deliveries")
	p.enter(`a[href$="`+w.ids[":delivery"]+`"]`, "-")
	p.keys("#status", "assigned")
	p.enter(`form[action$="/move"] button`, "-")
	p.at("assigned")
	p.keys("#status", "failed")
	p.enter(`form[action$="/move"] button`, "-")
	p.want("Say why it is failed")
	p.keys("#reason", "no rider")
	p.enter(`form[action$="/move"] button`, "-")
	p.at("failed")
	p.want("reason: no rider")
	p.enter(`form[action="/console/signout"] button`, "Sign in")
}

func bulkByKeyboard(w *walk) {
	p := w.as(domain.RoleDispatcher)
	p.enter(`nav a[href="/console/bulk"]`, "Move many deliveries")
	p.keys("#references", strings.ToLower(string(w.delivery.Reference))+" nothing")
	p.keys("#status", "assigned")
	p.enter(`form[action="/console/bulk"] button`, "What the move would do")
	p.enter(`form[action="/console/bulk/move"] button`, "1 of 2 moved")
}

func repairByKeyboard(w *walk) {
	p := w.as(domain.RoleAdmin)
	p.enter(`nav a[href="/console/webhooks"]`, "Webhooks")
	p.keys("main details summary", kb.Enter)
	p.keys("#reason-live", "The network is down")
	p.enter(`form[action="/console/webhooks/pause"] button`, "Webhooks")
	p.want("The sending is paused")
	p.enter(`form[action="/console/webhooks/resume"] button`, "Webhooks")
	p.want("The sending goes on")
	p.enter(`a[href$="`+w.ids[":endpoint"]+`"]`, "Webhook endpoint")
	p.enter(`form[action$="/pause"] button`, "Webhook endpoint")
	p.enter(`form[action$="/resume"] button`, "Webhook endpoint")
	p.want("The endpoint is resumed")
	p.enter(`nav a[href="/console/queues"]`, "Queues")
	p.enter(`form[action$="/retry"] button`, "Queues")
	p.want("The mail is sent again")
	w.wantAudited(domain.ActionSendingPause, domain.ActionSendingResume, domain.ActionEndpointUpdate, domain.ActionMailRetry)
}

func staffByKeyboard(w *walk) {
	p := w.as(domain.RoleAdmin)
	p.enter(`nav a[href="/console/staff"]`, "Staff")
	p.keys("#name", "Efua Owusu")
	p.keys("#email", "efua@waybill.example")
	p.keys("#role", "viewer")
	p.enter(`form[action="/console/staff"] button`, "Staff")
	p.want("Efua Owusu is invited")
	browser.Eval[bool](w.T, p.Page, "(window.onbeforeunload = null) === null") // the link is left uncopied
	at := `form[action="/console/staff/` + w.ids[":person"]
	p.enter(`nav a[href="/console/staff"]`, "Staff")
	p.keys(at+`/role"] select`, "support")
	p.enter(at+`/role"] button`, "Staff")
	p.enter(`a[href$="`+w.ids[":person"]+`/remove"]`, "Remove Kofi dispatcher")
	p.enter("button.danger", "Staff")
	p.want("The person was removed")
	w.wantAudited(domain.ActionPersonInvite, domain.ActionPersonRole, domain.ActionPersonRemove)
}

func narrowByKeyboard(w *walk) {
	busyDay(w.T, w.scene)
	p := w.as(domain.RoleAdmin)
	in := func(page, heading, address string) {
		p.Helper()
		p.enter(`form[action="/console`+page+`"] button`, heading)
		p.Eventually(p.T, "the address says it", "location.search.includes("+browser.Quoted(address)+")")
	}
	p.enter(`nav a[href="/console/deliveries"]`, "Deliveries")
	p.keys(`main [name=status]`, "assigned")
	in("/deliveries", "Deliveries", "status=assigned")
	p.enter(`nav a[href="/console/reports"]`, "Reports")
	p.keys(`main [name=each]`, "Vehicle")
	in("/reports", "Reports", "each=vehicle")
	p.enter(`nav a[href="/console/audit"]`, "Audit log")
	p.keys(`main [name=actor]`, string(w.staff[domain.RoleAdmin].ID))
	in("/audit", "Audit log", "actor=prs_")
	p.enter(`nav a[href="/console/map"]`, "Map")
	p.keys(`main [name=show]`, "Pickups")
	in("/map", "Map", "show=pickups")
	p.enter(`nav a[href="/console/businesses"]`, "Customers")
	p.keys(`main [name=q]`, "Zongo")
	in("/businesses", "Customers", "q=Zongo")
	p.want("Zongo Pharmacy")
}
