package portal_test

import (
	"fmt"

	"waybill/domain"
	"waybill/test/browser"
)

func sandboxStates(w *walk) {
	s, t := w.scene, w.T
	sandbox := "/sandbox?delivery=" + string(s.house.delivery)
	p := w.in(domain.RoleDeveloper)
	p.to("/sandbox", "Sandbox")
	examine(t, p.Page, "sandbox-closed")
	p.opensInbox()
	for i := range 3 {
		s.happens(t, s.house, fmt.Sprint("number ", i))
	}
	p.Eventually(t, "three rows", "document.querySelectorAll('.received').length === 3")
	browser.Eval[bool](t, p.Page, "(document.querySelector('.received').open = true)")
	examine(t, p.Page, "sandbox")
	p.show("sandbox-delivery", sandbox, "Sandbox")
	p.unfold()
	p.click(`form[action$="/simulate"] button`, "Sandbox")
	p.want("The simulation is running")
	examine(t, p.Page, "sandbox-simulated")
	p.unfold()
	p.fill("#recipient-phone_number", "12")
	p.Page.Click(t, `form[action="/sandbox/book"] button`)
	p.want("Nothing was booked")
	examine(t, p.Page, "sandbox-wrong")
}

func sandboxJourney(w *walk) {
	t := w.T
	atFirst := len(w.sandboxDeliveries(t, w.house))
	p, other := w.in(domain.RoleDeveloper), w.in(domain.RoleOwner)
	const openable = "document.querySelector('[data-closed]').checkVisibility()"
	other.to("/sandbox", "Sandbox")
	other.Eventually(t, "it can be opened", "document.querySelector('[data-live]').textContent === 'Closed.' && "+openable)
	p.to("/sandbox", "Sandbox")
	p.opensInbox()
	p.live()
	other.live()
	other.Eventually(t, "it needs no button once another one has opened it", "!"+openable)
	p.click(`form[action="/sandbox/book"] button`, "Sandbox")
	p.want("The sample was booked")
	p.Eventually(t, "the webhook of the booking", "document.querySelector('.received [data-part=type]')?.textContent === 'delivery.created'")
	before := w.sandboxDeliveries(t, w.house)[0]
	other.to("/sandbox?delivery="+string(before.ID), "Sandbox")
	other.live()
	p.click(`form[action$="/move"] button`, "Sandbox")
	p.want("assigned, where it is now")
	other.Eventually(t, "the card follows its event", "document.querySelector('#machine').textContent.endsWith('is assigned') && "+
		"[...document.querySelectorAll('[data-delivery] button')].some((b) => b.textContent === 'Move to picked up')")
	p.Eventually(t, "the webhook of the move", "document.querySelector('.received [data-part=type]')?.textContent === 'delivery.assigned'")
	if browser.Eval[bool](t, p.Page, "document.querySelector('.received').open") {
		t.Error("a webhook shows its body before it is opened")
	}
	p.Page.Click(t, ".received summary")
	p.want("webhook-signature: v1,")
	p.want("What you just did, as an API call")
	p.Page.Click(t, "#forced > summary")
	p.Page.Click(t, "#forced details:has(#forced-php) summary")
	p.Eventually(t, "its tab alone", "document.querySelector('#forced-php').checkVisibility() && "+
		"!document.querySelector('#forced-curl').checkVisibility()")
	if n := len(w.sandboxDeliveries(t, w.house)) - atFirst; n != 1 {
		t.Errorf("one sample made %d deliveries", n)
	}
}

// seven pages are those of one browser, over HTTP/1.1: it has six connections to a host for
// all of them. Each is live once it is looked at, and what the others missed comes then.
func sevenPages(w *walk, where browser.Beside) {
	t := w.T
	p := w.in(domain.RoleDeveloper)
	p.to("/sandbox", "Sandbox")
	p.opensInbox()
	p.live()
	tabs := []*tab{p}
	for range 6 {
		page := w.browser.OpenBeside(t, p.Page, where, w.url+"/sandbox", browser.Desk, w.reader)
		next := &tab{walk: w, Page: page}
		browser.Settled(t, page, "Sandbox")
		next.live()
		tabs = append(tabs, next)
	}
	w.happens(t, w.house, "for all to see")
	const seen = "document.querySelector('.received')?.textContent.includes('for all to see') === true"
	last := tabs[len(tabs)-1]
	last.Eventually(t, "the webhook in the seventh", seen)
	browser.Settled(t, w.browser.OpenBeside(t, p.Page, where, w.url+"/deliveries", browser.Desk, w.reader), "Deliveries")
	first := tabs[0]
	if browser.Eval[bool](t, first.Page, seen) {
		t.Error("the first page holds a connection while nobody looks at it, or beside more than may be")
	}
	first.Front(t)
	browser.Eval[bool](t, first.Page, "window.dispatchEvent(new Event('focus'))") // as a person does, who looks at a window
	first.Eventually(t, "the webhook in the first, when it is looked at", seen)
	for _, tab := range tabs {
		browser.WantQuiet(t, tab.Page, w.url)
	}
}

func sevenTabs(w *walk)    { sevenPages(w, browser.InATab) }
func sevenWindows(w *walk) { sevenPages(w, browser.InAWindow) }

// manyWebhooks come at once into a page that stays short, and usable.
func manyWebhooks(w *walk) {
	const many, most = 250, 200
	t := w.T
	p := w.in(domain.RoleDeveloper)
	p.to("/sandbox", "Sandbox")
	p.opensInbox()
	p.live()
	browser.Eval[bool](t, p.Page, `(() => {
		window.rowsMost = 0;
		const rows = document.querySelector("[data-rows]");
		new MutationObserver(() => { rowsMost = Math.max(rowsMost, rows.children.length); }).observe(rows, { childList: true });
		return true;
	})()`)
	var last domain.ID
	for i := range many {
		last = w.happens(t, w.house, fmt.Sprint("number ", i))
	}
	p.Eventually(t, "the last one", "document.querySelector('.received')?.textContent.includes('"+string(last)+"')")
	if rows := browser.Eval[int](t, p.Page, "rowsMost"); rows != most {
		t.Errorf("the page held %d rows", rows)
	}
	p.Page.Click(t, ".received summary")
}

func inboxEnds(w *walk) {
	t := w.T
	p := w.in(domain.RoleDeveloper)
	p.to("/sandbox", "Sandbox")
	p.opensInbox()
	p.live()
	must[int](t)(w.directory.EndSessions(t.Context(), operator, w.house.people[domain.RoleDeveloper].ID))
	p.Eventually(t, "it says so", "document.querySelector('[data-live]').textContent.includes('not signed in any more')")
	w.happens(t, w.house, "after the end")
	// Another inbox shows that the webhook was taken.
	other := w.in(domain.RoleOwner)
	other.to("/sandbox", "Sandbox")
	other.want("after the end")
	if p.shows("after the end") {
		t.Error("an inbox goes on without its session")
	}
}

// unfold opens all that is folded in the left column.
func (p *tab) unfold() {
	p.Helper()
	browser.Eval[bool](p.T, p.Page, "document.querySelectorAll('.beside > div details').forEach(one => { one.open = true; }) === undefined")
}

// opensInbox presses the button of an inbox that is closed.
func (p *tab) opensInbox() {
	p.Helper()
	p.click(`form[action="/sandbox/inbox"] button`, "Sandbox")
	p.want("The inbox is open.")
}

// live waits until the inbox is.
func (p *tab) live() {
	p.Helper()
	p.Eventually(p.T, "live", "document.querySelector('[data-live]').textContent === 'Live'")
}
