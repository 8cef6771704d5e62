package directory

import (
	"context"
	"errors"
	"time"

	"waybill/domain"
	"waybill/ports"
)

// Add stores a location for the platform's operators. Their calls carry no Idempotency-Key, and the
// location may be incomplete. Only people of the business get PICKUP_LOCATION_LIMIT, here and from
// an import: operators store as many as was agreed.
func (p *PickupLocations) Add(ctx context.Context, by domain.AuditActor, t domain.Tenant, f PickupLocationForm) (domain.PickupLocation, error) {
	return p.add(ctx, by, t, p.build(f))
}

// AddOnce adds a location under an ID that was drawn with the form. However often the form is sent,
// one location is made. All other calls return FORM_ALREADY_SENT.
func (p *PickupLocations) AddOnce(ctx context.Context, by domain.AuditActor, once domain.ID, t domain.Tenant, f PickupLocationForm) (
	domain.PickupLocation, error) {
	location := p.build(f)
	location.ID = once
	location, err := p.add(ctx, by, t, location)
	if errors.Is(err, ports.ErrIDTaken) {
		err = &domain.Error{Kind: domain.KindConflict, Code: domain.CodeFormAlreadySent,
			Message: "This form was sent already: the pickup location that it made is in the list. For another one send the form below."}
	}
	return location, err
}

func (p *PickupLocations) add(ctx context.Context, by domain.AuditActor, t domain.Tenant, location domain.PickupLocation) (
	domain.PickupLocation, error) {
	err := p.log.Change(ctx, by, func(ctx context.Context, tx ports.Stores) (domain.AuditRecord, error) {
		// Lock the business as an import does, which must not create the same location.
		if _, err := tx.Tenancy.LockBusiness(ctx, t.BusinessID); err != nil {
			return domain.AuditRecord{}, err
		}
		if by.BusinessID != "" {
			if err := room(ctx, tx.PickupLocations, t, 1); err != nil {
				if _, gone := tx.PickupLocations.Get(ctx, t, location.ID); gone == nil {
					err = ports.ErrIDTaken // by the same form
				}
				return domain.AuditRecord{}, err
			}
		}
		return record(domain.ActionPickupCreate, t, location.ID), tx.PickupLocations.Insert(ctx, t, location)
	})
	return location, err
}

// Amend changes a location for the platform's operators.
func (p *PickupLocations) Amend(ctx context.Context, by domain.AuditActor, t domain.Tenant, id domain.ID,
	c domain.PickupLocationChange) (location domain.PickupLocation, err error) {
	return p.amendShown(ctx, by, t, id, nil, c)
}

// ErrPickupLocationChanged means that a location was changed since it was shown.
var ErrPickupLocationChanged = errors.New("the pickup location has changed since it was shown")

// AmendShown amends a location whose last change was at shownAt. It returns
// ErrPickupLocationChanged where it was changed after that, and the change would change it again.
func (p *PickupLocations) AmendShown(ctx context.Context, by domain.AuditActor, t domain.Tenant, id domain.ID, shownAt time.Time,
	c domain.PickupLocationChange) (domain.PickupLocation, error) {
	return p.amendShown(ctx, by, t, id, &shownAt, c)
}

func (p *PickupLocations) amendShown(ctx context.Context, by domain.AuditActor, t domain.Tenant, id domain.ID, shownAt *time.Time,
	c domain.PickupLocationChange) (location domain.PickupLocation, err error) {
	err = p.log.Change(ctx, by, func(ctx context.Context, tx ports.Stores) (domain.AuditRecord, error) {
		if location, err = tx.PickupLocations.Lock(ctx, t, id); err != nil {
			return domain.AuditRecord{}, err
		}
		before := location.UpdatedAt
		changed, err := location.Apply(c, p.clock.Now())
		if err != nil || !changed {
			return domain.AuditRecord{}, err
		}
		if shownAt != nil && !before.Equal(*shownAt) {
			return domain.AuditRecord{}, ErrPickupLocationChanged
		}
		return record(domain.ActionPickupUpdate, t, id), tx.PickupLocations.Update(ctx, t, location)
	})
	return location, err
}

func record(a domain.Action, t domain.Tenant, target domain.ID) domain.AuditRecord {
	return domain.AuditRecord{Action: a, Target: target, BusinessID: t.BusinessID,
		Details: map[string]string{"environment": string(t.Environment)}}
}
