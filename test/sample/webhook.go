package sample

import (
	"time"

	"waybill/domain"
	"waybill/ports"
)

// WebhookEndpoint takes all events. It failed lately and has two secrets; its
// circuit is closed again, and it is enabled.
func WebhookEndpoint(t domain.Tenant, with ...func(*domain.WebhookEndpoint)) domain.WebhookEndpoint {
	id := ID(domain.PrefixWebhookEndpoint)
	failing, open, slow, expires := Now.Add(-time.Hour), Now.Add(-time.Minute), Now.Add(-time.Second), Now.Add(48*time.Hour)
	return build(domain.WebhookEndpoint{
		ID:          id,
		Tenant:      t,
		URL:         "https://hooks.example.com/" + id.Hex(),
		EventTypes:  []string{domain.AllEvents, "delivery.assigned"},
		Description: "The till's own",
		Enabled:     true,
		Secrets: []domain.SigningSecret{
			{Sealed: []byte("sealed new " + id)},
			{Sealed: []byte("sealed old " + id), ExpiresAt: &expires},
		},
		Health:    domain.WebhookHealth{Failures: 3, FailingSince: &failing, OpenUntil: &open, Opened: 2, SlowUntil: &slow},
		CreatedAt: Now.Add(10 * time.Second),
		UpdatedAt: Now.Add(11 * time.Second),
	}, with)
}

// EndpointEvent is one of an endpoint, not of a delivery.
func EndpointEvent(of domain.EventType, with ...func(*domain.FeedEvent)) domain.FeedEvent {
	id := ID(domain.PrefixEvent)
	return build(domain.FeedEvent{
		ID: id, Type: of, OccurredAt: Now.Add(12 * time.Second), Payload: []byte(`{"id":"` + string(id) + `"}`),
	}, with)
}

// WebhookOutcome is an attempt at the webhook delivery that ended so at a time.
// A failing one is tried again by the schedule of the sandbox.
func WebhookOutcome(d domain.WebhookDelivery, r domain.WebhookResult, at time.Time) ports.WebhookOutcome {
	attempt := d.Record(ID(domain.PrefixWebhookAttempt), r, domain.DefaultRetrySchedule(domain.Sandbox), false, 0.5, at)
	return ports.WebhookOutcome{Delivery: d, Attempt: attempt}
}

// Arrived is how an attempt ends that succeeds.
func Arrived(at time.Time) domain.WebhookResult {
	return domain.WebhookResult{StatusCode: 204, StartedAt: at, Duration: 12 * time.Millisecond, Excerpt: "thanks"}
}

// Refused is how an attempt ends that the receiver fails.
func Refused(at time.Time) domain.WebhookResult {
	return domain.WebhookResult{StatusCode: 503, Error: domain.ErrorHTTP5xx, StartedAt: at, Duration: 34 * time.Millisecond,
		Excerpt: "later, please"}
}
