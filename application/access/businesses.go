package access

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"time"

	"waybill/domain"
	"waybill/ports"
)

// CreateBusiness adds a customer with three sandbox pickup locations for experiments: one that
// works, one switched off, one incomplete. A nil limit means the default setting.
func (t *Tenants) CreateBusiness(ctx context.Context, by domain.AuditActor, name string, limit *domain.RateLimit) (domain.Business, error) {
	return t.CreateBusinessOnce(ctx, by, t.ids.ID(domain.PrefixBusiness), name, limit)
}

// CreateBusinessOnce adds a customer as CreateBusiness does, with an ID that came with the form.
// However often the form is sent, one customer is made: all other calls return FORM_ALREADY_SENT.
func (t *Tenants) CreateBusinessOnce(ctx context.Context, by domain.AuditActor, once domain.ID, name string, limit *domain.RateLimit) (
	domain.Business, error) {
	name, err := properName(name)
	if err != nil {
		return domain.Business{}, err
	}
	business := domain.Business{ID: once, Name: name, RateLimit: limit, CreatedAt: t.clock.Now()}
	sandbox := domain.Tenant{BusinessID: business.ID, Environment: domain.Sandbox}
	err = t.log.Change(ctx, by, func(ctx context.Context, tx ports.Stores) (domain.AuditRecord, error) {
		if _, err := tx.Tenancy.Business(ctx, once); !errors.Is(err, domain.ErrNotFound) {
			return domain.AuditRecord{}, cmp.Or(err, error(&domain.Error{Kind: domain.KindConflict, Code: domain.CodeFormAlreadySent,
				Message: "This form was sent already: the customer that it made is in the list. For another one send the form below."}))
		}
		if err := tx.Tenancy.InsertBusiness(ctx, business); err != nil {
			return domain.AuditRecord{}, err
		}
		for _, location := range t.sandboxLocations(business.CreatedAt) {
			if err := tx.PickupLocations.Insert(ctx, sandbox, location); err != nil {
				return domain.AuditRecord{}, err
			}
		}
		return domain.AuditRecord{Action: domain.ActionBusinessCreate, Target: business.ID, BusinessID: business.ID}, nil
	})
	return business, err
}

func (t *Tenants) sandboxLocations(now time.Time) []domain.PickupLocation {
	location := func(name, address string, contact domain.PhoneNumber, at *domain.Coordinates, active bool) domain.PickupLocation {
		return domain.PickupLocation{
			ID: t.ids.ID(domain.PrefixPickupLocation), Name: name, Contact: contact, Address: address,
			Coordinates: at, Active: active, CreatedAt: now, UpdatedAt: now,
		}
	}
	return []domain.PickupLocation{
		location("Osu branch", "12 Oxford Street, Osu, Accra", "+233302000001", &domain.Coordinates{Latitude: 5.5571, Longitude: -0.1818}, true),
		location("Closed branch", "4 Castle Road, Ridge, Accra", "+233302000002", &domain.Coordinates{Latitude: 5.5622, Longitude: -0.1969},
			false),
		location("Unfinished branch", "Spintex Road, Accra", "", nil, true),
	}
}

// BusinessChange holds the changes of a customer; nil leaves a field as it is.
type BusinessChange struct {
	Name      *string
	RateLimit *domain.RateLimit
	// DefaultLimit removes the customer's own limit: the default setting applies.
	DefaultLimit bool
	TrackingCash *bool
}

// ChangeBusiness updates the given fields. Servers apply a new limit within two seconds.
func (t *Tenants) ChangeBusiness(ctx context.Context, by domain.AuditActor, id domain.ID, c BusinessChange) (business domain.Business,
	err error) {
	if c.Name != nil {
		name, err := properName(*c.Name)
		if err != nil {
			return business, err
		}
		c.Name = &name
	}
	err = t.log.Change(ctx, by, func(ctx context.Context, tx ports.Stores) (domain.AuditRecord, error) {
		if business, err = tx.Tenancy.LockBusiness(ctx, id); err != nil {
			return domain.AuditRecord{}, err
		}
		changed := c.apply(&business)
		if len(changed) == 0 {
			return domain.AuditRecord{}, nil
		}
		return domain.AuditRecord{
			Action: domain.ActionBusinessUpdate, Target: id, BusinessID: id,
			Details: map[string]string{"changed": strings.Join(changed, ",")},
		}, tx.Tenancy.UpdateBusiness(ctx, business)
	})
	t.announce(ctx, "", err)
	return business, err
}

