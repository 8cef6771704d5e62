package portal_test

import (
	"strings"
	"testing"
	"time"

	"waybill/domain"
	"waybill/ports"
	"waybill/test/browser"
)

// TestAWalkInABrowser looks at a page of each area once, and does what a first visit is for: a
// key, and a sample whose webhooks come.
func TestAWalkInABrowser(t *testing.T) {
	t.Parallel()
	w := &walk{T: t, scene: newScene(t), browser: browser.Start(t), reader: browser.Reader{Zone: "Asia/Kolkata"}}
	w.busyDay(t)
	p := w.open("/signin")
	browser.Check(t, p.Page, "signin")
	p.signsIn(string(w.house.people[domain.RoleOwner].Email), "Hello, adom owner")
	for _, page := range [][2]string{
		{"/", "Hello"}, {"/apps", "Applications"}, {w.house.keysPath(domain.Live), "API keys"}, {"/requests", "Requests"},
		{"/requests/" + string(w.house.request), "POST /v1/deliveries"}, {"/errors", "Errors"}, {"/usage", "Usage"},
		{"/deliveries", "Deliveries"}, {at(w.followed(t)), ""}, {hooks(w.house.endpoint), w.house.endpoint.Host()},
		{hooks(w.house.endpoint, "/sent/", string(w.house.sent)), "webhook_endpoint.test"}, {"/sandbox", "Sandbox"},
		{"/pickup-locations/live", "Pickup locations"}, {"/people", "People"}, {"/audit", "Audit log"}, {"/account", "Account"},
	} {
		p.to(page[0], page[1])
		browser.Check(t, p.Page, page[0])
	}
	p.click(`form[action="/signout"] button`, "Sign in")
	firstKey(w)
	sandboxJourney(w)
}

// TestLongInABrowser shows the pages to one browser, in windows that share nothing. What forms do
// is tested without a browser: here are what pages look like, and what their scripts do.
func TestLongInABrowser(t *testing.T) {
	t.Parallel()
	b := browser.Start(t)
	for name, test := range map[string]func(*walk){
		"every page is for everybody":                 everyPage,
		"every state is for everybody":                everyState,
		"every state of webhooks is":                  everyWebhookState,
		"every state of the sandbox":                  sandboxStates,
		"of seven tabs the seventh loads":             sevenTabs,
		"of seven windows the seventh loads":          sevenWindows,
		"many webhooks come":                          manyWebhooks,
		"an inbox tells that its session ended":       inboxEnds,
		"the history shows a key no second time":      historyHasNoKey,
		"everything by the keyboard alone":            byKeyboard,
		"a secret that was not copied is asked about": uncopied,
		"a key leads to the search":                   slashSearches,
		"passkeys":                                    passkeysInABrowser,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(&walk{T: t, scene: newScene(t), browser: b, reader: browser.Reader{Zone: "Asia/Kolkata"}})
		})
	}
}

// examine looks at a page in every way.
func examine(t *testing.T, p *browser.Page, name string) {
	t.Helper()
	browser.Examine(t, p, "portal", name)
}

