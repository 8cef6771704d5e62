package directory_test

import (
	"context"
	"testing"

	"waybill/application/idempotency"
	"waybill/test/stage"
)

var useCases = []stage.UseCase[*scene]{
	{
		// key, transaction: claim, add, complete
		Name: "create", Keyed: true, Calls: 5,
		Ready: func(_ *testing.T, s *scene) stage.Send {
			return func(ctx context.Context) (idempotency.Result, error) {
				return s.create(ctx, stage.Key(s.tenant, "person-0001", 1), "Ama", "+233201234567")
			}
		},
		Check: onlyAma(0),
	},
	{
		Name: "create that fills in a name", Keyed: true, Calls: 5,
		Ready: func(t *testing.T, s *scene) stage.Send {
			s.mustCreate(t, "")
			return func(ctx context.Context) (idempotency.Result, error) {
				return s.create(ctx, stage.Key(s.tenant, "person-0001", 1), "Ama", "+233201234567")
			}
		},
		Check: onlyAma(0),
	},
	{
		Name: "add an address", Keyed: true, Calls: 5,
		Ready: func(t *testing.T, s *scene) stage.Send {
			ama := s.mustCreate(t, "Ama")
			return func(ctx context.Context) (idempotency.Result, error) {
				return s.addAddress(ctx, stage.Key(s.tenant, "place-0001", 1), ama, "4 Castle Road")
			}
		},
		Check: onlyAma(1),
	},
}

// onlyAma returns a directory of one person with that many addresses.
func onlyAma(addresses int) func(*testing.T, *scene) {
	return func(t *testing.T, s *scene) {
		people, places := s.people(t)
		if len(people) != 1 || people[0].Name != "Ama" || len(places[0]) != addresses {
			t.Errorf("directory %+v, addresses %+v", people, places)
		}
	}
}

// Whichever call fails in whichever way, a retry of the request gets its effect exactly once.
func TestWhicheverCallFailsTheRetryFindsOneEffect(t *testing.T) {
	t.Parallel()
	stage.Exam[*scene]{
		Scene: newScene,
		Break: func(s *scene, c *stage.Calls) { s.on(c.Storage(s.Store)) },
		Mend:  func(s *scene) { s.on(s.Store) },
	}.Run(t, useCases)
}
