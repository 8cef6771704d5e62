package deliveries

import (
	"context"
	"errors"

	"waybill/domain"
	"waybill/ports"
)

// bookTries limits how often a booking starts over because a concurrent request added the same
// recipient or address, or a reference clashed.
const bookTries = 5

// Book makes a delivery of a priced draft and stores it. remember adds the key or bulk mark to the
// finished write. It is called for every try, each with a new delivery. New refusals here are
// EXTERNAL_ID_CONFLICT, SIMULATION_LIMIT and VALIDATION_ERROR for one address too many.
func (d *Deliveries) Book(ctx context.Context, draft *Draft, remember func(w *ports.BookingWrite)) error {
	for try := 1; ; try++ {
		w, err := d.newBooking(draft)
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
			// The storage does not know the name of the field in an order.
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

// BookRun books the first n of several drafts of a bulk together, in their order. The caller passes
// the next draft to Book. After an error it passes all of them to Book, unless the error is
// ports.ErrLeaseLost.
func (d *Deliveries) BookRun(ctx context.Context, drafts []*Draft, remember func(i int, w *ports.BookingWrite)) (n int, err error) {
	writes := make([]ports.BookingWrite, len(drafts))
	for i, draft := range drafts {
		if writes[i], err = d.newBooking(draft); err != nil {
			return 0, err
		}
		remember(i, &writes[i])
	}
	return d.bookings.BookRun(ctx, writes)
}

// newBooking makes the write of a booking. It takes the time here, after pricing and just before
// the commit, so that a list read by time misses nothing that was committed before it.
func (d *Deliveries) newBooking(draft *Draft) (ports.BookingWrite, error) {
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
