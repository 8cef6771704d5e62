package gormstore

import (
	"encoding/json"
	"fmt"
	"time"

	"waybill/domain"
)

type webhookEndpointRow struct {
	ID             rowID `gorm:"primaryKey"`
	ApplicationID  rowID
	BusinessID     rowID
	Environment    string
	Slot           *int // null: deleted
	URL            string
	EventTypes     string
	EventMask      int64
	Description    string
	Enabled        bool
	DisabledReason string
	Listener       bool
	Secret         []byte
	PreviousSecret []byte
	PreviousUntil  *instant
	Failures       int
	FailingSince   *instant
	OpenUntil      *instant
	Opened         int
	SlowUntil      *instant
	CreatedAt      instant
	UpdatedAt      instant
}

func (webhookEndpointRow) TableName() string { return "webhook_endpoints" }

func newWebhookEndpointRow(e domain.WebhookEndpoint) (webhookEndpointRow, error) {
	types, err := json.Marshal(e.EventTypes)
	if err != nil {
		return webhookEndpointRow{}, fmt.Errorf("write event types: %w", err)
	}
	mask, ok := domain.MaskOfPatterns(e.EventTypes)
	if !ok || len(e.Secrets) == 0 {
		return webhookEndpointRow{}, fmt.Errorf("a webhook endpoint with event types %s and %d secrets", types, len(e.Secrets))
	}
	row := webhookEndpointRow{
		ID: rowIDOf(e.ID), ApplicationID: rowIDOf(e.Tenant.ApplicationID), BusinessID: rowIDOf(e.Tenant.BusinessID),
		Environment: string(e.Tenant.Environment), Slot: &e.Slot, URL: e.URL, EventTypes: string(types), EventMask: int64(mask),
		Description: e.Description, Enabled: e.Enabled, DisabledReason: string(e.Disabled), Listener: e.Listener,
		Secret: e.Secrets[0].Sealed, CreatedAt: instantOf(e.CreatedAt), UpdatedAt: instantOf(e.UpdatedAt),
	}
	if len(e.Secrets) > 1 {
		row.PreviousSecret, row.PreviousUntil = e.Secrets[1].Sealed, optionalInstant(e.Secrets[1].ExpiresAt)
	}
	row.setHealth(e.Health)
	return row, nil
}

func (r *webhookEndpointRow) setHealth(h domain.WebhookHealth) {
	r.Failures, r.Opened = h.Failures, h.Opened
	r.FailingSince, r.OpenUntil, r.SlowUntil = optionalInstant(h.FailingSince), optionalInstant(h.OpenUntil), optionalInstant(h.SlowUntil)
}

// health returns the columns that attempts change.
func (r *webhookEndpointRow) health() map[string]any {
	return map[string]any{
		"failures": r.Failures, "failing_since": r.FailingSince,
		"open_until": r.OpenUntil, "opened": r.Opened, "slow_until": r.SlowUntil,
	}
}

func (r *webhookEndpointRow) domain() domain.WebhookEndpoint {
	e := domain.WebhookEndpoint{
		ID: r.ID.as(domain.PrefixWebhookEndpoint),
		Tenant: domain.Tenant{
			BusinessID: r.BusinessID.as(domain.PrefixBusiness), ApplicationID: r.ApplicationID.as(domain.PrefixApplication),
			Environment: domain.Environment(r.Environment),
		},
		URL: r.URL, Description: r.Description, Enabled: r.Enabled, Disabled: domain.DisabledReason(r.DisabledReason),
		Listener: r.Listener, Secrets: []domain.SigningSecret{{Sealed: r.Secret}},
		Health: domain.WebhookHealth{
			Failures: r.Failures, FailingSince: optionalTime(r.FailingSince),
			OpenUntil: optionalTime(r.OpenUntil), Opened: r.Opened, SlowUntil: optionalTime(r.SlowUntil),
		},
		CreatedAt: r.CreatedAt.time, UpdatedAt: r.UpdatedAt.time,
	}
	if r.Slot != nil {
		e.Slot = *r.Slot
	}
	_ = json.Unmarshal([]byte(r.EventTypes), &e.EventTypes) // written by newWebhookEndpointRow alone
	if r.PreviousUntil != nil {
		e.Secrets = append(e.Secrets, domain.SigningSecret{Sealed: r.PreviousSecret, ExpiresAt: &r.PreviousUntil.time})
	}
	return e
}

