package directory_test

import (
	"context"
	"testing"

	"waybill/application/idempotency"
	"waybill/domain"
	"waybill/test/stage"
)

var pickuplocationsUseCases = []stage.UseCase[*pickuplocationsScene]{
	{
		// key, transaction: claim, count, insert, complete
		Name: "create", Keyed: true, Calls: 6,
		Ready: func(_ *testing.T, s *pickuplocationsScene) stage.Send {
			form := osu
			form.Name = "Ridge"
			return func(ctx context.Context) (idempotency.Result, error) {
				return s.create(ctx, stage.Key(s.tenant, "place-0001", 1), form)
			}
		},
		Check: oneRidge,
	},
	{
		// key, transaction: claim, lock, update, complete
		Name: "change with a key", Keyed: true, Calls: 6,
		Ready: func(t *testing.T, s *pickuplocationsScene) stage.Send {
			id := s.mustCreate(t, osu)
			return func(ctx context.Context) (idempotency.Result, error) {
				return s.change(ctx, stage.Key(s.tenant, "change-0001", 1), id, domain.PickupLocationChange{Name: new("Ridge")})
			}
		},
		Check: oneRidge,
	},
	{
		// transaction: lock, update
		Name: "change without a key", Calls: 3,
		Ready: func(t *testing.T, s *pickuplocationsScene) stage.Send {
			id := s.mustCreate(t, osu)
			return func(ctx context.Context) (idempotency.Result, error) {
				return s.change(ctx, idempotency.Request{Tenant: s.tenant}, id, domain.PickupLocationChange{Name: new("Ridge")})
			}
		},
		Check: oneRidge,
	},
}

func oneRidge(t *testing.T, s *pickuplocationsScene) {
	if all := s.all(t); len(all) != 1 || all[0].Name != "Ridge" {
		t.Errorf("locations %+v", all)
	}
}

// Whichever call fails in whichever way, a retry of the request gets its effect exactly once.
func TestWhicheverCallFailsTheRetryFindsOnePickupLocation(t *testing.T) {
	t.Parallel()
	stage.Exam[*pickuplocationsScene]{
		Scene: pickuplocationsNewScene,
		Break: func(s *pickuplocationsScene, c *stage.Calls) { s.on(c.Storage(s.Store)) },
		Mend:  func(s *pickuplocationsScene) { s.on(s.Store) },
	}.Run(t, pickuplocationsUseCases)
}
