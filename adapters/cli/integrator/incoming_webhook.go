package integrator

import (
	"fmt"

	"waybill/adapters/web/views"
	"waybill/domain"
)

// incomingWebhook is a webhook that was fetched.
type incomingWebhook struct {
	views.FetchedWebhook
	payload  webhookPayload
	listener string // that fetched it
}

// webhookPayload is what these commands read of a body.
type webhookPayload struct {
	ID        string `json:"id"`
	Type      string `json:"type"`
	Timestamp string `json:"timestamp"`
	Sequence  int    `json:"sequence"`
	Data      struct {
		Delivery struct {
			ID     string `json:"id"`
			Status string `json:"status"`
		} `json:"delivery"`
		PreviousStatus string `json:"previous_status"`
		ReasonCode     string `json:"reason_code"`
	} `json:"data"`
}

// key names one attempt of one webhook.
func (w *incomingWebhook) key() string { return fmt.Sprintf("%s/%d", w.WebhookDeliveryID, w.Attempt) }

// lane is what is delivered in order: all webhooks of one delivery.
func (w *incomingWebhook) lane() string {
	if id := w.payload.Data.Delivery.ID; id != "" {
		return id
	}
	return w.WebhookDeliveryID
}

// header is what is signed, and the number of the attempt. Anything else that a
// sandbox sends is not passed on.
func (w *incomingWebhook) header() map[string]string {
	h := map[string]string{}
	for _, name := range []string{domain.HeaderWebhookID, domain.HeaderWebhookTimestamp, domain.HeaderWebhookSignature, domain.HeaderWebhookAttempt} {
		if value, there := w.Headers[name]; there {
			h[name] = value
		}
	}
	return h
}

// webhookResult is how an attempt ended, as the sandbox is told.
type webhookResult struct {
	WebhookDeliveryID string `json:"webhook_delivery_id"`
	Attempt           int    `json:"attempt"`
	StatusCode        int    `json:"status_code,omitempty"`
	ErrorClass        string `json:"error_class,omitempty"`
	DurationMS        int64  `json:"duration_ms"`
	ResponseExcerpt   string `json:"response_excerpt,omitempty"`

	key string
}
