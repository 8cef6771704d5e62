package storage

import (
	"context"
	"errors"
	"testing"
	"time"

	"waybill/domain"
	"waybill/ports"
	"waybill/test/sample"
)

// testOwners: an ID tells whose record it is, whatever kind it is of.
func testOwners(t *testing.T, b ports.Database) {
	tenant := newTenant(t, b)
	newTenant(t, b)
	shared := tenant
	shared.ApplicationID = ""
	e := insertEndpoint(t, b, tenant)
	hears := insertEndpoint(t, b, tenant, listener)
	gone := insertEndpoint(t, b, tenant)
	recipient, _ := newRecipient(t, b, tenant)
	location, key := sample.PickupLocation(), sample.APIKey(tenant.ApplicationID)
	key.Environment = tenant.Environment
	inTx(t, b, func(ctx context.Context, tx ports.Stores) error {
		return errors.Join(tx.PickupLocations.Insert(ctx, tenant, location), tx.Tenancy.InsertAPIKey(ctx, key),
			tx.Webhooks.DeleteEndpoint(ctx, tenant, gone.ID))
	})
	w := bookAt(t, b, tenant, sample.Now)
	due := must(b.Outbox().Due(t.Context(), e.ID, later, 10))(t)
	token := sample.ID("").Hex()
	if _, _, err := b.Outbox().Lease(t.Context(), e.ID, token, time.Minute); err != nil {
		t.Fatal(err)
	}
	tried := sample.WebhookOutcome(nth(t, due, 0).WebhookDelivery, sample.Arrived(sample.Now), sample.Now)
	if err := b.Outbox().Record(t.Context(), e.ID, token, []ports.WebhookOutcome{tried}, domain.WebhookHealth{}); err != nil {
		t.Fatal(err)
	}
	sent := domain.Owned{Tenant: tenant, DeliveryID: w.Delivery.ID, EndpointID: e.ID, SentID: due[0].ID}
	for what, c := range map[string]struct {
		id   domain.ID
		want domain.Owned
	}{
		"a key":              {key.ID, domain.Owned{Tenant: tenant}},
		"a recipient":        {recipient.ID, domain.Owned{Tenant: shared}},
		"a pickup location":  {location.ID, domain.Owned{Tenant: shared}},
		"an event":           {w.Event.ID, domain.Owned{Tenant: tenant, DeliveryID: w.Delivery.ID}},
		"an endpoint":        {e.ID, domain.Owned{Tenant: tenant, EndpointID: e.ID}},
		"a webhook delivery": {due[0].ID, sent},
		"a webhook attempt":  {tried.Attempt.ID, sent},
	} {
		wantEqual(t, what, must(b.Read().Platform.Owner(t.Context(), c.id))(t), c.want)
	}
	for what, id := range map[string]domain.ID{
		"a listener": hears.ID, "an endpoint that was deleted": gone.ID, "unknown": sample.ID(domain.PrefixAPIKey),
		"another kind": tenant.ApplicationID, "no ID": "key_1", "nothing": "", "a text that cannot be there": "evt_\x00",
	} {
		wantError(t, what, errorOf(b.Read().Platform.Owner(t.Context(), id)), domain.ErrNotFound)
	}
}
