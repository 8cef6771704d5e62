package portal_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"waybill/application/webhooks"
	"waybill/domain"
	"waybill/test/browser"
)

// signed is a webhook as a receiver gets it: its headers, with a signature of now by the secret, and its body.
func (s *scene) signed(t *testing.T, e domain.WebhookEndpoint, secret string) (headers, body string) {
	t.Helper()
	sent := must[domain.WebhookDelivery](t)(s.Store.Read().Webhooks.Delivery(t.Context(), e.Tenant, s.house.sent))
	payload := must[domain.FeedEvent](t)(s.Store.Read().Feed.Event(t.Context(), e.Tenant, sent.EventID)).Payload
	now := s.Clock.Now()
	return fmt.Sprintf("webhook-id: %s\nwebhook-timestamp: %d\nwebhook-signature: %s", sent.EventID, now.Unix(),
		domain.SignWebhook([][]byte{must[[]byte](t)(decoded(secret))}, sent.EventID, now, payload)), string(payload)
}

// bench pastes a webhook and asks about it.
func (p *tab) bench(headers, body, secret, want string) {
	p.Helper()
	p.to("/webhooks/verify?application="+string(p.house.app.ID), "Check a signature")
	p.fill("#headers", headers)
	p.fill("#body", body)
	p.fill("#secret", secret)
	p.Page.Click(p.T, "main form button")
	p.want(want)
	if p.shows(secret) || browser.Eval[string](p.T, p.Page, "document.querySelector('#secret').value") != "" {
		p.Error("the secret is on the page of the bench")
	}
}

// everyWebhookState looks at what the pages of webhooks turn into.
func everyWebhookState(w *walk) {
	s, t := w.scene, w.T
	e, list := s.house.endpoint, "/webhooks?application="+string(s.house.app.ID)
	w.in(domain.RoleViewer).show("webhooks-viewer", hooks(e), e.Host())

	// An endpoint is made, and one is not.
	p := w.in(domain.RoleDeveloper)
	p.show("webhooks-empty-list", list+"&environment=live", "Webhooks")
	p.to(list, "Webhooks")
	p.fill("#url", "http://10.0.0.1/in")
	browser.Eval[bool](t, p.Page, "(document.querySelector('input[value=\"delivery.*\"]').checked = false) === false")
	browser.Eval[bool](t, p.Page, "(document.querySelector('form[method=post][action=\"/webhooks\"]').noValidate = true)")
	p.Page.Click(t, createKey)
	p.want("Choose at least one of the list")
	examine(t, p.Page, "webhooks-form-errors")
	p.to(list, "Webhooks")
	p.fill("#url", "https://hooks.example.com/new")
	p.click(createKey, "Your new sandbox endpoint")
	examine(t, p.Page, "webhooks-secret")
	p.copied()
	p.to(hooks(e, "/rotate"), "Rotate the signing secret")
	p.click(`form[action$="/rotate"] button`, "The new signing secret")
	secret := p.secret()
	p.copied()
	p.show("webhooks-two-secrets", hooks(e), e.Host())

	// The bench.
	headers, body := s.signed(t, e, secret)
	p.bench(headers, body, secret, "The signature verifies")
	examine(t, p.Page, "webhooks-bench-right")
	p.bench(headers, strings.ReplaceAll(body, ":", ": "), secret, "other spaces")
	examine(t, p.Page, "webhooks-bench-changed")

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
