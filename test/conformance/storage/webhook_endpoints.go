package storage

import (
	"cmp"
	"context"
	"slices"
	"testing"
	"time"

	"waybill/domain"
	"waybill/ports"
	"waybill/test/sample"
)

func testWebhookEndpoints(t *testing.T, b ports.Database) {
	read := func() ports.WebhookReader { return b.Read().Webhooks }

	t.Run("an endpoint comes back as it was stored, and as it was changed", func(t *testing.T) {
		tenant := newTenant(t, b)
		bystander := insertEndpoint(t, b, tenant)
		want := sample.WebhookEndpoint(tenant)
		wantFilled(t, want, "WebhookEndpoint.Slot", "WebhookEndpoint.Disabled", "WebhookEndpoint.Listener")
		check := func(want domain.WebhookEndpoint) {
			t.Helper()
			wantEqual(t, "Endpoint", must(read().Endpoint(t.Context(), tenant, want.ID))(t), want)
			list := must(read().Endpoints(t.Context(), tenant, everything))(t)
			wantEqual(t, "Endpoints", list, []domain.WebhookEndpoint{bystander, want})
			inTx(t, b, func(ctx context.Context, tx ports.Stores) error {
				wantEqual(t, "LockEndpoint", must(tx.Webhooks.LockEndpoint(ctx, tenant, want.ID))(t), want)
				return nil
			})
		}
		inTx(t, b, func(ctx context.Context, tx ports.Stores) (err error) {
			want, err = tx.Webhooks.InsertEndpoint(ctx, want)
			return err
		})
		wantEqual(t, "the slot", want.Slot, 1)
		check(want)

		until := sample.Now.Add(time.Minute)
		want.URL, want.Description, want.EventTypes = "https://new.example.com/", "Another", []string{"delivery.created"}
		want.Enabled, want.Disabled, want.UpdatedAt = false, domain.DisabledGone, sample.Now.Add(time.Hour)
		want.Secrets = []domain.SigningSecret{{Sealed: []byte("newer")}, {Sealed: []byte("new"), ExpiresAt: &until}}
		want.Health = domain.WebhookHealth{Failures: 7, FailingSince: &until, OpenUntil: &until, Opened: 5, SlowUntil: &until}
		updateEndpoint(t, b, want)
		check(want)

		want.Enabled, want.Disabled, want.Health = true, "", domain.WebhookHealth{}
		want.Secrets = want.Secrets[:1]
		updateEndpoint(t, b, want)
		check(want)

		deleteEndpoint(t, b, want)
		wantError(t, "a deleted endpoint", errorOf(read().Endpoint(t.Context(), tenant, want.ID)), domain.ErrNotFound)
		wantEqual(t, "Endpoints", must(read().Endpoints(t.Context(), tenant, everything))(t), []domain.WebhookEndpoint{bystander})
		for name, call := range map[string]func(context.Context, ports.WebhookStore) error{
			"LockEndpoint": func(ctx context.Context, w ports.WebhookStore) error {
				_, err := w.LockEndpoint(ctx, tenant, want.ID)
				return err
			},
			"UpdateEndpoint": func(ctx context.Context, w ports.WebhookStore) error { return w.UpdateEndpoint(ctx, want) },
			"DeleteEndpoint": func(ctx context.Context, w ports.WebhookStore) error {
				return w.DeleteEndpoint(ctx, tenant, want.ID)
			},
		} {
			err := b.InTx(t.Context(), func(ctx context.Context, tx ports.Stores) error { return call(ctx, tx.Webhooks) })
			wantError(t, name+" of a deleted one", err, domain.ErrNotFound)
		}
	})

	t.Run("the list goes by time, page by page", func(t *testing.T) {
		tenant := newTenant(t, b)
		var want []domain.WebhookEndpoint
		for i := range 7 {
			at := sample.Now.Add(time.Duration(i%3) * time.Second)
			want = append(want, insertEndpoint(t, b, tenant, func(e *domain.WebhookEndpoint) { e.CreatedAt = at }))
		}
		slices.SortFunc(want, func(x, y domain.WebhookEndpoint) int {
			return cmp.Or(x.CreatedAt.Compare(y.CreatedAt), cmp.Compare(x.ID, y.ID))
		})
		got := pages(t, 3, func(p domain.PageRequest) ([]domain.WebhookEndpoint, error) {
			return read().Endpoints(t.Context(), tenant, p)
		}, func(e domain.WebhookEndpoint) domain.Position {
			return domain.Position{CreatedAt: e.CreatedAt, ID: e.ID}
		})
		wantEqual(t, "the list", got, want)
	})

	t.Run("an application has so many in an environment and no more", func(t *testing.T) {
		tenant := newTenant(t, b)
		var all []domain.WebhookEndpoint
		for i := range domain.MaxWebhookEndpoints {
			all = append(all, insertEndpoint(t, b, tenant))
			wantEqual(t, "the slot", all[i].Slot, i)
		}
		insert := func() error {
			return b.InTx(t.Context(), func(ctx context.Context, tx ports.Stores) error {
				_, err := tx.Webhooks.InsertEndpoint(ctx, sample.WebhookEndpoint(tenant))
				return err
			})
		}
		wantError(t, "one too many", insert(), ports.ErrEndpointLimit)
		for _, other := range []domain.Tenant{live(tenant), newSibling(t, b, tenant), newTenant(t, b)} {
			wantEqual(t, "the slot of another", insertEndpoint(t, b, other).Slot, 0)
		}
		deleteEndpoint(t, b, all[5])
		wantEqual(t, "the slot that was given back", insertEndpoint(t, b, tenant).Slot, 5)
		wantError(t, "one too many again", insert(), ports.ErrEndpointLimit)
	})

	t.Run("many inserts at once keep to the limit, each in a slot of its own", func(t *testing.T) {
		tenant := newTenant(t, b)
		errs := together(40, func(int) error {
			return b.InTx(t.Context(), func(ctx context.Context, tx ports.Stores) error {
				_, err := tx.Webhooks.InsertEndpoint(ctx, sample.WebhookEndpoint(tenant))
				return err
			})
		})
		wantWinners(t, errs, domain.MaxWebhookEndpoints, ports.ErrEndpointLimit)
		slots := map[int]bool{}
		for _, e := range must(read().Endpoints(t.Context(), tenant, everything))(t) {
			slots[e.Slot] = true
		}
		wantEqual(t, "slots", len(slots), domain.MaxWebhookEndpoints)
	})

	t.Run("an endpoint of no application is not found", func(t *testing.T) {
		err := b.InTx(t.Context(), func(ctx context.Context, tx ports.Stores) error {
			_, err := tx.Webhooks.InsertEndpoint(ctx, sample.WebhookEndpoint(sample.Tenant()))
			return err
		})
		wantError(t, "InsertEndpoint", err, domain.ErrNotFound)
	})

	t.Run("a listener is not listed, keeps itself alive, and makes room when it is dead", func(t *testing.T) {
		tenant := newTenant(t, b)
		e := insertEndpoint(t, b, tenant, listener)
		wantEqual(t, "Endpoint", must(read().Endpoint(t.Context(), tenant, e.ID))(t), e)
		wantEqual(t, "Endpoints", len(must(read().Endpoints(t.Context(), tenant, everything))(t)), 0)
		insertEndpoint(t, b, newSibling(t, b, tenant), listener)
		wantEqual(t, "Listeners", must(read().Listeners(t.Context(), tenant))(t), []domain.WebhookEndpoint{e})
		bookWrite(t, b, sample.BookingWrite(tenant))
		due := must(b.Outbox().Due(t.Context(), e.ID, later, 10))(t)
		wantEqual(t, "what it fetches", len(due), 1)

		_, leased, err := b.Outbox().Lease(t.Context(), e.ID, sample.ID("").Hex(), time.Minute)
		if leased || err != nil {
			t.Errorf("somebody leased a listener (%v)", err)
		}
		wantEqual(t, "Renew", must(b.Outbox().Renew(t.Context(), e.ID, e.ID.Hex(), domain.ListenerLife))(t), e)
		second := insertEndpoint(t, b, tenant, listener)
		wantEqual(t, "the slot beside a listener", second.Slot, 1)

		must(b.Outbox().Renew(t.Context(), e.ID, e.ID.Hex(), -time.Second))(t) // it fetched long ago
		third := insertEndpoint(t, b, tenant)
		wantEqual(t, "the slot of the dead one", third.Slot, 0)
		wantError(t, "a dead listener", errorOf(read().Endpoint(t.Context(), tenant, e.ID)), domain.ErrNotFound)
		_, err = b.Outbox().Renew(t.Context(), e.ID, e.ID.Hex(), domain.ListenerLife)
		wantError(t, "a dead listener fetches", err, ports.ErrEndpointLost)
		wantEqual(t, "the living one", must(read().Endpoint(t.Context(), tenant, second.ID))(t), second)
	})

	t.Run("what is somebody else's does not exist", func(t *testing.T) {
		owner := newTenant(t, b)
		e := insertEndpoint(t, b, owner)
		bookWrite(t, b, sample.BookingWrite(owner))
		d := theOne(t, b, e)
		sibling := newSibling(t, b, owner)
		for name, other := range map[string]domain.Tenant{
			"another application": sibling, "the other environment": live(owner), "another business": newTenant(t, b),
		} {
			for call, err := range map[string]error{
				"Endpoint": errorOf(read().Endpoint(t.Context(), other, e.ID)),
				"Delivery": errorOf(read().Delivery(t.Context(), other, d.ID)),
				"LockEndpoint": b.InTx(t.Context(), func(ctx context.Context, tx ports.Stores) error {
					return errorOf(tx.Webhooks.LockEndpoint(ctx, other, e.ID))
				}),
				"UpdateEndpoint": b.InTx(t.Context(), func(ctx context.Context, tx ports.Stores) error {
					changed := e
					changed.Tenant, changed.Description = other, "taken over"
					return tx.Webhooks.UpdateEndpoint(ctx, changed)
				}),
				"DeleteEndpoint": b.InTx(t.Context(), func(ctx context.Context, tx ports.Stores) error {
					return tx.Webhooks.DeleteEndpoint(ctx, other, e.ID)
				}),
				"LockDelivery": b.InTx(t.Context(), func(ctx context.Context, tx ports.Stores) error {
					return errorOf(tx.Webhooks.LockDelivery(ctx, other, d.ID))
				}),
			} {
				wantError(t, call+" by "+name, err, domain.ErrNotFound)
			}
			wantEqual(t, "Endpoints of "+name, len(must(read().Endpoints(t.Context(), other, everything))(t)), 0)
			deliveries := must(read().Deliveries(t.Context(), other, e.ID, domain.WebhookDeliveryFilter{}, everything))(t)
			ofOne := must(read().Deliveries(t.Context(), other, e.ID, domain.WebhookDeliveryFilter{DeliveryID: d.DeliveryID}, everything))(t)
			wantEqual(t, "Deliveries of "+name, len(deliveries)+len(ofOne), 0)
			wantEqual(t, "Attempts of "+name, len(must(read().Attempts(t.Context(), other, d.ID))(t)), 0)
		}
		for _, id := range []domain.ID{"", "whe_", "nonsense", d.ID, sample.ID(domain.PrefixWebhookEndpoint), "whe_\x00\xff"} {
			wantError(t, "Endpoint", errorOf(read().Endpoint(t.Context(), owner, id)), domain.ErrNotFound)
			list, err := read().Deliveries(t.Context(), owner, id, domain.WebhookDeliveryFilter{}, everything)
			if err != nil || len(list) != 0 {
				t.Errorf("Deliveries of %q: %d (%v)", id, len(list), err)
			}
		}
		for _, id := range []domain.ID{"", "whd_", e.ID, sample.ID(domain.PrefixWebhookDelivery)} {
			wantError(t, "Delivery", errorOf(read().Delivery(t.Context(), owner, id)), domain.ErrNotFound)
			list, err := read().Attempts(t.Context(), owner, id)
			if err != nil || len(list) != 0 {
				t.Errorf("Attempts of %q: %d (%v)", id, len(list), err)
			}
		}
		wantEqual(t, "the owner's", must(read().Endpoint(t.Context(), owner, e.ID))(t), e)
	})
}
