package mcp

import (
	"context"
	"net/url"
	"strconv"

	"waybill/adapters/clients/go/waybillapi"
	"waybill/domain"
)

// The limits of one call of webhook_attempts. Each webhook takes a request of its own.
const (
	mostEndpoints = 10
	mostWebhooks  = 10
)

type attemptsInput struct {
	WebhookDeliveryID string `json:"webhook_delivery_id,omitempty" jsonschema:"one webhook, whd_...; left out, the newest are searched"`
	EndpointID        string `json:"webhook_endpoint_id,omitempty" jsonschema:"only webhooks to this endpoint, whe_..."`
	DeliveryID        string `json:"delivery_id,omitempty" jsonschema:"only webhooks about this delivery, dlv_..."`
	Status            string `json:"status,omitempty" jsonschema:"only webhooks that stand so, such as failed"`
}

type attemptsOutput struct {
	Endpoints []object         `json:"endpoints,omitempty" jsonschema:"where webhooks go, with what is known of their health"`
	Webhooks  []webhookOutcome `json:"webhooks" jsonschema:"the newest of each endpoint"`
	Note      string           `json:"note,omitempty"`
}

type webhookOutcome struct {
	Webhook  object   `json:"webhook"`
	Attempts []object `json:"attempts" jsonschema:"what the endpoint answered to each, or why there was no answer"`
}

func (s *server) addWebhookTools() {
	add(s, tool{
		name: "webhook_attempts", title: "See what became of webhooks", scope: waybillapi.ScopeWebhooksRead,
		values: map[string][]any{"status": values(domain.WebhookStatuses())},
		description: "The newest webhooks with each attempt to deliver them: what your server answered, how long it took, when the next " +
			"attempt is due. Narrow it by endpoint, delivery or status.",
	}, s.webhookAttempts)
}

func (s *server) webhookAttempts(ctx context.Context, in attemptsInput) (attemptsOutput, error) {
	out := attemptsOutput{Webhooks: []webhookOutcome{}}
	for _, id := range []struct {
		field, value string
		prefix       domain.Prefix
	}{
		{"webhook_delivery_id", in.WebhookDeliveryID, domain.PrefixWebhookDelivery},
		{"webhook_endpoint_id", in.EndpointID, domain.PrefixWebhookEndpoint}, {"delivery_id", in.DeliveryID, domain.PrefixDelivery},
	} {
		if id.value == "" {
			continue
		}
		if err := wantID(id.field, id.prefix, id.value); err != nil {
			return out, err
		}
	}
	if in.WebhookDeliveryID != "" {
		var webhook object
		if err := s.call(ctx, get("webhook-deliveries", in.WebhookDeliveryID), &webhook); err != nil {
			return out, err
		}
		return out, s.addAttempts(ctx, &out, webhook)
	}
	if err := s.readEndpoints(ctx, in.EndpointID, &out); err != nil {
		return out, err
	}
	for _, endpoint := range out.Endpoints {
		id, _ := endpoint["id"].(string)
		var webhooks []object
		r := get("webhook-endpoints", id, "deliveries")
		query := url.Values{"limit": {strconv.Itoa(mostWebhooks)}}
		for name, value := range map[string]string{"delivery_id": in.DeliveryID, "status": in.Status} {
			if value != "" {
				query.Set(name, value)
			}
		}
		r.Path += "?" + query.Encode()
		if err := s.call(ctx, r, &webhooks); err != nil {
			return out, err
		}
		for _, webhook := range webhooks {
			if len(out.Webhooks) == mostWebhooks {
				out.Note = "There are more. Narrow it by webhook_endpoint_id, delivery_id or status."
				return out, nil
			}
			if err := s.addAttempts(ctx, &out, webhook); err != nil {
				return out, err
			}
		}
	}
	switch {
	case len(out.Endpoints) == 0:
		out.Note = "This application has no webhook endpoint. search_docs for \"register webhook endpoint\" tells how to make one."
	case len(out.Webhooks) == 0:
		out.Note = "No webhook fits. An endpoint gets those of the event types it asked for, from the time it was made."
	}
	return out, nil
}

// readEndpoints reads one endpoint, or the first of all.
func (s *server) readEndpoints(ctx context.Context, id string, out *attemptsOutput) error {
	if id == "" {
		r := get("webhook-endpoints")
		r.Path += "?limit=" + strconv.Itoa(mostEndpoints)
		return s.call(ctx, r, &out.Endpoints)
	}
	out.Endpoints = []object{nil}
	return s.call(ctx, get("webhook-endpoints", id), &out.Endpoints[0])
}

func (s *server) addAttempts(ctx context.Context, out *attemptsOutput, webhook object) error {
	id, _ := webhook["id"].(string)
	outcome := webhookOutcome{Webhook: webhook, Attempts: []object{}}
	if err := s.call(ctx, get("webhook-deliveries", id, "attempts"), &outcome.Attempts); err != nil {
		return err
	}
	out.Webhooks = append(out.Webhooks, outcome)
	return nil
}
