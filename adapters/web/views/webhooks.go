package views

import (
	"time"

	"waybill/domain"
)

// WebhookEndpoint is the URL that receives the events of an application.
type WebhookEndpoint struct {
	ID             string   `json:"id"`
	URL            string   `json:"url"`
	EventTypes     []string `json:"event_types"`
	Description    string   `json:"description,omitempty"`
	Enabled        bool     `json:"enabled"`
	Status         string   `json:"status"`
	DisabledReason string   `json:"disabled_reason,omitempty"`
	FailingSince   *string  `json:"failing_since"`
	PausedUntil    *string  `json:"paused_until,omitempty"`
	PreviousSecret *string  `json:"previous_secret_expires_at,omitempty"`
	Environment    string   `json:"environment"`
	CreatedAt      string   `json:"created_at"`
	UpdatedAt      string   `json:"updated_at"`
}

// NewWebhookEndpoint converts an endpoint.
func NewWebhookEndpoint(e domain.WebhookEndpoint) WebhookEndpoint {
	var previous *time.Time
	if len(e.Secrets) > 1 {
		previous = e.Secrets[1].ExpiresAt
	}
	return WebhookEndpoint{
		ID: string(e.ID), URL: e.URL, EventTypes: e.EventTypes, Description: e.Description, Enabled: e.Enabled,
		Status: string(e.Status()), DisabledReason: string(e.Disabled), FailingSince: Time(e.Health.FailingSince),
		PausedUntil:    Time(e.Health.OpenUntil),
		PreviousSecret: Time(previous),
		Environment:    string(e.Tenant.Environment),
		CreatedAt:      domain.FormatTime(e.CreatedAt), UpdatedAt: domain.FormatTime(e.UpdatedAt),
	}
}

// WebhookEndpointSecret is an endpoint with its signing secret. Only creation and rotation return
// it.
type WebhookEndpointSecret struct {
	WebhookEndpoint
	Secret string `json:"secret"`
}

// WebhookDelivery is one event for one endpoint.
type WebhookDelivery struct {
	ID            string  `json:"id"`
	EndpointID    string  `json:"endpoint_id"`
	EventID       string  `json:"event_id"`
	EventType     string  `json:"event_type"`
	DeliveryID    string  `json:"delivery_id,omitempty"`
	Sequence      int     `json:"sequence,omitzero"`
	Status        string  `json:"status"`
	Attempts      int     `json:"attempts"`
	NextAttemptAt *string `json:"next_attempt_at"`
	CreatedAt     string  `json:"created_at"`
}

// NewWebhookDelivery converts the state of one event for one endpoint.
func NewWebhookDelivery(d domain.WebhookDelivery) WebhookDelivery {
	return WebhookDelivery{
		ID: string(d.ID), EndpointID: string(d.EndpointID), EventID: string(d.EventID), EventType: string(d.EventType),
		DeliveryID: string(d.DeliveryID), Sequence: d.Sequence, Status: string(d.Status), Attempts: d.Attempts,
		NextAttemptAt: Time(d.DueAt), CreatedAt: domain.FormatTime(d.CreatedAt),
	}
}

// WebhookAttempt is one attempt to send it.
type WebhookAttempt struct {
	ID              string  `json:"id"`
	Attempt         int     `json:"attempt"`
	Trigger         string  `json:"trigger"`
	StatusCode      int     `json:"status_code,omitzero"`
	ErrorClass      string  `json:"error_class,omitempty"`
	DurationMS      int64   `json:"duration_ms"`
	ResponseExcerpt string  `json:"response_excerpt,omitempty"`
	NextAttemptAt   *string `json:"next_attempt_at"`
	StartedAt       string  `json:"started_at"`
}

// NewWebhookAttempt converts an attempt.
func NewWebhookAttempt(a domain.WebhookAttempt) WebhookAttempt {
	return WebhookAttempt{
		ID: string(a.ID), Attempt: a.Number, Trigger: string(a.Trigger), StatusCode: a.Result.StatusCode,
		ErrorClass: string(a.Result.Error), DurationMS: a.Result.Duration.Milliseconds(), ResponseExcerpt: a.Result.Excerpt,
		NextAttemptAt: Time(a.NextAt), StartedAt: domain.FormatTime(a.Result.StartedAt),
	}
}

// WebhookRecovery is the result of a recovery.
type WebhookRecovery struct {
	Queued  int  `json:"queued"`
	HasMore bool `json:"has_more"`
}

// WebhookListener is a program that fetches its events.
type WebhookListener struct {
	ID          string   `json:"id"`
	EventTypes  []string `json:"event_types"`
	Environment string   `json:"environment"`
	CreatedAt   string   `json:"created_at"`
	ExpiresAt   string   `json:"expires_at"` // unless it fetches events earlier
}

// NewWebhookListener converts a listener. alive is when it was last seen.
func NewWebhookListener(e domain.WebhookEndpoint, alive time.Time) WebhookListener {
	return WebhookListener{
		ID: string(e.ID), EventTypes: e.EventTypes, Environment: string(e.Tenant.Environment),
		CreatedAt: domain.FormatTime(e.CreatedAt), ExpiresAt: domain.FormatTime(alive.Add(domain.ListenerLife)),
	}
}

// WebhookListenerSecret is a listener together with its signing secret.
type WebhookListenerSecret struct {
	WebhookListener
	Secret string `json:"secret"`
}

// FetchedWebhooks lists the webhooks that a listener has to forward.
type FetchedWebhooks struct {
	Webhooks []FetchedWebhook `json:"webhooks"`
}

// FetchedWebhook is one request that a listener makes.
type FetchedWebhook struct {
	WebhookDeliveryID string            `json:"webhook_delivery_id"`
	EventID           string            `json:"event_id"`
	EventType         string            `json:"event_type"`
	Attempt           int               `json:"attempt"`
	Headers           map[string]string `json:"headers"`
	Body              string            `json:"body"` // the bytes that are signed
}
