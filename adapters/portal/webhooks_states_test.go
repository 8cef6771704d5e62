package portal_test

import (
	"fmt"
	"strings"
	"time"

	"waybill/application/webhooks"
	"waybill/domain"
	"waybill/test/browser"
)

// everyWebhookState looks at what the pages of webhooks turn into.
func everyWebhookState(w *walk) {
	s, t := w.scene, w.T
	e, list := s.house.endpoint, "/webhooks?application="+string(s.house.app.ID)
	w.in(domain.RoleViewer).show("webhooks-viewer", hooks(e), e.Host())

	// An endpoint is made, and one is not.
	p := w.in(domain.RoleDeveloper)
	p.show("webhooks-empty-list", list+"&environment=live", "Webhooks")
	p.to("/webhooks/new"+list[len("/webhooks"):]+"&environment=sandbox", "Create a sandbox endpoint")
	p.fill("#url", "http://10.0.0.1/in")
	browser.Eval[bool](t, p.Page, "(document.querySelector('input[value=\"delivery.*\"]').checked = false) === false")
	browser.Eval[bool](t, p.Page, "(document.querySelector('form[method=post][action=\"/webhooks\"]').noValidate = true)")
	p.Page.Click(t, createKey)
	p.want("Choose at least one event")
	examine(t, p.Page, "webhooks-form-errors")
	p.to("/webhooks/new", "Create a sandbox endpoint")
	p.fill("#url", "https://hooks.example.com/new")
	p.click(createKey, "Your new sandbox endpoint")
	examine(t, p.Page, "webhooks-secret")
	p.copied()
	p.to(hooks(e, "/rotate"), "Rotate the signing secret")
	p.click(`form[action$="/rotate"] button`, "The new signing secret")
	p.copied()
	p.show("webhooks-two-secrets", hooks(e), e.Host())

	// It fails, and is switched off.
	for range 3 {
		s.sends(t, e)
	}
	since, open := s.Clock.Now().Add(-domain.WarnAfter), s.Clock.Now().Add(4*time.Minute)
	s.ails(t, e, func(e *domain.WebhookEndpoint) {
		e.Health = domain.WebhookHealth{Failures: 10, FailingSince: &since, OpenUntil: &open, Opened: 1}
	})
	p.show("webhooks-fails-long", hooks(e), e.Host())
	s.ails(t, e, func(e *domain.WebhookEndpoint) { e.Enabled, e.Disabled = false, domain.DisabledFailing })
	p.show("webhooks-off", hooks(e), e.Host())
	// Its words may be long, and there may be as many as there can be.
	shop := must[domain.Application](t)(s.tenants.CreateApplication(t.Context(), operator, s.house.business.ID, hostile[0]))
	tenant := s.house.tenant(domain.Sandbox)
	tenant.ApplicationID = shop.ID
	for i := range domain.MaxWebhookEndpoints {
		once := s.IDs.ID(domain.PrefixWebhookEndpoint)
		must[webhooks.Secret](t)(s.endpoints().Create(t.Context(), s.house.actor(domain.RoleOwner), once, tenant,
			webhooks.Form{URL: fmt.Sprintf("https://%s.example/%s%d", strings.Repeat("n", 60), strings.Repeat("p", 200), i),
				Description: hostile[i%len(hostile)], EventTypes: domain.EventPatterns(), Enabled: true}))
	}
	p.show("webhooks-full", "/webhooks?application="+string(shop.ID), "Webhooks")
	p.click("main tbody a", "nnnn")
	examine(t, p.Page, "webhooks-long")
}