func everyPage(w *walk) {
	s, t := w.scene, w.T
	s.busyDay(t)
	p := w.browser.Open(t, s.url+"/signin", browser.Phone, browser.Reader{})
	browser.Settled(t, p, "Sign in")
	examine(t, p, "signin")
	browser.Go(t, p, s.url+"/enter/"+s.link(t, s.house, domain.RoleOwner).Secret, "Sign in")
	examine(t, p, "enter")
	p.Click(t, "main button")
	browser.Settled(t, p, "Hello, adom owner")
	examine(t, p, "home")
	delivery := s.url + at(s.followed(t))
	list, app := s.url+s.house.keysPath(domain.Sandbox), s.url+"/apps/"+string(s.house.app.ID)
	for name, page := range map[string][2]string{
		"apps": {s.url + "/apps", "Applications"}, "app": {app, "Adom Foods shop"}, "disable": {app + "/disable", "Disable Adom"},
		"keys": {list, "API keys"}, "key-new": {list + "/new", "Create a sandbox key"}, "pickup-new": {s.url + "/pickup-locations/live/new", "Add a pickup"},
		"webhook-new": {s.url + "/webhooks/new", "Create a"},
		"revoke":      {list + "/" + string(s.house.key[domain.Sandbox].ID) + "/revoke", "Revoke the sandbox key"},
		"people":      {s.url + "/people", "People"},
		"requests":    {s.url + "/requests", "Requests"}, "requests-failed": {s.url + "/requests?failed=true&status=422&delivery=" +
			string(s.house.delivery), "Requests"},
		"requests-none": {s.url + "/requests?q=order-404", "Requests"}, "requests-wrong": {s.url + "/requests?status=never", "Requests"},
		"request": {s.url + "/requests/" + string(s.house.request), "POST /v1/deliveries"},
		"errors":  {s.url + "/errors", "Errors"}, "errors-none": {s.url + "/errors?application=" + string(s.other.app.ID), "Errors"},
		"usage": {s.url + "/usage", "Usage"}, "usage-days": {s.url + "/usage?period=30d", "Usage"},
		"usage-none": {s.url + "/usage?application=" + string(s.other.app.ID), "Usage"},
		"search":     {s.url + "/search", "Search"}, "search-none": {s.url + "/search?q=order-404", "Search"},
		"pickups":       {s.url + "/pickup-locations/live", "Pickup locations"},
		"pickup":        {s.url + "/pickup-locations/live/" + string(s.house.pickup[domain.Live]), "Main depot"},
		"pickup-import": {s.url + "/pickup-locations/live/import", "Import pickup locations"},
		"deliveries":    {s.url + "/deliveries", "Deliveries"}, "deliveries-none": {s.url + "/deliveries?environment=live", "Deliveries"},
		"deliveries-unknown": {s.url + "/deliveries?q=order-404", "Deliveries"}, "delivery": {delivery, ""},
		"cancel":   {delivery + "/cancel", "Cancel "},
		"webhooks": {s.url + "/webhooks?application=" + string(s.house.app.ID), "Webhooks"},
		"webhook":  {s.url + hooks(s.house.endpoint), "hooks.adom.example"}, "webhook-edit": {s.url + hooks(s.house.endpoint, "/edit"), "Edit"},
		"webhook-rotate":  {s.url + hooks(s.house.endpoint, "/rotate"), "Rotate the signing"},
		"webhook-delete":  {s.url + hooks(s.house.endpoint, "/delete"), "Delete the endpoint"},
		"webhook-recover": {s.url + hooks(s.house.endpoint, "/recover"), "Recover webhooks"},
		"webhook-sent":    {s.url + hooks(s.house.endpoint, "/sent/", string(s.house.sent)), "webhook_endpoint.test"},
		"webhook-verify":  {s.url + "/webhooks/verify", "Check a signature"},
		"remove":          {s.url + "/people/" + string(s.house.people[domain.RoleViewer].ID) + "/remove", "Remove adom viewer"},
		"audit":           {s.url + "/audit", "Audit log"}, "account": {s.url + "/account", "Account"},
		"missing": {s.url + "/nothing", "Page not found"},
		"badlink": {s.url + "/enter/" + strings.Repeat("x", 43), "There is no such link"},
	} {
		browser.Go(t, p, page[0], page[1])
		examine(t, p, name)
	}
	s.storage.breakLog(ports.ErrTookTooLong)
	for name, page := range map[string][2]string{
		"requests-unread": {s.url + "/requests", "The request log cannot be read"}, "keys-unread": {list, "API keys"},
		"home-unread":     {s.url + "/", "Hello"},
		"delivery-unread": {delivery, ""},
	} {
		browser.Go(t, p, page[0], page[1])
		examine(t, p, name)
	}
	s.storage.breakLog(nil)
	browser.Go(t, p, s.url+"/people/new", "Invite a person")
	browser.Fill(t, p, "#email", "nobody@nowhere..")
	browser.Fill(t, p, "#name", "Efua")
	browser.Eval[bool](t, p, "document.querySelector('form[action=\"/people\"]').noValidate = true")
	p.Click(t, `form[action="/people"] button`)
	p.Eventually(t, "the error", "document.querySelector('#email-error') !== null && document.readyState === 'complete'")
	examine(t, p, "people-error")
	browser.Go(t, p, list+"/new", "Create a sandbox key")
	p.Click(t, createKey)
	browser.Settled(t, p, "Your new sandbox key")
	examine(t, p, "key")
	s.wait(11 * time.Minute)
	copied(t, p)
	browser.Go(t, p, s.url+s.house.keysPath(domain.Live)+"/new", "Create a live key")
	p.Click(t, createKey)
	browser.Settled(t, p, "Sign in again to continue")
	examine(t, p, "again")
	browser.WantQuiet(t, p, s.url)
}
