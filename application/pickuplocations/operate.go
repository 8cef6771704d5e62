package pickuplocations

import (
	"context"

	"waybill/domain"
	"waybill/ports"
)

// Add stores a location for the platform's operators. Their calls carry no
// Idempotency-Key, and the location may be incomplete.
func (p *PickupLocations) Add(ctx context.Context, by domain.AuditActor, t domain.Tenant, f Form) (domain.PickupLocation, error) {
	location := p.build(f)
	err := p.log.Change(ctx, by, func(ctx context.Context, tx ports.Stores) (domain.AuditRecord, error) {
		// Locked, as an import does: that must not create what this one just did.
		if _, err := tx.Tenancy.LockBusiness(ctx, t.BusinessID); err != nil {
			return domain.AuditRecord{}, err
		}
		return record(domain.ActionPickupCreate, t, location.ID), tx.PickupLocations.Insert(ctx, t, location)
	})
	return location, err
}

// Amend is Change for the platform's operators.
func (p *PickupLocations) Amend(ctx context.Context, by domain.AuditActor, t domain.Tenant, id domain.ID,
	c domain.PickupLocationChange) (location domain.PickupLocation, err error) {
	err = p.log.Change(ctx, by, func(ctx context.Context, tx ports.Stores) (domain.AuditRecord, error) {
		if location, err = tx.PickupLocations.Lock(ctx, t, id); err != nil {
			return domain.AuditRecord{}, err
		}
		changed, err := location.Apply(c, p.clock.Now())
		if err != nil || !changed {
			return domain.AuditRecord{}, err
		}
		return record(domain.ActionPickupUpdate, t, id), tx.PickupLocations.Update(ctx, t, location)
	})
	return location, err
}

func record(a domain.Action, t domain.Tenant, target domain.ID) domain.AuditRecord {
	return domain.AuditRecord{Action: a, Target: target, BusinessID: t.BusinessID,
		Details: map[string]string{"environment": string(t.Environment)}}
}
