package deliveries

import (
	"context"

	"waybill/domain"
	"waybill/ports"
)

// SentWebhook is an event of a delivery as it was sent to an endpoint.
type SentWebhook struct {
	domain.WebhookDelivery
	URL      string
	Attempts []domain.WebhookAttempt // the last ones, by number
}

// webhooksTold is how many webhooks for an endpoint are told of: more than a delivery
// has events.
const webhooksTold = 50

// Webhooks are what became of the events of a delivery at the endpoints of its application.
func Webhooks(ctx context.Context, read ports.Readers, d *domain.Delivery) (all []SentWebhook, err error) {
	endpoints, err := read.Webhooks.Endpoints(ctx, d.Tenant, domain.PageRequest{Limit: domain.MaxWebhookEndpoints})
	if err != nil {
		return nil, err
	}
	of := domain.WebhookDeliveryFilter{DeliveryID: d.ID, CreatedAfter: &d.CreatedAt}
	for _, e := range endpoints {
		sent, err := read.Webhooks.Deliveries(ctx, d.Tenant, e.ID, of, domain.PageRequest{Limit: webhooksTold})
		if err != nil {
			return nil, err
		}
		for _, w := range sent[:min(len(sent), webhooksTold)] {
			shown := SentWebhook{WebhookDelivery: w, URL: e.URL}
			if w.Attempts > 0 {
				if shown.Attempts, err = read.Webhooks.Attempts(ctx, d.Tenant, w.ID); err != nil {
					return nil, err
				}
			}
			all = append(all, shown)
		}
	}
	return all, nil
}
