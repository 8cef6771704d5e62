package storage

import (
	"context"
	"slices"
	"testing"
	"time"

	"waybill/domain"
	"waybill/ports"
	"waybill/test/sample"
)

// later is when everything that the samples make pending is due.
var later = sample.Now.Add(24 * time.Hour)

// everything is a page that holds all there is.
var everything = domain.PageRequest{Limit: 1000}

// insertEndpoint stores an endpoint that has to find room.
func insertEndpoint(t testing.TB, b ports.Database, tenant domain.Tenant, with ...func(*domain.WebhookEndpoint)) domain.WebhookEndpoint {
	t.Helper()
	var stored domain.WebhookEndpoint
	inTx(t, b, func(ctx context.Context, tx ports.Stores) (err error) {
		stored, err = tx.Webhooks.InsertEndpoint(ctx, sample.WebhookEndpoint(tenant, with...))
		return err
	})
	return stored
}

func disabled(e *domain.WebhookEndpoint) { e.Enabled, e.Disabled = false, domain.DisabledByCaller }

func listener(e *domain.WebhookEndpoint) { e.URL, e.Listener = "", true }

func taking(types ...string) func(*domain.WebhookEndpoint) {
	return func(e *domain.WebhookEndpoint) { e.EventTypes = types }
}

func updateEndpoint(t testing.TB, b ports.Database, e domain.WebhookEndpoint) {
	t.Helper()
	inTx(t, b, func(ctx context.Context, tx ports.Stores) error {
		if _, err := tx.Webhooks.LockEndpoint(ctx, e.Tenant, e.ID); err != nil {
			return err
		}
		return tx.Webhooks.UpdateEndpoint(ctx, e)
	})
}

func deleteEndpoint(t testing.TB, b ports.Database, e domain.WebhookEndpoint) {
	t.Helper()
	inTx(t, b, func(ctx context.Context, tx ports.Stores) error {
		return tx.Webhooks.DeleteEndpoint(ctx, e.Tenant, e.ID)
	})
}

// sentTo is everything there is for an endpoint, newest first.
func sentTo(t testing.TB, b ports.Database, e domain.WebhookEndpoint) []domain.WebhookDelivery {
	t.Helper()
	return must(b.Read().Webhooks.Deliveries(t.Context(), e.Tenant, e.ID, domain.WebhookDeliveryFilter{}, everything))(t)
}

// theOne is the only webhook delivery to an endpoint.
func theOne(t testing.TB, b ports.Database, e domain.WebhookEndpoint) domain.WebhookDelivery {
	t.Helper()
	all := sentTo(t, b, e)
	if len(all) != 1 {
		t.Fatalf("%d webhook deliveries, want 1", len(all))
	}
	return all[0]
}

// statusesOf counts webhook deliveries by status.
func statusesOf(all []domain.WebhookDelivery) map[domain.WebhookStatus]int {
	counts := map[domain.WebhookStatus]int{}
	for _, d := range all {
		counts[d.Status]++
	}
	return counts
}

// idsOf is sorted.
func idsOf(all []domain.WebhookDelivery) []domain.ID {
	ids := make([]domain.ID, len(all))
	for i, d := range all {
		ids[i] = d.ID
	}
	slices.Sort(ids)
	return ids
}

// changeDelivery changes a webhook delivery as use cases do.
func changeDelivery(t testing.TB, b ports.Database, tenant domain.Tenant, id domain.ID,
	change func(*domain.WebhookDelivery)) domain.WebhookDelivery {
	t.Helper()
	var d domain.WebhookDelivery
	inTx(t, b, func(ctx context.Context, tx ports.Stores) (err error) {
		if d, err = tx.Webhooks.LockDelivery(ctx, tenant, id); err != nil {
			return err
		}
		change(&d)
		return tx.Webhooks.UpdateDelivery(ctx, d)
	})
	return d
}

// settled makes a webhook delivery one that nothing is due of any more.
func settled(t testing.TB, b ports.Database, tenant domain.Tenant, id domain.ID, s domain.WebhookStatus) {
	t.Helper()
	changeDelivery(t, b, tenant, id, func(d *domain.WebhookDelivery) { d.Status, d.DueAt, d.Used = s, nil, 5 })
}

func recovered(t testing.TB, b ports.Database, e domain.ID, r domain.Recovery, limit int) (queued int, running bool) {
	t.Helper()
	inTx(t, b, func(ctx context.Context, tx ports.Stores) (err error) {
		queued, running, err = tx.Webhooks.Recover(ctx, e, r, later, limit)
		return err
	})
	return queued, running
}

func errorOf[T any](_ T, err error) error { return err }
