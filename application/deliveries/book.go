package deliveries

import (
	"context"
	"errors"

	"waybill/domain"
	"waybill/ports"
)

// bookTries bounds how often a booking starts over because a concurrent request
// added the same recipient or address, or a reference clashed.
const bookTries = 5

// Book makes a priced draft a delivery and stores it. remember adds to the
// write, which has all else, under what it is remembered; it is called anew
// for every try, each with a delivery of its own. Refusals that come up only
// here are EXTERNAL_ID_CONFLICT, SIMULATION_LIMIT and VALIDATION_ERROR for an
// address too many.
func (d *Deliveries) Book(ctx context.Context, draft *Draft, remember func(w *ports.BookingWrite)) error {
	for try := 1; ; try++ {
		w, err := d.mint(draft)
		if err != nil {
			return err
		}
		remember(&w)
		err = d.bookings.Book(ctx, w)
		switch {
		case err == nil:
			return nil
		case errors.Is(err, ports.ErrExternalIDTaken):
			if conflict := d.externalIDFree(ctx, draft.tenant, draft.order.ExternalID); conflict != nil {
				return conflict
			}
			return domain.Internal(err)
		case domain.HasCode(err, domain.CodeValidation):
			// The storage cannot know what the field is called in an order.
			return domain.TooManyAddresses(draft.to.field)
		case errors.Is(err, ports.ErrSimulationLimit):
			return SimulationLimit(ctx, d.storage.Read().Simulations, draft.tenant, d.clock.Now(), err)
		case try == bookTries:
			return err
		case errors.Is(err, ports.ErrReferenceTaken), errors.Is(err, ports.ErrBookingLate):
		case errors.Is(err, ports.ErrDirectoryChanged):
			if draft.to, err = d.locate(ctx, draft.tenant, draft.order); err != nil {
				return err
			}
		default:
			return err
		}
	}
}

// BookRun books the first n of several drafts of a bulk together, in their
// order. The next one is for Book; so are all where there is an error, unless
// that is ports.ErrLeaseLost.
func (d *Deliveries) BookRun(ctx context.Context, drafts []*Draft, remember func(i int, w *ports.BookingWrite)) (n int, err error) {
	writes := make([]ports.BookingWrite, len(drafts))
	for i, draft := range drafts {
		if writes[i], err = d.mint(draft); err != nil {
			return 0, err
		}
		remember(i, &writes[i])
	}
	return d.bookings.BookRun(ctx, writes)
}

// mint gives the delivery its identity. The time is taken here, after pricing
// and just before the commit, so that a list read by time misses nothing that
// was committed before it.
func (d *Deliveries) mint(draft *Draft) (ports.BookingWrite, error) {
	now, to, order := d.clock.Now(), draft.to, draft.order
	recipient, address := to.recipient, to.address
	if to.newRecipient {
		recipient.CreatedAt, recipient.UpdatedAt = now, now
	} else if to.fillName {
		recipient.UpdatedAt = now
	}
	if to.newAddress {
		address.CreatedAt = now
	}
	delivery, event := domain.Book(domain.Booking{
		ID: d.ids.ID(domain.PrefixDelivery), Tenant: draft.tenant, Reference: d.ids.Reference(),
		ExternalID: order.ExternalID, Recipient: to.party, Pickup: draft.pickup, Dropoff: to.dropoff,
		Payment: order.Payment, VehicleType: order.VehicleType, Quote: draft.quote,
		Instructions: order.Instructions, CreatedAt: now,
	}, d.ids.ID(domain.PrefixEvent))
	if order.Simulation != nil {
		if err := delivery.StartSimulation(*order.Simulation, now); err != nil {
			return ports.BookingWrite{}, err
		}
	}
	write, err := rendered(d.renderer, delivery, event)
	if err != nil {
		return ports.BookingWrite{}, err
	}
	return ports.BookingWrite{
		Recipient: recipient, NewRecipient: to.newRecipient, FillName: to.fillName,
		Address: address, NewAddress: to.newAddress,
		Delivery: delivery, Event: write,
	}, nil
}
