package integrator

import (
	"fmt"

	"waybill/adapters/clients/go/waybillapi"
	"waybill/domain"
)

// incomingWebhook is a webhook that was fetched.
type incomingWebhook struct {
	waybillapi.FetchedWebhook
	payload  waybillapi.WebhookEvent
	listener string // that fetched it
}

// deliveryOf returns the ID of the delivery that an event is about, or "" for none.
func deliveryOf(e *waybillapi.WebhookEvent) string {
	if e.Data.Delivery == nil {
		return ""
	}
	return e.Data.Delivery.ID
}

// key identifies one attempt of one webhook.
func (w *incomingWebhook) key() string { return attemptKey(w.WebhookDeliveryID, w.Attempt) }

func attemptKey(webhook string, attempt int) string { return fmt.Sprintf("%s/%d", webhook, attempt) }

// group returns the key of webhooks that are sent in order: all of one delivery.
func (w *incomingWebhook) group() string {
	if id := deliveryOf(&w.payload); id != "" {
		return id
	}
	return w.WebhookDeliveryID
}

// header returns the signed headers and the number of the attempt. It passes on nothing else
// that a sandbox sends.
func (w *incomingWebhook) header() map[string]string {
	h := map[string]string{}
	for _, name := range []string{domain.HeaderWebhookID, domain.HeaderWebhookTimestamp, domain.HeaderWebhookSignature,
		domain.HeaderWebhookAttempt} {
		if value, there := w.Headers[name]; there {
			h[name] = value
		}
	}
	return h
}
