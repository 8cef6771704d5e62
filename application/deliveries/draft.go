package deliveries

import (
	"context"
	"errors"
	"slices"
	"strings"

	"waybill/domain"
)

// Draft is an order on its way to a delivery. It is checked and located first, then priced, then
// booked.
type Draft struct {
	tenant domain.Tenant
	order  *Order
	to     destination
	pickup domain.Pickup
	quote  domain.Quote

	pickupField string // of the request; errors about the pickup place name it
}

// Draft checks an order and finds what it refers to. It returns every problem, in this order: shape
// conflicts, COD_GOODS_VALUE_REQUIRED, NOT_FOUND, PICKUP_LOCATION_*, VALIDATION_ERROR for a stored
// place outside the service area. Rules that depend on an invalid field are not checked. The error
// is an internal failure. Nothing is written.
func (d *Deliveries) Draft(ctx context.Context, t domain.Tenant, o *Order, unsound ...domain.FieldError) (*Draft, []*domain.Error, error) {
	sound := func(fields ...string) bool {
		return !slices.ContainsFunc(unsound, func(f domain.FieldError) bool {
			return slices.ContainsFunc(fields, func(field string) bool {
				return f.Field == field || strings.HasPrefix(f.Field, field+".")
			})
		})
	}
	draft := &Draft{tenant: t, order: o}
	var p problems
	for _, err := range o.incoherences(sound) {
		p.note(err)
	}
	located := o.recipientShape() == nil && sound("recipient", "recipient_id", "recipient_address_id") &&
		p.passes(func() (err error) { draft.to, err = d.locate(ctx, t, o); return err })
	collected := o.pickupShape() == nil && sound("pickup", "pickup_location_id") &&
		p.passes(func() (err error) { return d.collect(ctx, t, draft) })
	p.passes(func() error {
		trip := draft.trip()
		return d.quotes.Serves(trip, collected, located)
	})
	return draft, p.found, p.failure
}

// problems separates errors that the caller can fix from internal failures.
type problems struct {
	found   []*domain.Error
	failure error
}

func (p *problems) note(err error) {
	var e *domain.Error
	switch {
	case err == nil:
	case errors.As(err, &e) && e.Kind != domain.KindInternal && e.Kind != domain.KindUnavailable:
		p.found = append(p.found, e)
	case p.failure == nil:
		p.failure = err
	}
}

// passes runs a check, unless an internal failure was found before, and reports whether it found
// nothing wrong.
func (p *problems) passes(check func() error) bool {
	if p.failure != nil {
		return false
	}
	err := check()
	p.note(err)
	return err == nil
}

// collect finds the pickup place of the order.
func (d *Deliveries) collect(ctx context.Context, t domain.Tenant, draft *Draft) (err error) {
	if draft.order.Pickup != nil {
		draft.pickup, draft.pickupField = *draft.order.Pickup, "pickup"
		return nil
	}
	draft.pickupField = "pickup_location_id"
	draft.pickup, err = d.quotes.PickupAt(ctx, t, *draft.order.PickupLocationID)
	return err
}

func (f *Draft) trip() Trip {
	return Trip{
		Trip: domain.Trip{
			BusinessID: f.tenant.BusinessID, Environment: f.tenant.Environment, VehicleType: f.order.VehicleType,
			Pickup: f.pickup.Coordinates, Dropoff: f.to.dropoff.Coordinates,
		},
		PickupField: f.pickupField, DropoffField: f.to.field,
	}
}

// Price asks for the price of the delivery. It refuses an order that cannot be booked:
// SIMULATION_NOT_APPLICABLE, SIMULATION_LIMIT, EXTERNAL_ID_CONFLICT, QUOTE_UNAVAILABLE, or
// VALIDATION_ERROR for a place that the pricing service does not serve.
func (d *Deliveries) Price(ctx context.Context, draft *Draft) (err error) {
	if err := d.mayRun(ctx, draft); err != nil {
		return err
	}
	if id := draft.order.ExternalID; id != "" {
		// The unique index decides. This check saves the price of an order that would be refused.
		if err := d.externalIDFree(ctx, draft.tenant, id); err != nil {
			return err
		}
	}
	draft.quote, err = d.quotes.Price(ctx, draft.trip())
	return err
}

// mayRun checks the requested simulation. The count that the booking locks decides. This check
// saves the price of an order that would be refused.
func (d *Deliveries) mayRun(ctx context.Context, draft *Draft) error {
	p := draft.order.Simulation
	if p == nil || p.Scenario == domain.ScenarioManual {
		return nil
	}
	if err := p.Fits(draft.order.Payment.Type); err != nil {
		return err
	}
	running, firstEnd, err := d.storage.Read().Simulations.Load(ctx, draft.tenant)
	if err == nil && running >= domain.MaxRunningSimulations {
		err = domain.SimulationLimit(firstEnd.Sub(d.clock.Now()))
	}
	return err
}

func (d *Deliveries) externalIDFree(ctx context.Context, t domain.Tenant, externalID string) error {
	taken, err := d.storage.Read().Deliveries.FindByExternalID(ctx, t, externalID)
	switch {
	case errors.Is(err, domain.ErrNotFound):
		return nil
	case err != nil:
		return err
	}
	return &domain.Error{
		Kind: domain.KindConflict, Code: domain.CodeExternalIDConflict,
		Message: "external_id " + externalID + " is already delivery " + string(taken.ID) + ".",
		Details: map[string]any{"external_id": externalID, "delivery_id": string(taken.ID)},
	}
}
