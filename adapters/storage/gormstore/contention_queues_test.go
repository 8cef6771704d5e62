package gormstore_test

import (
	"context"
	"sync"
	"testing"

	"waybill/domain"
	"waybill/ports"
	"waybill/test/sample"
)

// TestABusinessThatWaitsForItsOwnRowsHoldsNoOtherBusinessBack has many transactions of
// one business wait for what another transaction holds, and one of a second business
// for what is soon free again.
func TestABusinessThatWaitsForItsOwnRowsHoldsNoOtherBusinessBack(t *testing.T) {
	t.Parallel()
	url := newDatabase(t)
	o := heldForLong
	o.PoolSize = 8 // of which two may wait
	s := openWith(t, url, o)
	busy, other := newTenant(t, s), newTenant(t, s)
	location := sample.PickupLocation()
	if err := s.InTx(t.Context(), func(ctx context.Context, tx ports.Stores) error {
		return tx.PickupLocations.Insert(ctx, busy, location)
	}); err != nil {
		t.Fatal(err)
	}
	endpoints := map[domain.Tenant]domain.WebhookEndpoint{busy: insertEndpoint(t, s, busy), other: insertEndpoint(t, s, other)}
	change := func(of domain.Tenant) func(context.Context, ports.Stores) error {
		return func(ctx context.Context, tx ports.Stores) error {
			_, err := tx.Webhooks.LockEndpoint(ctx, of, endpoints[of].ID)
			return err
		}
	}
	for name, c := range map[string]struct {
		hold string
		work func(context.Context, ports.Stores) error
	}{
		"an import": {"SELECT 1 FROM pickup_locations WHERE id = '$id' FOR UPDATE", func(ctx context.Context, tx ports.Stores) error {
			_, err := tx.PickupLocations.LockAll(ctx, busy, []domain.ID{location.ID})
			return err
		}},
		"a change of an endpoint": {"SELECT 1 FROM webhook_endpoints WHERE application_id = '$application' FOR UPDATE", change(busy)},
		"an endpoint more": {"SELECT 1 FROM applications WHERE id = '$application' FOR UPDATE", func(ctx context.Context, tx ports.Stores) error {
			_, err := tx.Webhooks.InsertEndpoint(ctx, sample.WebhookEndpoint(busy))
			return err
		}},
		"a change of the business": {"SELECT 1 FROM businesses WHERE id = '$business' FOR UPDATE",
			func(ctx context.Context, tx ports.Stores) error {
				_, err := tx.Tenancy.LockBusiness(ctx, busy.BusinessID)
				return err
			}},
	} {
		t.Run(name, func(t *testing.T) {
			holder, brief := connect(t, url), connect(t, url)
			do(t, holder, "BEGIN")
			do(t, holder, ids(c.hold, "$id", location.ID, "$application", busy.ApplicationID, "$business", busy.BusinessID))
			do(t, brief, "BEGIN")
			do(t, brief, ids("SELECT 1 FROM webhook_endpoints WHERE id = '$id' FOR UPDATE", "$id", endpoints[other].ID))
			var waiting sync.WaitGroup
			defer waiting.Wait()
			defer do(t, holder, "ROLLBACK")
			for range 6 {
				waiting.Go(func() {
					if err := s.InTx(t.Context(), c.work); err != nil {
						t.Errorf("who waits for its own row: %v", err)
					}
				})
			}
			await(t, func() bool { return s.Queued() == 6 })
			done := make(chan error, 1)
			go func() { done <- s.InTx(t.Context(), change(other)) }()
			await(t, func() bool { return s.Queued() == 7 })
			do(t, brief, "ROLLBACK")
			ended := false
			await(t, func() bool {
				select {
				case err := <-done:
					if err != nil {
						t.Errorf("the second business: %v", err)
					}
					ended = true
				default:
				}
				return ended
			})
		})
	}
}