// apply makes the changes and returns the names of the changed fields.
func (c *BusinessChange) apply(b *domain.Business) (changed []string) {
	if c.Name != nil && *c.Name != b.Name {
		b.Name = *c.Name
		changed = append(changed, "name")
	}
	limit := b.RateLimit
	switch {
	case c.DefaultLimit:
		limit = nil
	case c.RateLimit != nil:
		limit = c.RateLimit
	}
	if same := limit == b.RateLimit || limit != nil && b.RateLimit != nil && *limit == *b.RateLimit; !same {
		b.RateLimit = limit
		changed = append(changed, "rate_limit")
	}
	if c.TrackingCash != nil && *c.TrackingCash != b.TrackingCash {
		b.TrackingCash = *c.TrackingCash
		changed = append(changed, map[bool]string{true: "tracking_cash_on", false: "tracking_cash_off"}[b.TrackingCash])
	}
	return changed
}

// SetBusinessDisabled disables a customer or enables it. While it is disabled, none of its keys
// works and none of its people can sign in. Servers apply that within two seconds. Deliveries that
// are under way continue, and so do their webhooks.
func (t *Tenants) SetBusinessDisabled(ctx context.Context, by domain.AuditActor, id domain.ID, disabled bool) (business domain.Business,
	err error) {
	action := domain.ActionBusinessEnable
	if disabled {
		action = domain.ActionBusinessDisable
	}
	err = t.log.Change(ctx, by, func(ctx context.Context, tx ports.Stores) (domain.AuditRecord, error) {
		if business, err = tx.Tenancy.LockBusiness(ctx, id); err != nil || business.Disabled == disabled {
			return domain.AuditRecord{}, err
		}
		business.Disabled = disabled
		return domain.AuditRecord{Action: action, Target: id, BusinessID: id}, tx.Tenancy.UpdateBusiness(ctx, business)
	})
	t.announce(ctx, "", err)
	return business, err
}

// Customers finds up to Limit+1 customers, newest first, with the number of things each has.
func (t *Tenants) Customers(ctx context.Context, s domain.CustomerSearch, p domain.PageRequest) ([]domain.Customer, error) {
	return t.storage.Read().Platform.Customers(ctx, s, t.clock.Now(), p)
}

// Footprint counts what a customer or one of its applications has: what disabling it stops. It
// returns domain.ErrNotFound if there is no such customer, or the application is another's.
func (t *Tenants) Footprint(ctx context.Context, business, application domain.ID) (domain.Footprint, error) {
	if _, err := t.storage.Read().Tenancy.Business(ctx, business); err != nil {
		return domain.Footprint{}, err
	}
	if application != "" {
		if _, err := t.ApplicationOf(ctx, business, application); err != nil {
			return domain.Footprint{}, err
		}
	}
	return t.storage.Read().Platform.Footprint(ctx, business, application, t.clock.Now())
}

// Business returns one customer.
func (t *Tenants) Business(ctx context.Context, id domain.ID) (domain.Business, error) {
	return t.storage.Read().Tenancy.Business(ctx, id)
}

// BusinessPage returns up to Limit+1 customers, oldest first.
func (t *Tenants) BusinessPage(ctx context.Context, p domain.PageRequest) ([]domain.Business, error) {
	return t.storage.Read().Platform.Businesses(ctx, p)
}

// Businesses lists every customer, oldest first.
func (t *Tenants) Businesses(ctx context.Context) ([]domain.Business, error) {
	return t.storage.Read().Tenancy.Businesses(ctx)
}
