package directory

import (
	"context"

	"waybill/application/audit"
	"waybill/application/idempotency"
	"waybill/domain"
	"waybill/ports"
)

// PickupLocations implements the use cases of saved pickup locations.
type PickupLocations struct {
	storage ports.Storage
	log     *audit.Log
	gate    *idempotency.Gate
	clock   ports.Clock
	ids     ports.Identifiers

	turns *turns // of imports
}

// NewPickupLocations returns the use cases of saved pickup locations.
func NewPickupLocations(s ports.Storage, g *idempotency.Gate, c ports.Clock, ids ports.Identifiers) *PickupLocations {
	return &PickupLocations{storage: s, log: audit.New(s, c, ids), gate: g, clock: c, ids: ids, turns: newTurns()}
}

// Get returns a location of the business, or NOT_FOUND.
func (p *PickupLocations) Get(ctx context.Context, t domain.Tenant, id domain.ID) (domain.PickupLocation, error) {
	return p.storage.Read().PickupLocations.Get(ctx, t, id)
}

// List returns up to Limit+1 locations, newest first.
func (p *PickupLocations) List(ctx context.Context, t domain.Tenant, f domain.PickupLocationFilter,
	page domain.PageRequest) ([]domain.PickupLocation, error) {
	return p.storage.Read().PickupLocations.List(ctx, t, f, page)
}

// PickupLocationForm describes a location to add; see domain.PickupLocation.
type PickupLocationForm struct {
	Name        string
	Contact     domain.PhoneNumber
	Address     string
	Coordinates *domain.Coordinates
	Active      bool
}

// Create adds a location on behalf of the business. PICKUP_LOCATION_LIMIT.
func (p *PickupLocations) Create(ctx context.Context, req idempotency.Request,
	form func() (PickupLocationForm, error), answer func(domain.PickupLocation) domain.Answer,
) (idempotency.Result, error) {
	return p.gate.Once(ctx, req, func(context.Context) (idempotency.Attempt, error) {
		f, err := form()
		if err != nil {
			return nil, err
		}
		return func(ctx context.Context, key domain.KeyRecord) (domain.Answer, error) {
			return p.gate.InTx(ctx, req.Tenant, key, func(ctx context.Context, tx ports.Stores) (domain.Answer, error) {
				// Requests at the same time may exceed the limit by their number: a create locks nothing
				// that others of its business wait for.
				if err := room(ctx, tx.PickupLocations, req.Tenant, 1); err != nil {
					return domain.Answer{}, err
				}
				location := p.build(f)
				if err := tx.PickupLocations.Insert(ctx, req.Tenant, location); err != nil {
					return domain.Answer{}, err
				}
				return answer(location), nil
			})
		}, nil
	})
}

// room returns PICKUP_LOCATION_LIMIT where the business has no room for so many more locations.
func room(ctx context.Context, locations ports.PickupLocationReader, t domain.Tenant, more int) error {
	if more == 0 {
		return nil
	}
	there, err := locations.List(ctx, t, domain.PickupLocationFilter{}, domain.PageRequest{Limit: domain.MaxPickupLocations - 1})
	if err == nil && len(there)+more > domain.MaxPickupLocations {
		err = domain.PickupLocationLimit()
	}
	return err
}

func (p *PickupLocations) build(f PickupLocationForm) domain.PickupLocation {
	now := p.clock.Now()
	return domain.PickupLocation{
		ID: p.ids.ID(domain.PrefixPickupLocation), Name: f.Name, Contact: f.Contact, Address: f.Address,
		Coordinates: f.Coordinates, Active: f.Active, CreatedAt: now, UpdatedAt: now,
	}
}

// Change updates the given fields. A change without effect keeps updated_at.
func (p *PickupLocations) Change(ctx context.Context, req idempotency.Request, id domain.ID,
	form func() (domain.PickupLocationChange, error), answer func(domain.PickupLocation) domain.Answer,
) (idempotency.Result, error) {
	return p.gate.Once(ctx, req, func(context.Context) (idempotency.Attempt, error) {
		change, err := form()
		if err != nil {
			return nil, err
		}
		return func(ctx context.Context, key domain.KeyRecord) (domain.Answer, error) {
			return p.gate.InTx(ctx, req.Tenant, key, func(ctx context.Context, tx ports.Stores) (domain.Answer, error) {
				location, err := tx.PickupLocations.Lock(ctx, req.Tenant, id)
				if err != nil {
					return domain.Answer{}, err
				}
				changed, err := location.Apply(change, p.clock.Now())
				if err != nil {
					return domain.Answer{}, err
				}
				if changed {
					if err := tx.PickupLocations.Update(ctx, req.Tenant, location); err != nil {
						return domain.Answer{}, err
					}
				}
				return answer(location), nil
			})
		}, nil
	})
}
