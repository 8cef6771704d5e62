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

// maxWebhooks limits the webhooks listed per endpoint. A delivery has fewer events.
const maxWebhooks = 50

// Webhooks lists the webhooks of a delivery's events at the endpoints of its application.
func Webhooks(ctx context.Context, read ports.Readers, d *domain.Delivery) (all []SentWebhook, err error) {
	endpoints, err := read.Webhooks.Endpoints(ctx, d.Tenant, domain.PageRequest{Limit: domain.MaxWebhookEndpoints})
	if err != nil {
		return nil, err
	}
	of := domain.WebhookDeliveryFilter{DeliveryID: d.ID, CreatedAfter: &d.CreatedAt}
	for _, e := range endpoints {
		sent, err := read.Webhooks.Deliveries(ctx, d.Tenant, e.ID, of, domain.PageRequest{Limit: maxWebhooks})
		if err != nil {
			return nil, err
		}
		for _, w := range sent[:min(len(sent), maxWebhooks)] {
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
