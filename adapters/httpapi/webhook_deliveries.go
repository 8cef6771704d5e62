package httpapi

import (
	"context"
	"net/http"

	"waybill/adapters/web"
	"waybill/adapters/web/views"
	"waybill/domain"
)

func (a *API) listWebhookDeliveries(c *call) (reply, error) {
	filter := domain.WebhookDeliveryFilter{
		Status:        domain.WebhookStatus(c.query.OneOf("status", web.Texts(domain.WebhookStatuses())...)),
		EventType:     domain.EventType(c.query.OneOf("event_type", web.Texts(domain.EventTypes())...)),
		DeliveryID:    c.query.ID("delivery_id", domain.PrefixDelivery),
		CreatedAfter:  c.query.Time("created_after"),
		CreatedBefore: c.query.Time("created_before"),
	}
	p, err := a.pageRequest(c, domain.PrefixWebhookDelivery)
	if err != nil {
		return reply{}, err
	}
	found, err := a.Webhooks.Deliveries(c.Request.Context(), c.tenant, c.id, filter, p)
	if err != nil {
		return reply{}, err
	}
	found, m := page(a, c, found, p.Limit, func(d domain.WebhookDelivery) domain.Position {
		return domain.Position{CreatedAt: d.CreatedAt, ID: d.ID}
	})
	return list("Webhook deliveries listed.", web.Each(found, views.NewWebhookDelivery), m), nil
}

func (a *API) getWebhookDelivery(c *call) (reply, error) {
	found, err := a.Webhooks.Delivery(c.Request.Context(), c.tenant, c.id)
	if err != nil {
		return reply{}, err
	}
	return ok("Webhook delivery found.", views.NewWebhookDelivery(found)), nil
}

func (a *API) webhookDeliveryExists(ctx context.Context, t domain.Tenant, id domain.ID) error {
	_, err := a.Webhooks.Delivery(ctx, t, id)
	return err
}

func (a *API) listWebhookAttempts(c *call) (reply, error) {
	found, err := a.Webhooks.Attempts(c.Request.Context(), c.tenant, c.id)
	if err != nil {
		return reply{}, err
	}
	found, m, err := wholeOrPage(a, c, domain.PrefixWebhookAttempt, found, func(made domain.WebhookAttempt) domain.Position {
		return domain.Position{CreatedAt: made.Result.StartedAt, ID: made.ID}
	})
	if err != nil {
		return reply{}, err
	}
	return list("Attempts listed.", web.Each(found, views.NewWebhookAttempt), m), nil
}

func (a *API) redeliverWebhook(c *call) (reply, error) {
	return replyOf(a.Webhooks.Redeliver(c.Request.Context(), c.idempotencyRequest(), c.id, webhookDeliveryAnswer("Redelivery queued.")))
}

// webhookDeliveryAnswer responds 202 with the webhook that will be sent.
func webhookDeliveryAnswer(message string) func(domain.WebhookDelivery) domain.Answer {
	return func(d domain.WebhookDelivery) domain.Answer {
		return answer(http.StatusAccepted, "", message, views.NewWebhookDelivery(d))
	}
}
