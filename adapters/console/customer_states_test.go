package console_test

import (
	"strings"
	"testing"
	"time"

	"waybill/domain"
	"waybill/test/browser"
)

func init() {
	admin, viewer, support := domain.RoleAdmin, domain.RoleViewer, domain.RoleSupport
	at := func(path string) string { return "/businesses/:business" + path }
	states = append(states, []state{
		{name: "businesses", role: admin, path: "/businesses", heading: "Customers", before: furnishMany},
		{name: "business-new-error", role: admin, path: "/businesses/new", heading: "Add customer", then: func(p *tab) {
			p.sendEmpty("#name", "Add customer")
		}},
		{name: "business", role: admin, path: at(""), heading: "Adom Foods"},
		{name: "business-viewer", role: viewer, path: at(""), heading: "Adom Foods"},
		{name: "business-disabled", role: admin, path: at("?done=business-disabled"), heading: "Adom Foods", before: disabledCustomer},
		{name: "business-disable", role: admin, path: at("/disable"), heading: "Disable Adom Foods?"},
		{name: "customer-apps", role: admin, path: at("/apps"), heading: "Applications"},
		{name: "customer-app", role: admin, path: at("/apps/:app"), heading: "Adom shop"},
		{name: "customer-app-disable", role: admin, path: at("/apps/:app/disable"), heading: "Disable Adom shop?"},
		{name: "customer-keys", role: admin, path: at("/apps/:app/:env/keys"), heading: "API keys", before: called},
		{name: "customer-key-revoke", role: admin, path: at("/apps/:app/:env/keys/:key/revoke"), heading: "Revoke the sandbox key",
			before: called},
		{name: "customer-people", role: admin, path: at("/people"), heading: "People"},
		{name: "customer-person-remove", role: admin, path: at("/people/:member/remove"), heading: "Remove Adom owner"},
		{name: "customer-pickups", role: admin, path: at("/pickup-locations/:env"), heading: "Pickup locations"},
		{name: "customer-pickup", role: admin, path: at("/pickup-locations/:env/:location"), heading: "Tema depot"},
		{name: "customer-pickup-import", role: admin, path: at("/pickup-locations/:env/import"), heading: "Import pickup locations"},
		{name: "customer-webhooks", role: admin, path: at("/webhooks"), heading: "Webhooks"},
		{name: "customer-webhook", role: admin, path: at("/webhooks/:endpoint"), heading: "example"},
		{name: "customer-webhook-sent", role: support, path: at("/webhooks/:endpoint/sent/:sent"), heading: "delivery.created"},
		{name: "customer-usage", role: admin, path: at("/usage"), heading: "Usage", before: called},
		{name: "customer-audit", role: support, path: at("/audit"), heading: "Audit log"},
	}...)
}

func furnishMany(t *testing.T, s *scene) {
	t.Helper()
	for _, name := range []string{"Kofi Pharmacy", "Makola Fabrics & Sons of the Ring Road Extension", strings.Repeat("Ama", 20)} {
		s.Clock.GoOn(domain.FreshFor)
		b := must[domain.Business](t)(s.tenants.CreateBusiness(t.Context(), operator, name, nil))
		if name == "Kofi Pharmacy" {
			must[domain.Business](t)(s.tenants.SetBusinessDisabled(t.Context(), operator, b.ID, true))
		}
	}
}

func disabledCustomer(t *testing.T, s *scene) {
	t.Helper()
	must[domain.Business](t)(s.tenants.SetBusinessDisabled(t.Context(), operator, s.business.ID, true))
}

func called(t *testing.T, s *scene) {
	t.Helper()
	s.called(t)
}

// called puts calls of the customer's sandbox key into the usage.
func (s *scene) called(t *testing.T) {
	t.Helper()
	minute := domain.UsageMinute{Environment: domain.Sandbox, BusinessID: s.business.ID, ApplicationID: s.app.ID,
		KeyID: domain.ID(s.ids[":key"]), Route: "POST /v1/deliveries", Status: 201}
	var minutes []domain.UsageMinute
	for i := range 40 {
		m := minute
		m.Minute, m.Calls = s.Clock.Now().Add(-time.Duration(i)*7*time.Minute).Truncate(time.Minute), int64(3+i%7)
		m.Took = time.Duration(m.Calls) * 12 * time.Millisecond
		if i%9 == 4 {
			m.Status, m.Code = 422, domain.CodeValidation
		}
		minutes = append(minutes, m)
	}
	if _, err := s.Store.WriteRequests(t.Context(), s.IDs.ID(domain.PrefixRequest).Hex(), nil, minutes); err != nil {
		t.Fatal(err)
	}
}

// press presses the button in the page with a text that begins so.
func (p *tab) press(text string) {
	p.Helper()
	browser.Eval[bool](p.T, p.Page, `[...document.querySelectorAll('main button')].filter(b => b.textContent.startsWith(`+
		browser.Quoted(text)+`)).map(b => b.id = 'pressed').length === 1`)
	p.Page.Click(p.T, "#pressed")
}

// sendEmpty sends the form of a field without it, past the browser's own check.
func (p *tab) sendEmpty(field, button string) {
	p.Helper()
	browser.Eval[bool](p.T, p.Page, "(document.querySelector("+browser.Quoted(field)+").form.noValidate = true)")
	p.fill(field, "")
	p.press(button)
	p.wantError(field)
}

// wantError waits for the page on which a field is wrong, and says why.
func (p *tab) wantError(field string) {
	p.Helper()
	p.Eventually(p.T, "the error of "+field, "document.readyState === 'complete' && document.querySelector("+
		browser.Quoted(field+"[aria-invalid=true]")+") !== null && document.querySelector("+browser.Quoted(field+"-error")+") !== null")
}
