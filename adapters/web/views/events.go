package views

import (
	"encoding/json"
	"fmt"
	"time"

	"waybill/domain"
	"waybill/ports"
)

var _ ports.EventRenderer = Events{}

// Events renders the JSON of events for the feed and for webhooks.
type Events struct{ TrackingBaseURL string }

// PublishedEvent is an event as clients see it.
type PublishedEvent struct {
	ID          string `json:"id"`
	Type        string `json:"type"`
	Timestamp   string `json:"timestamp"`
	APIVersion  string `json:"api_version"`
	Environment string `json:"environment"`
	Simulated   bool   `json:"simulated"`
	Sequence    int    `json:"sequence,omitempty"` // of deliveries only
	Data        any    `json:"data"`
}

// DeliveryChange is the data of an event of a delivery.
type DeliveryChange struct {
	Delivery       Delivery `json:"delivery"` // as the event left it
	PreviousStatus string   `json:"previous_status,omitempty"`
	ReasonCode     string   `json:"reason_code,omitempty"`
}

// EndpointChange is the data of an event of a webhook endpoint.
type EndpointChange struct {
	WebhookEndpoint EventEndpoint `json:"webhook_endpoint"`
}

// EventEndpoint holds the part of an endpoint that events contain, since they go to others too.
// The path and query of its address often are the secret that opens it.
type EventEndpoint struct {
	ID   string `json:"id"`
	Host string `json:"host"`
}

// apiVersion names the version of all payloads.
const apiVersion = "v1"

// DeliveryEvent renders an event of a delivery.
func (v Events) DeliveryEvent(d *domain.Delivery, e domain.Event) ([]byte, error) {
	return render(PublishedEvent{
		ID: string(e.ID), Type: string(e.Type), Timestamp: domain.FormatTime(e.OccurredAt), APIVersion: apiVersion,
		Environment: string(d.Tenant.Environment), Simulated: d.Simulated(), Sequence: e.Sequence,
		Data: DeliveryChange{Delivery: NewDelivery(d, v.TrackingBaseURL), PreviousStatus: string(e.Previous), ReasonCode: string(e.Reason)},
	})
}

// EndpointEvent renders an event of a webhook endpoint.
func (v Events) EndpointEvent(w domain.WebhookEndpoint, id domain.ID, of domain.EventType, at time.Time) ([]byte, error) {
	return render(PublishedEvent{
		ID: string(id), Type: string(of), Timestamp: domain.FormatTime(at), APIVersion: apiVersion,
		Environment: string(w.Tenant.Environment), Simulated: w.Tenant.Environment == domain.Sandbox,
		Data: EndpointChange{EventEndpoint{ID: string(w.ID), Host: w.Host()}},
	})
}

func render(e PublishedEvent) ([]byte, error) {
	payload, err := json.Marshal(e)
	if err != nil {
		return nil, fmt.Errorf("render event %s: %w", e.ID, err)
	}
	return payload, nil
}
