package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"waybill/adapters/clients/go/waybillapi"
	"waybill/domain"
)

// operations calls the operations API.
type operations struct{ url, token string }

// call sends a request and reads the data of its answer.
func call[T any](ctx context.Context, o *operations, method, path, key string, body any) (data T, err error) {
	sent, err := json.Marshal(body)
	if err != nil {
		return data, err
	}
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, o.url+"/ops/v1"+path, bytes.NewReader(sent))
	if err != nil {
		return data, err
	}
	if body == nil {
		req.Body = http.NoBody
	}
	req.Header.Set("Authorization", "Bearer "+o.token)
	req.Header.Set("Content-Type", "application/json")
	if key != "" {
		req.Header.Set("Idempotency-Key", key)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return data, err
	}
	defer res.Body.Close()
	var answer struct {
		Success bool            `json:"success"`
		Message string          `json:"message"`
		Data    json.RawMessage `json:"data"`
	}
	if err := json.NewDecoder(res.Body).Decode(&answer); err != nil {
		return data, fmt.Errorf("%s %s: %w", method, path, err)
	}
	if !answer.Success {
		return data, fmt.Errorf("%s %s: %s: %s", method, path, res.Status, answer.Message)
	}
	return data, json.Unmarshal(answer.Data, &data)
}

type named struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}

// tenants makes the customers, or finds them by their names among the first hundred, each with a program, a live
// key, its webhook endpoint and an owner.
func (o *operations) tenants(ctx context.Context, liveURL, receiver string) (clients []*waybillapi.Client, err error) {
	found, err := call[[]named](ctx, o, http.MethodGet, "/businesses?limit=100", "", nil)
	if err != nil {
		return nil, err
	}
	there := map[string]string{}
	for _, b := range found {
		there[b.Name] = b.ID
	}
	for i := range customers {
		client, err := o.tenant(ctx, &customers[i], there[customers[i].name], liveURL, receiver)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", customers[i].name, err)
		}
		clients = append(clients, client)
	}
	return clients, nil
}

func (o *operations) tenant(ctx context.Context, c *customer, id, liveURL, receiver string) (*waybillapi.Client, error) {
	if id == "" {
		made, err := call[named](ctx, o, http.MethodPost, "/businesses", "", map[string]any{"name": c.name})
		if err != nil {
			return nil, err
		}
		id = made.ID
		if _, err := call[named](ctx, o, http.MethodPost, "/businesses/"+id+"/environments/live/pickup-locations", "", map[string]any{
			"name": c.pickup.name, "address": c.pickup.street, "contact": "+233302000001",
			"latitude": c.pickup.latitude, "longitude": c.pickup.longitude,
		}); err != nil {
			return nil, err
		}
	}
	app, err := call[named](ctx, o, http.MethodPost, "/businesses/"+id+"/applications", "", map[string]any{"name": "Orders"})
	if err != nil {
		return nil, err
	}
	key, err := call[struct{ Key string }](ctx, o, http.MethodPost, "/applications/"+app.ID+"/keys", "", map[string]any{
		"environment": domain.Live, "scopes": []string{"all"}, "expires_in": "90d",
	})
	if err != nil {
		return nil, err
	}
	client, err := waybillapi.New(waybillapi.WithBaseURL(liveURL), waybillapi.WithAPIKey(key.Key))
	if err != nil || c.receiver == "" {
		return client, err
	}
	_, err = client.CreateWebhookEndpoint(ctx, "endpoint-of-"+app.ID, waybillapi.WebhookEndpointRequest{URL: receiver + c.receiver,
		Description: "Orders of " + c.name})
	return client, err
}

// moved is the answer to one item of a request to move many.
type moved struct {
	Outcome string `json:"outcome"`
}

// advance moves each delivery by its next act.
func (o *operations) advance(ctx context.Context, key string, those []*delivery) ([]moved, error) {
	var items []map[string]any
	for _, d := range those {
		a := d.acts[d.next]
		item := map[string]any{"delivery_id": d.id, "status": a.status}
		if a.reason != "" {
			item["reason_code"] = a.reason
		}
		items = append(items, item)
	}
	run, err := call[struct{ Results []moved }](ctx, o, http.MethodPost, "/deliveries/advance", key, map[string]any{"items": items})
	if err == nil && len(run.Results) != len(items) {
		err = fmt.Errorf("%d answers to %d items", len(run.Results), len(items))
	}
	return run.Results, err
}
