package portal_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"waybill/application/people"
	"waybill/application/webhooks"
	"waybill/domain"
	"waybill/test/browser"
)

const otherSecret = "whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="

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

// unchecked lets a form go with what the browser would refuse.
func (p *tab) unchecked(action string) {
	p.Helper()
	browser.Eval[bool](p.T, p.Page, "(document.querySelector('form[method=post][action="+browser.Quoted(action)+"]').noValidate = true)")
}

// everyWebhookState looks at what the pages of webhooks turn into.
func everyWebhookState(t *testing.T, b *browser.Browser) {
	s := newScene(t)
	w := &walk{T: t, scene: s, browser: b}
	e, list := s.house.endpoint, "/webhooks?application="+string(s.house.app.ID)
	show := func(p *tab, name, path, heading string) {
		t.Helper()
		p.to(path, heading)
		examine(t, p.Page, "webhooks-"+name)
	}
	viewer := w.in(domain.RoleViewer)
	for _, page := range []string{"", "/edit", "/rotate", "/delete", "/recover"} {
		show(viewer, "viewer"+strings.ReplaceAll(page, "/", "-"), hooks(e, page), "")
	}
	show(viewer, "viewer-list", list, "Webhooks")

	// Before anything is there.
	empty := must[domain.Business](t)(s.tenants.CreateBusiness(t.Context(), operator, "Empty", nil))
	first := must[people.Issued](t)(s.directory.Invite(t.Context(), operator,
		people.Invitation{BusinessID: empty.ID, Email: "first@empty.example", Name: "First", Role: "owner"}))
	p := w.open("/enter/" + first.Secret)
	p.click("main button", "Hello, First")
	show(p, "no-application", "/webhooks", "Webhooks")
	show(p, "bench-no-application", "/webhooks/verify", "Check a signature")

	// An endpoint is made, and one is not.
	p = w.in(domain.RoleDeveloper)
	show(p, "empty-list", list+"&environment=live", "Webhooks")
	p.to(list, "Webhooks")
	p.fill("#url", "http://10.0.0.1/in")
	browser.Eval[bool](t, p.Page, "(document.querySelector('input[value=\"delivery.*\"]').checked = false) === false")
	p.unchecked("/webhooks")
	p.Page.Click(t, createKey)
	p.want("Choose at least one of the list")
	examine(t, p.Page, "webhooks-form-errors")
	p.to(list, "Webhooks")
	p.fill("#url", "https://hooks.example.com/new")
	p.click(createKey, "Your new sandbox endpoint")
	examine(t, p.Page, "webhooks-secret")
	p.copied()
	p.click(`main a.button[href^="/webhooks/whe_"]`, "hooks.example.com")
	examine(t, p.Page, "webhooks-new")
	p.click(`form[action$="/test"] button`, "webhook_endpoint.test")
	examine(t, p.Page, "webhooks-not-tried")
	p.to(hooks(e, "/rotate"), "Rotate the signing secret")
	p.click(`form[action$="/rotate"] button`, "The new signing secret")
	examine(t, p.Page, "webhooks-rotated")
	secret := p.secret()
	p.copied()
	show(p, "two-secrets", hooks(e), e.Host())
	show(p, "rotate-again", hooks(e, "/rotate"), "Rotate the signing secret")

	// The bench.
	headers, body := s.signed(t, e, secret)
	p.bench(headers, body, secret, "The signature verifies")
	examine(t, p.Page, "webhooks-bench-right")
	p.bench(headers, body, otherSecret, "signed with the secret of the sandbox endpoint at hooks.adom.example")
	examine(t, p.Page, "webhooks-bench-wrong")
	p.bench(headers, strings.ReplaceAll(body, ":", ": "), secret, "other spaces")
	examine(t, p.Page, "webhooks-bench-changed")
	p.to("/webhooks/verify?application="+string(s.house.app.ID), "Check a signature")
	p.Page.Click(t, "main form button")
	p.want("Paste the headers of the webhook")
	examine(t, p.Page, "webhooks-bench-errors")

	// It fails, will be switched off, is, and is paused.
	for range 3 {
		s.sends(t, e)
	}
	since := s.Clock.Now()
	fails := func(since time.Time) {
		open := s.Clock.Now().Add(4 * time.Minute)
		s.ails(t, e, func(e *domain.WebhookEndpoint) {
			e.Health = domain.WebhookHealth{Failures: 10, FailingSince: &since, OpenUntil: &open, Opened: 1}
		})
	}
	fails(since)
	show(p, "fails", hooks(e), e.Host())
	fails(since.Add(-domain.WarnAfter))
	show(p, "fails-long", hooks(e), e.Host())
	show(p, "fails-list", list, "Webhooks")
	s.ails(t, e, func(e *domain.WebhookEndpoint) { e.Enabled, e.Disabled = false, domain.DisabledFailing })
	show(p, "off", hooks(e), e.Host())
	show(p, "off-list", list, "Webhooks")
	show(p, "off-recover", hooks(e, "/recover"), "Recover webhooks")
	p.Page.Click(t, `nav .crumbs li:last-child a`)
	settled(t, p.Page, e.Host())
	p.Page.Click(t, `form[action$="/resume"] button`)
	p.want("The endpoint was resumed")
	examine(t, p.Page, "webhooks-resumed")
	p.Page.Click(t, `form[action$="/pause"] button`)
	p.want("The endpoint was paused")
	examine(t, p.Page, "webhooks-paused")
	p.Page.Click(t, `form[action$="/test"] button`)
	p.want("Resume it first")
	examine(t, p.Page, "webhooks-paused-test")
	p.Page.Click(t, `form[action$="/resume"] button`)
	p.want("The endpoint was resumed")

	// A recovery, before and after.
	show(p, "recover-before", hooks(e, "/recover"), "Recover webhooks")
	show(p, "recover-none", hooks(e, "/recover?since=2026-03-01&until=2026-03-02"), "Recover webhooks")
	p.to(hooks(e, "/recover"), "Recover webhooks")
	p.Page.Click(t, `form[method="post"][action$="/recover"] button`)
	p.want("on their way again")
	examine(t, p.Page, "webhooks-recover-after")
	p.to(hooks(e)+"?status=succeeded", e.Host())
	examine(t, p.Page, "webhooks-none-such")

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
	show(p, "full", "/webhooks?application="+string(shop.ID), "Webhooks")
	p.click("main tbody a", "nnnn")
	examine(t, p.Page, "webhooks-long")
	p.click(`main a[href$="/delete"]`, "Delete the endpoint at")
	p.Page.Click(t, "button.danger")
	p.want("The endpoint was deleted")
	examine(t, p.Page, "webhooks-deleted")
}
