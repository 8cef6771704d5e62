package portal_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp/kb"

	"waybill/application/directory"
	"waybill/domain"
	"waybill/ports"
	"waybill/test/browser"
)

func init() {
	journeys = append(journeys, []journey{
		{"something is searched for, from any page", true, searchFor},
		{"a table of pickup locations is previewed and imported", true, importTable},
		{"an application shows step by step that it is ready", false, getReady},
	}...)
}

// choose puts a table into the field for a file.
func (p *tab) choose(table string) {
	p.Helper()
	browser.Eval[bool](p.T, p.Page, "(d => { d.items.add(new File(["+browser.Quoted(table)+"], 'places.csv', {type: 'text/csv'})); "+
		"document.querySelector('#file').files = d.files; return true; })(new DataTransfer())")
}

func searchFor(w *walk) {
	d := must[*domain.Delivery](w.T)(w.Store.Read().Deliveries.Get(w.Context(), w.house.tenant(domain.Sandbox), w.house.delivery))
	for _, e := range []domain.Environment{domain.Live, domain.Sandbox} {
		w.booked(w.T, w.house, e, func(b *domain.Booking) { b.ExternalID = "order-77" })
	}
	p := w.in(domain.RoleViewer)
	// A keyboard types nothing whose event was taken; the one of this browser would.
	const pressed = "!document.activeElement.dispatchEvent(new KeyboardEvent('keydown', {key: '/', bubbles: true, cancelable: true}))"
	if taken := browser.Eval[bool](w.T, p.Page, pressed); taken == w.reader.NoScripts {
		w.Errorf("the shortcut is taken: %v", taken)
	}
	if w.reader.NoScripts {
		p.tabTo("Search for an ID, a reference, an external_id or the last four of a key")
	}
	if now := browser.Eval[string](w.T, p.Page, "document.activeElement.id"); now != "find" {
		w.Fatalf("the focus is on %q", now)
	}
	p.Press(w.T, string(d.Reference)+kb.Enter)
	settled(w.T, p.Page, string(d.Reference))
	seek := func(text string) {
		p.fill("#find", text)
		browser.Eval[bool](w.T, p.Page, "(document.querySelector('#find').focus(), true)")
		p.Press(w.T, kb.Enter)
		settled(w.T, p.Page, "Search")
	}
	seek("order-77")
	if rows := browser.Eval[int](w.T, p.Page, "document.querySelectorAll('main tbody tr').length"); rows != 2 || !p.shows("Deliveries") {
		w.Errorf("%d rows", rows)
	}
	link := browser.Eval[string](w.T, p.Page, "document.querySelector('main tbody tr a').textContent.trim()")
	p.click("main tbody tr a", strings.TrimPrefix(link, "Delivery "))
	p.want("order-77")
	seek(string(w.other.delivery))
	p.want("Nothing found for")
	if w.reader.NoScripts {
		return
	}
	// A slash that is typed into a field is one.
	p.to("/deliveries", "Deliveries")
	browser.Eval[bool](w.T, p.Page, "(document.querySelector('#q').focus(), true)")
	if browser.Eval[bool](w.T, p.Page, pressed) {
		w.Error("the shortcut is taken from another field")
	}
}

func importTable(w *walk) {
	p := w.in(domain.RoleDeveloper)
	p.to("/pickup-locations/sandbox", "Pickup locations")
	p.click(`main a[href$="/import"]`, "Import pickup locations")
	p.choose("name,street\nOsu,1 Street\n")
	p.Page.Click(w.T, "main form button")
	p.Eventually(w.T, "the error", "document.querySelector('#file-error') !== null && document.readyState === 'complete'")
	p.choose(places)
	p.click("main form button", "What the import would do")
	p.want("Import 4 rows into sandbox") // of 5, one of which is refused
	// Another person is faster: nothing is imported, and the page says what is different now.
	w.wait(time.Second)
	use := directory.NewPickupLocations(w.storage, nil, w.Clock, w.IDs)
	must[domain.PickupLocation](w.T)(use.Amend(w.Context(), operator, w.house.tenant(domain.Sandbox), w.house.pickup[domain.Sandbox],
		domain.PickupLocationChange{Contact: new(domain.PhoneNumber("+233302000003"))}))
	p.Page.Click(w.T, "main form button")
	p.want("Nothing was imported")
	if marked := browser.Eval[string](w.T, p.Page, "[...document.querySelectorAll('tr[data-id]')].filter(r => "+
		"r.textContent.includes('changed since')).map(r => r.dataset.id).join()"); marked != "2" {
		w.Errorf("the rows %q are marked", marked)
	}
	p.click("main form button", "Pickup locations")
	p.want("The table was imported")
	if !p.shows("Labone") || p.shows("Tema branch") {
		w.Error("the refused row is there, or a sound one is not")
	}
}

