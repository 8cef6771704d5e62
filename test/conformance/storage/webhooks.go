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

func testWebhookSummaries(t *testing.T, b ports.Database) {
	tenant, other := newTenant(t, b), newTenant(t, b)
	e, foreign := insertEndpoint(t, b, tenant), insertEndpoint(t, b, other)
	quiet := insertEndpoint(t, b, tenant, func(e *domain.WebhookEndpoint) { e.Health = domain.WebhookHealth{} })
	for i := range 5 {
		bookWrite(t, b, sample.BookingWrite(tenant, func(b *domain.Booking) { b.CreatedAt = sample.Now.Add(time.Duration(i) * time.Minute) }))
	}
	all := sentTo(t, b, e)
	token := leaseOf(t, b, e)
	try := func(d domain.WebhookDelivery, r domain.WebhookResult) domain.WebhookDelivery {
		t.Helper()
		o := sample.WebhookOutcome(must(b.Read().Webhooks.Delivery(t.Context(), tenant, d.ID))(t), r, r.StartedAt)
		wantError(t, "Record", b.Outbox().Record(t.Context(), e.ID, token, []ports.WebhookOutcome{o}, e.Health), nil)
		return must(b.Read().Webhooks.Delivery(t.Context(), tenant, d.ID))(t)
	}
	try(all[4], sample.Refused(later))
	try(all[4], sample.Arrived(later.Add(time.Minute)))
	waiting := try(all[3], sample.Refused(later.Add(2*time.Minute)))
	settled(t, b, tenant, all[2].ID, domain.WebhookHeld)
	settled(t, b, tenant, all[1].ID, domain.WebhookFailed)

	t.Run("a summary counts what waits and what arrived, and has the last failure", func(t *testing.T) {
		sum := must(b.Read().Webhooks.Summary(t.Context(), tenant, e.ID))(t)
		wantEqual(t, "waiting, tried, arrived", []int{sum.Waiting, sum.Tried, sum.Arrived}, []int{2, 2, 1})
		wantEqual(t, "the first that waits", sum.NextAt, all[0].DueAt)
		wantEqual(t, "the last failure", sum.LastFailure.DeliveryID, waiting.ID)
		wantEqual(t, "of an endpoint to which nothing was sent yet",
			must(b.Read().Webhooks.Summary(t.Context(), tenant, quiet.ID))(t).Tried, 0)
		wantError(t, "Summary of a foreign one", errorOf(b.Read().Webhooks.Summary(t.Context(), tenant, foreign.ID)), domain.ErrNotFound)
	})
	t.Run("what can be recovered is counted as it is recovered", func(t *testing.T) {
		long := domain.Recovery{Since: sample.Now.Add(-time.Hour), Until: sample.Now.Add(time.Hour)}
		held := long
		held.Only = domain.WebhookHeld
		for name, c := range map[string]struct {
			r     domain.Recovery
			limit int
			want  int
		}{"all": {long, 10, 2}, "held": {held, 10, 1}, "up to a limit": {long, 1, 1},
			"of no time": {domain.Recovery{Since: long.Since, Until: long.Since}, 10, 0}} {
			wantEqual(t, name, must(b.Read().Webhooks.Recoverable(t.Context(), tenant, e.ID, c.r, c.limit))(t), c.want)
		}
		wantError(t, "of a foreign one", errorOf(b.Read().Webhooks.Recoverable(t.Context(), other, e.ID, long, 10)), domain.ErrNotFound)
		queued, _ := recovered(t, b, e.ID, long, 10)
		wantEqual(t, "queued", queued, 2)
	})
	t.Run("an endpoint is found by its business, a listener and a deleted one never", func(t *testing.T) {
		wantEqual(t, "EndpointOf", must(b.Read().Webhooks.EndpointOf(t.Context(), tenant.BusinessID, e.ID))(t).ID, e.ID)
		program, gone := insertEndpoint(t, b, tenant, listener), insertEndpoint(t, b, tenant)
		deleteEndpoint(t, b, gone)
		for name, of := range map[string][2]domain.ID{
			"of another business": {other.BusinessID, e.ID}, "of none": {"", e.ID}, "a listener": {tenant.BusinessID, program.ID},
			"a deleted one": {tenant.BusinessID, gone.ID},
		} {
			wantError(t, name, errorOf(b.Read().Webhooks.EndpointOf(t.Context(), of[0], of[1])), domain.ErrNotFound)
		}
	})
	t.Run("unhealthy are those that fail for long or were disabled by no caller", func(t *testing.T) {
		tenant, failing := newTenant(t, b), sample.Now.Add(-time.Hour)
		with := func(change func(*domain.WebhookEndpoint)) domain.ID {
			return insertEndpoint(t, b, tenant, func(e *domain.WebhookEndpoint) {
				e.Health = domain.WebhookHealth{FailingSince: &failing}
				change(e)
			}).ID
		}
		fails := with(func(*domain.WebhookEndpoint) {})
		off := with(func(e *domain.WebhookEndpoint) {
			e.Enabled, e.Disabled, e.Health = false, domain.DisabledGone, domain.WebhookHealth{}
		})
		with(disabled)
		with(func(e *domain.WebhookEndpoint) { e.Health.FailingSince = new(failing.Add(time.Millisecond)) })
		with(func(e *domain.WebhookEndpoint) { e.Health = domain.WebhookHealth{} })
		found := must(b.Read().Webhooks.Unhealthy(t.Context(), tenant.BusinessID, failing, "", 10))(t)
		wantEqual(t, "of the business", endpointIDs(found), sorted(fails, off))
		wantEqual(t, "of another", len(must(b.Read().Webhooks.Unhealthy(t.Context(), newTenant(t, b).BusinessID, failing, "", 10))(t)), 0)
		var walked []domain.ID
		for after := domain.ID(""); ; {
			some := must(b.Read().Webhooks.Unhealthy(t.Context(), "", failing, after, 1))(t)
			if len(some) == 0 {
				break
			}
			after = some[0].ID
			walked = append(walked, after)
		}
		for _, id := range []domain.ID{fails, off} {
			if !slices.Contains(walked, id) {
				t.Errorf("of all businesses %s is missing", id)
			}
		}
	})
	t.Run("an event is its application's", func(t *testing.T) {
		event := must(b.Read().Feed.Event(t.Context(), tenant, all[0].EventID))(t)
		wantEqual(t, "Event", event.ID, all[0].EventID)
		if len(event.Payload) == 0 {
			t.Error("it has no payload")
		}
		wantError(t, "a foreign one", errorOf(b.Read().Feed.Event(t.Context(), other, all[0].EventID)), domain.ErrNotFound)
	})
}

func endpointIDs(all []domain.WebhookEndpoint) []domain.ID {
	ids := make([]domain.ID, len(all))
	for i, e := range all {
		ids[i] = e.ID
	}
	return sorted(ids...)
}
