package webhooks

import (
	"strconv"
	"time"

	"waybill/domain"
	"waybill/ports"
)

// Message returns the signed request for an attempt that is made now.
func Message(e domain.WebhookEndpoint, secrets [][]byte, w ports.OutgoingWebhook, now time.Time) ports.WebhookMessage {
	return ports.WebhookMessage{
		URL: e.URL, Body: w.Payload, Owner: string(e.Tenant.BusinessID) + " " + string(e.Tenant.Environment),
		Header: map[string]string{
			domain.HeaderWebhookID:        string(w.EventID),
			domain.HeaderWebhookTimestamp: strconv.FormatInt(now.Unix(), 10),
			domain.HeaderWebhookSignature: domain.SignWebhook(secrets, w.EventID, now, w.Payload),
			domain.HeaderWebhookAttempt:   strconv.Itoa(w.Attempts + 1),
		},
	}
}

// EndpointEvent returns an event about an endpoint itself.
func EndpointEvent(r ports.EventRenderer, e domain.WebhookEndpoint, id domain.ID, of domain.EventType, at time.Time) (domain.FeedEvent,
	error) {
	payload, err := r.EndpointEvent(e, id, of, at)
	return domain.FeedEvent{ID: id, Type: of, OccurredAt: at, Payload: payload}, err
}
