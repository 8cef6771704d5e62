package deliveries_test

import (
	"context"
	"testing"

	"waybill/application/deliveries"
	"waybill/application/idempotency"
	"waybill/domain"
	"waybill/test/stage"
)

var useCases = []stage.UseCase[*scene]{
	{
		// key, recipient, external_id, price, book
		Name: "create with a new recipient", Keyed: true, Calls: 5,
		Ready: func(_ *testing.T, s *scene) stage.Send {
			return func(ctx context.Context) (idempotency.Result, error) {
				return s.create(ctx, stage.Key(s.tenant, "order-0001", 1), order(func(o *deliveries.Order) { o.ExternalID = "order-7" }))
			}
		},
		Check: oneDelivery,
	},
	{
		// key, recipient, address, pickup location, price, book
		Name: "create from a saved location to a known address", Keyed: true, Calls: 6,
		Ready: func(t *testing.T, s *scene) stage.Send {
			s.newAddress(t, s.tenant, s.newRecipient(t, s.tenant, "", "+233201234567"), "4 Castle Road")
			location := string(s.newLocation(t, s.tenant, nil).ID)
			return func(ctx context.Context) (idempotency.Result, error) {
				return s.create(ctx, stage.Key(s.tenant, "order-0001", 1), order(func(o *deliveries.Order) {
					o.Pickup, o.PickupLocationID = nil, &location
				}))
			}
		},
		Check: oneDelivery,
	},
	{
		// key, recipient, load, price, book
		Name: "create with a simulation", Keyed: true, Calls: 5,
		Ready: func(_ *testing.T, s *scene) stage.Send {
			return func(ctx context.Context) (idempotency.Result, error) {
				return s.create(ctx, stage.Key(s.tenant, "order-0001", 1), order(moving))
			}
		},
		Check: func(t *testing.T, s *scene) {
			oneDelivery(t, s)
			s.WantRunning(t, s.tenant, 1)
		},
	},
	{
		// key, transaction: claim, lock of the count, lock, update, complete
		Name: "cancel with a key", Keyed: true, Calls: 7,
		Ready: func(t *testing.T, s *scene) stage.Send {
			d := s.mustCreate(t, stage.Key(s.tenant, "order-0001", 1), order(nil))
			return func(ctx context.Context) (idempotency.Result, error) {
				return s.Cancel(ctx, stage.Key(s.tenant, "cancel-0001", 2), d.ID, render)
			}
		},
		Check: cancelledOnce,
	},
	{
		// transaction: lock of the count, lock, leave, update
		Name: "cancel of what a scenario moves, without a key", Calls: 5,
		Ready: func(t *testing.T, s *scene) stage.Send {
			d := s.mustCreate(t, stage.Key(s.tenant, "order-0001", 1), order(moving))
			return func(ctx context.Context) (idempotency.Result, error) {
				return s.Cancel(ctx, idempotency.Request{Tenant: s.tenant}, d.ID, render)
			}
		},
		Check: cancelledOnce,
	},
	{
		// transaction: lock of the count, lock, update
		Name: "cancel without a key", Calls: 4,
		Ready: func(t *testing.T, s *scene) stage.Send {
			d := s.mustCreate(t, stage.Key(s.tenant, "order-0001", 1), order(nil))
			return func(ctx context.Context) (idempotency.Result, error) {
				return s.Cancel(ctx, idempotency.Request{Tenant: s.tenant}, d.ID, render)
			}
		},
		Check: cancelledOnce,
	},
	{
		// owner, transaction: lock of the count, lock, update, audit log
		Name: "move of a person", Calls: 6,
		Ready: func(t *testing.T, s *scene) stage.Send {
			m := deliveries.Move{DeliveryID: s.mustCreate(t, stage.Key(s.tenant, "order-0001", 1), order(nil)).ID, Sequence: 1, To: domain.Assigned}
			return func(ctx context.Context) (idempotency.Result, error) {
				_, err := deliveries.NewOperations(s.storage, s.Clock, s.IDs, stage.Renderer{}).Move(ctx, dispatcher, m)
				return idempotency.Result{}, err
			}
		},
		Check: func(t *testing.T, s *scene) {
			d := s.all(t, s.tenant)[0]
			story, err := deliveries.NewOperations(s.Store, s.Clock, s.IDs, stage.Renderer{}).Story(t.Context(), d.ID)
			if err != nil || d.Status() != domain.Assigned || len(story.Timeline) != 2 || len(story.Changes) != 1 {
				t.Errorf("%s, %d events, %d changes, %v", d.Status(), len(story.Timeline), len(story.Changes), err)
			}
		},
	},
}

func oneDelivery(t *testing.T, s *scene) {
	all, people := s.all(t, s.tenant), s.recipients(t, s.tenant)
	if len(all) != 1 || len(people) != 1 || len(s.addresses(t, s.tenant, people[0].ID)) != 1 || people[0].Name != "Ama" {
		t.Fatalf("%d deliveries, recipients %+v", len(all), people)
	}
	if events := s.events(t, s.tenant, all[0].ID); len(events) != 1 || events[0].Sequence != 1 || events[0].Type != "delivery.created" {
		t.Errorf("events %+v", events)
	}
}

func cancelledOnce(t *testing.T, s *scene) {
	all := s.all(t, s.tenant)
	if len(all) != 1 || all[0].Status() != domain.Cancelled {
		t.Fatalf("deliveries %+v", all)
	}
	if events := s.events(t, s.tenant, all[0].ID); len(events) != 2 || events[1].Sequence != 2 || events[1].Type != "delivery.cancelled" {
		t.Errorf("events %+v", events)
	}
	s.WantRunning(t, s.tenant, 0)
}

// Whichever call fails in whichever way, a retry of the request gets its effect exactly once.
func TestWhicheverCallFailsTheRetryFindsOneEffect(t *testing.T) {
	t.Parallel()
	stage.Exam[*scene]{
		Scene: newScene,
		Break: func(s *scene, c *stage.Calls) {
			s.storage, s.bookings, s.price = c.Storage(s.Store), c.Bookings(s.Store), c.Pricing(pricing(newPrice)).Price
			s.build()
		},
		Mend: func(s *scene) {
			s.storage, s.bookings, s.price = s.Store, s.Store, newPrice
			s.build()
		},
	}.Run(t, useCases)
}
