package portal_test

import (
	"strings"

	"waybill/domain"
	"waybill/test/browser"
	"waybill/test/sample"
)

// Webhooks, what people come for.
func init() {
	journeys = append(journeys, []journey{
		{"an endpoint is created, tested, answers an error, and is sent the event again", true, firstEndpoint},
		{"a signing secret is rotated and shown once", false, rotateSigningSecret},
	}...)
}

// endpoint is the one whose page is shown.
func (p *tab) endpoint() domain.WebhookEndpoint {
	p.Helper()
	path := strings.Split(browser.Eval[string](p.T, p.Page, "location.pathname"), "/")
	return must[domain.WebhookEndpoint](p.T)(p.Store.Read().Webhooks.EndpointOf(p.Context(), p.house.business.ID, domain.ID(path[2])))
}

func firstEndpoint(w *walk) {
	p := w.in(domain.RoleDeveloper)
	p.to("/", "Hello")
	p.click(`nav a[href="/webhooks"]`, "Webhooks")
	p.to("/webhooks?application="+string(w.house.app.ID), "Webhooks")
	p.fill("#url", "https://hooks.example.com/in?token=s3cret")
	p.click(createKey, "Your new sandbox endpoint")
	secret := p.secret()
	if copies := browser.Eval[bool](w.T, p.Page, "!document.querySelector('[data-copy=once]').hidden"); copies == w.reader.NoScripts {
		w.Errorf("the button that copies is shown: %v", copies)
	}
	p.copied()
	p.click(`main a.button[href^="/webhooks/whe_"]`, "hooks.example.com")
	if !strings.HasPrefix(secret, "whsec_") || p.shows(secret) || p.shows("s3cret") {
		w.Errorf("the page shows the secret %q, or the query of the address", secret)
	}
	p.click(`form[action$="/test"] button`, "webhook_endpoint.test")
	p.want("Not tried yet")
	e := p.endpoint()
	due := must[[]domain.WebhookDelivery](w.T)(w.Store.Read().Webhooks.Deliveries(w.Context(), e.Tenant, e.ID, domain.WebhookDeliveryFilter{},
		domain.PageRequest{Limit: 2}))
	if len(due) != 1 {
		w.Fatalf("one test made %d webhooks", len(due))
	}
	refused := sample.Refused(w.Clock.Now())
	e.Health = e.Health.After(refused, w.Clock.Now())
	w.settles(w.T, e, due[0], refused)
	p.to(hooks(e, "/sent/", string(due[0].ID)), "webhook_endpoint.test")
	p.want("answered 503")
	p.to(hooks(e), "hooks.example.com")
	p.want("fails")
	p.click(`main tbody a[href*="/sent/"]`, "webhook_endpoint.test")
	p.Page.Click(w.T, `form[action$="/resend"] button`)
	p.want("One more try is on its way")
	again := must[domain.WebhookDelivery](w.T)(w.Store.Read().Webhooks.Delivery(w.Context(), e.Tenant, due[0].ID))
	if again.Trigger != domain.TriggerManual || again.Status != domain.WebhookPending {
		w.Errorf("the webhook is %s, by %s", again.Status, again.Trigger)
	}
	e.Health = domain.WebhookHealth{}
	w.settles(w.T, e, again, sample.Arrived(w.Clock.Now()))
	p.to(hooks(e, "/sent/", string(due[0].ID)), "webhook_endpoint.test")
	p.want("answered 204")
	p.want("by hand")
	p.to(hooks(e), "hooks.example.com")
	p.want("works")
}

func rotateSigningSecret(w *walk) {
	p := w.in(domain.RoleDeveloper)
	p.to(hooks(w.house.endpoint), "hooks.adom.example")
	p.click(`main a[href$="/rotate"]`, "Rotate the signing secret")
	p.click(`form[action$="/rotate"] button`, "The new signing secret")
	secret := p.secret()
	p.copied()
	p.click(`main a.button[href^="/webhooks/whe_"]`, "hooks.adom.example")
	if p.shows(secret) || !p.shows("two secrets") {
		w.Error("the page has the new secret, or does not tell of the one before")
	}
	p.to(hooks(w.house.endpoint, "/rotate"), "Rotate the signing secret")
	p.want("it ends at once when you rotate again")
	e := p.endpoint()
	if n := len(e.ActiveSecrets(w.Clock.Now())); n != 2 {
		w.Errorf("%d secrets sign", n)
	}
}
