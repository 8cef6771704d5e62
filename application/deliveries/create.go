package deliveries

import (
	"context"
	"errors"

	"waybill/application/idempotency"
	"waybill/application/quotes"
	"waybill/domain"
	"waybill/ports"
)

// bookTries bounds how often a booking starts over because somebody else
// added the same recipient or address, or a reference clashed.
const bookTries = 5

// Create books a delivery exactly once per Idempotency-Key. The form is read
// only when the key was not used before; answer renders what is stored and
// replayed. Refusals, in this order: what form returns, the shape conflicts,
// COD_GOODS_VALUE_REQUIRED, NOT_FOUND, PICKUP_LOCATION_*, VALIDATION_ERROR for
// a stored place outside the service area, EXTERNAL_ID_CONFLICT and
// QUOTE_UNAVAILABLE.
func (d *Deliveries) Create(ctx context.Context, req idempotency.Request,
	form func() (Order, error), answer func(*domain.Delivery) domain.Answer,
) (idempotency.Result, error) {
	return d.gate.Once(ctx, req, func(ctx context.Context) (idempotency.Attempt, error) {
		order, err := form()
		if err != nil {
			return nil, err
		}
		p, err := d.prepare(ctx, req.Tenant, &order)
		if err != nil {
			return nil, err
		}
		return func(ctx context.Context, key domain.KeyRecord) (domain.Answer, error) {
			return d.book(ctx, p, key, answer)
		}, nil
	})
}

// prepared is an order that may be booked: checked, located and priced.
type prepared struct {
	tenant domain.Tenant
	order  *Order
	to     destination
	pickup domain.Pickup
	quote  domain.Quote
}

// prepare reads and prices. No transaction is open meanwhile.
func (d *Deliveries) prepare(ctx context.Context, t domain.Tenant, o *Order) (*prepared, error) {
	if err := o.Coherent(); err != nil {
		return nil, err
	}
	to, err := d.locate(ctx, t, o)
	if err != nil {
		return nil, err
	}
	p := &prepared{tenant: t, order: o, to: to}
	pickupField := "pickup"
	if o.Pickup != nil {
		p.pickup = *o.Pickup
	} else {
		if p.pickup, err = d.quotes.PickupAt(ctx, t, *o.PickupLocationID); err != nil {
			return nil, err
		}
		pickupField = "pickup_location_id"
	}
	trip := quotes.Trip{
		Trip: domain.Trip{
			Environment: t.Environment, VehicleType: o.VehicleType,
			Pickup: p.pickup.Coordinates, Dropoff: to.dropoff.Coordinates,
		},
		PickupField: pickupField, DropoffField: to.field,
	}
	if err := d.quotes.Serves(trip); err != nil {
		return nil, err
	}
	if o.ExternalID != "" {
		// The unique index decides; asking first saves the price of a lost cause.
		if err := d.externalIDFree(ctx, t, o.ExternalID); err != nil {
			return nil, err
		}
	}
	p.quote, err = d.quotes.Price(ctx, trip)
	return p, err
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

// book mints the delivery and its answer and stores both.
func (d *Deliveries) book(ctx context.Context, p *prepared, key domain.KeyRecord,
	answer func(*domain.Delivery) domain.Answer,
) (domain.Answer, error) {
	for try := 1; ; try++ {
		w := d.mint(p, key)
		w.Key.Answer = answer(w.Delivery)
		err := d.bookings.Book(ctx, w)
		switch {
		case err == nil:
			return w.Key.Answer, nil
		case errors.Is(err, ports.ErrExternalIDTaken):
			if conflict := d.externalIDFree(ctx, p.tenant, p.order.ExternalID); conflict != nil {
				return domain.Answer{}, conflict
			}
			return domain.Answer{}, domain.Internal(err)
		case domain.HasCode(err, domain.CodeValidation):
			// The storage cannot know what the field is called in an order.
			return domain.Answer{}, domain.TooManyAddresses(p.to.field)
		case try == bookTries:
			return domain.Answer{}, err
		case errors.Is(err, ports.ErrReferenceTaken):
		case errors.Is(err, ports.ErrDirectoryChanged):
			if p.to, err = d.locate(ctx, p.tenant, p.order); err != nil {
				return domain.Answer{}, err
			}
		default:
			return domain.Answer{}, err
		}
	}
}

// mint gives the delivery its identity. The time is taken here, after pricing
// and just before the commit, so that a list read by time misses nothing that
// was committed before it.
func (d *Deliveries) mint(p *prepared, key domain.KeyRecord) ports.BookingWrite {
	now := d.clock.Now()
	recipient, address := p.to.recipient, p.to.address
	if p.to.newRecipient {
		recipient.CreatedAt, recipient.UpdatedAt = now, now
	} else if p.to.fillName {
		recipient.UpdatedAt = now
	}
	if p.to.newAddress {
		address.CreatedAt = now
	}
	delivery, event := domain.Book(domain.Booking{
		ID: d.ids.ID(domain.PrefixDelivery), Tenant: p.tenant, Reference: d.ids.Reference(),
		ExternalID: p.order.ExternalID, Recipient: p.to.party, Pickup: p.pickup, Dropoff: p.to.dropoff,
		Payment: p.order.Payment, VehicleType: p.order.VehicleType, Quote: p.quote,
		Instructions: p.order.Instructions, CreatedAt: now,
	}, d.ids.ID(domain.PrefixEvent))
	return ports.BookingWrite{
		Key: key, Retention: d.gate.Retention(),
		Recipient: recipient, NewRecipient: p.to.newRecipient, FillName: p.to.fillName,
		Address: address, NewAddress: p.to.newAddress,
		Delivery: delivery, Event: event,
	}
}