type webhookDeliveryRow struct {
	ID         rowID `gorm:"primaryKey"`
	BusinessID rowID
	EndpointID rowID
	EventID    rowID
	EventType  string
	DeliveryID *rowID // null: an event of an endpoint
	Sequence   int
	Status     string
	Attempts   int
	Used       int
	DueAt      *instant
	Trigger    string
	Back       string
	CreatedAt  instant
}

func (webhookDeliveryRow) TableName() string { return "webhook_deliveries" }

func (r *webhookDeliveryRow) domain() domain.WebhookDelivery {
	return domain.WebhookDelivery{
		ID: r.ID.as(domain.PrefixWebhookDelivery), EndpointID: r.EndpointID.as(domain.PrefixWebhookEndpoint),
		EventID: r.EventID.as(domain.PrefixEvent), EventType: domain.EventType(r.EventType),
		DeliveryID: optionalID(r.DeliveryID, domain.PrefixDelivery), Sequence: r.Sequence,
		Status: domain.WebhookStatus(r.Status), Attempts: r.Attempts, Used: r.Used, DueAt: optionalTime(r.DueAt),
		Trigger: domain.WebhookTrigger(r.Trigger), Back: domain.WebhookStatus(r.Back), CreatedAt: r.CreatedAt.time,
	}
}

// webhookDeliveryChanges returns the columns that an attempt, or a request for one, changes.
func webhookDeliveryChanges(d domain.WebhookDelivery) map[string]any {
	return map[string]any{
		"status": string(d.Status), "attempts": d.Attempts, "used": d.Used,
		"due_at": optionalInstant(d.DueAt), "trigger": string(d.Trigger), "back": string(d.Back),
	}
}

type webhookAttemptRow struct {
	ID                rowID `gorm:"primaryKey"`
	WebhookDeliveryID rowID
	Number            int
	Trigger           string
	StatusCode        int
	ErrorClass        string
	DurationMS        int64 `gorm:"column:duration_ms"`
	Excerpt           string
	StartedAt         instant
	NextAt            *instant
}

func (webhookAttemptRow) TableName() string { return "webhook_attempts" }

func (r *webhookAttemptRow) domain() domain.WebhookAttempt {
	return domain.WebhookAttempt{
		ID: r.ID.as(domain.PrefixWebhookAttempt), DeliveryID: r.WebhookDeliveryID.as(domain.PrefixWebhookDelivery),
		Number: r.Number, Trigger: domain.WebhookTrigger(r.Trigger), NextAt: optionalTime(r.NextAt),
		Result: domain.WebhookResult{
			StatusCode: r.StatusCode, Error: domain.ErrorClass(r.ErrorClass), StartedAt: r.StartedAt.time,
			Duration: time.Duration(r.DurationMS) * time.Millisecond, Excerpt: r.Excerpt,
		},
	}
}

type feedEventRow struct {
	ID            rowID `gorm:"primaryKey"`
	BusinessID    rowID
	ApplicationID rowID
	Environment   string
	DeliveryID    *rowID // null: an event of an endpoint
	Sequence      int
	Type          string
	OccurredAt    instant
	Position      int64
	Payload       []byte
}

func (feedEventRow) TableName() string { return "feed_events" }

func (r *feedEventRow) domain() domain.FeedEvent {
	id := r.ID.as(domain.PrefixEvent)
	return domain.FeedEvent{
		ID: id, Type: domain.EventType(r.Type), DeliveryID: optionalID(r.DeliveryID, domain.PrefixDelivery),
		Sequence: r.Sequence, OccurredAt: r.OccurredAt.time, Payload: r.Payload,
		Position: domain.FeedPosition{Commit: r.Position, Sequence: r.Sequence, ID: id},
	}
}

func optionalID(id *rowID, p domain.Prefix) domain.ID {
	if id == nil {
		return ""
	}
	return id.as(p)
}

func optionalRowID(id domain.ID) *rowID {
	if id == "" {
		return nil
	}
	row := rowIDOf(id)
	return &row
}