func getReady(w *walk) {
	own := w.program(w.T, "A new shop")
	p := w.in(domain.RoleViewer)
	p.to("/", "Hello")
	p.pick("application", string(own.app.ID))
	p.click(`section[aria-labelledby="ready"] form button`, "Hello")
	done := func() int {
		return browser.Eval[int](w.T, p.Page, "document.querySelectorAll('li[data-step].done').length")
	}
	p.want("0 of 6")
	if !p.shows(`curl -H "Authorization: Bearer $WAYBILL_API_KEY" "http://sandbox.example/v1/events?cursor=$LAST_CURSOR"`) {
		w.Error("a step has no call")
	}
	w.readsFailed(w.T, own, w.fails(w.T, own, domain.Sandbox))
	p.to("/?application="+string(own.app.ID), "Hello")
	if done() != 1 {
		w.Errorf("%d steps are ticked", done())
	}
	p.Page.Click(w.T, `li[data-step="failure"] a`)
	p.want("failed")
	w.everyStep(w.T, own)
	p.to("/?application="+string(own.app.ID), "Hello")
	p.want("6 of 6")
	if done() != 6 {
		w.Errorf("%d steps are ticked", done())
	}
}

// pick chooses of a list.
func (p *tab) pick(id, value string) {
	p.Helper()
	browser.Eval[bool](p.T, p.Page, "(document.getElementById("+browser.Quoted(id)+").value = "+browser.Quoted(value)+") !== ''")
}

// everyStep lets a program show all it can before it goes live.
func (s *scene) everyStep(t *testing.T, h house) {
	t.Helper()
	s.replays(t, h)
	s.called(t, h, limited)
	s.wait(2 * time.Second)
	s.called(t, h, sandboxCall)
	s.webhooked(t, h, true)
	s.webhooked(t, h, false)
	s.wait(time.Minute)
	s.called(t, h, func(r *domain.RequestRecord) {
		r.Environment, r.Route, r.Status = domain.Sandbox, "GET /v1/events", http.StatusOK
	})
	s.readsFailed(t, h, s.fails(t, h, domain.Sandbox))
	must[domain.APIKey](t)(s.tenants.RevokeKey(t.Context(), operator, h.key[domain.Live].ID))
	must[domain.APIKey](t)(s.tenants.RevokeKey(t.Context(), operator, h.key[domain.Sandbox].ID))
	h.key[domain.Live] = must[tenancyKey](t)(s.tenants.IssueKey(t.Context(), operator, h.app.ID, domain.Live,
		[]domain.Scope{domain.ScopeDeliveriesWrite}, nil))
	s.called(t, h)
}

// findStates looks at searches, imports and locations that went wrong, and a program that has shown everything.
func findStates(t *testing.T, b *browser.Browser) {
	s := newScene(t)
	w := &walk{T: t, scene: s, browser: b}
	for _, e := range []domain.Environment{domain.Live, domain.Sandbox} {
		s.booked(t, s.house, e, func(b *domain.Booking) { b.ExternalID = "both" })
	}
	s.called(t, s.house, sandboxCall, func(r *domain.RequestRecord) { r.ClientID = "both" })
	p := w.in(domain.RoleOwner)
	show := func(name, path, heading string) {
		t.Helper()
		p.to(path, heading)
		examine(t, p.Page, name)
	}
	show("search-groups", "/search?q=both", "Search")
	show("search-long", "/search?q="+strings.Repeat("x", 300), "Search")
	recipient := s.inHand(t, s.house)["recipient"].text
	show("search-recipient", "/search?q="+recipient, "Search")
	s.storage.breakLog(ports.ErrTookTooLong)
	show("search-unread", "/search?q=both", "Search")
	s.storage.breakLog(nil)

	own := s.program(t, "A new shop")
	show("home-nothing-shown", "/?application="+string(own.app.ID), "Hello")
	s.everyStep(t, own)
	show("home-ready", "/?application="+string(own.app.ID), "Hello")
	p.want("6 of 6")

	p.to("/pickup-locations/live/import", "Import pickup locations")
	p.choose("name,street\nOsu,1 Street\n")
	p.Page.Click(t, "main form button")
	p.Eventually(t, "the error", "document.querySelector('#file-error') !== null && document.readyState === 'complete'")
	examine(t, p.Page, "import-wrong")
	p.choose(places)
	p.click("main form button", "What the import would do")
	examine(t, p.Page, "import-preview")
	s.placed(t, s.house, domain.Live, "Kaneshie depot")
	p.Page.Click(t, "main form button")
	p.want("Nothing was imported")
	examine(t, p.Page, "import-outdated")
	p.click("main form button", "Pickup locations")
	examine(t, p.Page, "pickups-imported")
	p.fill("#latitude", "95")
	p.fill("#contact", "0302")
	p.Page.Click(t, `section[aria-labelledby="create"] button`)
	p.Eventually(t, "the error", "document.querySelector('#contact-error') !== null && document.readyState === 'complete'")
	examine(t, p.Page, "pickup-wrong")
	viewer := w.in(domain.RoleViewer)
	viewer.to("/pickup-locations/live/"+string(s.house.pickup[domain.Live]), "Main depot")
	examine(t, viewer.Page, "viewer-pickup")
}
