package tenancy

import (
	"context"
	"errors"
	"strings"
	"time"

	"waybill/application/audit"
	"waybill/domain"
	"waybill/ports"
)

// Tenants are the operators' use cases: who the customers are and which keys
// they have.
type Tenants struct {
	storage       ports.Storage
	log           *audit.Log
	digest        ports.KeyDigester
	clock         ports.Clock
	ids           ports.Identifiers
	invalidations ports.Invalidations
}

// NewTenants makes the operators' use cases.
func NewTenants(s ports.Storage, d ports.KeyDigester, c ports.Clock, ids ports.Identifiers, i ports.Invalidations) *Tenants {
	return &Tenants{storage: s, log: audit.New(s, c, ids), digest: d, clock: c, ids: ids, invalidations: i}
}

// CreateBusiness adds a customer with three sandbox pickup locations to try
// things with: one that works, one switched off, one incomplete. A nil limit
// means the setting for all.
func (t *Tenants) CreateBusiness(ctx context.Context, by domain.AuditActor, name string, limit *domain.RateLimit) (domain.Business, error) {
	name, err := properName(name)
	if err != nil {
		return domain.Business{}, err
	}
	business := domain.Business{ID: t.ids.ID(domain.PrefixBusiness), Name: name, RateLimit: limit, CreatedAt: t.clock.Now()}
	sandbox := domain.Tenant{BusinessID: business.ID, Environment: domain.Sandbox}
	err = t.log.Change(ctx, by, func(ctx context.Context, tx ports.Stores) (domain.Deed, error) {
		if err := tx.Tenancy.InsertBusiness(ctx, business); err != nil {
			return domain.Deed{}, err
		}
		for _, location := range t.sandboxLocations(business.CreatedAt) {
			if err := tx.PickupLocations.Insert(ctx, sandbox, location); err != nil {
				return domain.Deed{}, err
			}
		}
		return domain.Deed{Action: domain.ActionBusinessCreate, Target: business.ID, BusinessID: business.ID}, nil
	})
	return business, err
}

// BusinessChange holds what to change of a customer; nil leaves it as it is.
type BusinessChange struct {
	Name      *string
	RateLimit *domain.RateLimit
	// DefaultLimit takes the customer's own limit away: the setting for all applies.
	DefaultLimit bool
}

// ChangeBusiness updates what is given. Servers go by a new limit within two seconds.
func (t *Tenants) ChangeBusiness(ctx context.Context, by domain.AuditActor, id domain.ID, c BusinessChange) (business domain.Business, err error) {
	if c.Name != nil {
		name, err := properName(*c.Name)
		if err != nil {
			return business, err
		}
		c.Name = &name
	}
	err = t.log.Change(ctx, by, func(ctx context.Context, tx ports.Stores) (domain.Deed, error) {
		if business, err = tx.Tenancy.LockBusiness(ctx, id); err != nil {
			return domain.Deed{}, err
		}
		changed := c.apply(&business)
		if len(changed) == 0 {
			return domain.Deed{}, nil
		}
		return domain.Deed{
			Action: domain.ActionBusinessUpdate, Target: id, BusinessID: id,
			Details: map[string]string{"changed": strings.Join(changed, ",")},
		}, tx.Tenancy.UpdateBusiness(ctx, business)
	})
	t.announce(ctx, "", err)
	return business, err
}

// apply names what differs now.
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
	return changed
}

// Business is one customer.
func (t *Tenants) Business(ctx context.Context, id domain.ID) (domain.Business, error) {
	return t.storage.Read().Tenancy.Business(ctx, id)
}

// BusinessPage returns up to Limit+1 customers, oldest first.
func (t *Tenants) BusinessPage(ctx context.Context, p domain.PageRequest) ([]domain.Business, error) {
	return t.storage.Read().Platform.Businesses(ctx, p)
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
		location("Closed branch", "4 Castle Road, Ridge, Accra", "+233302000002", &domain.Coordinates{Latitude: 5.5622, Longitude: -0.1969}, false),
		location("Unfinished branch", "Spintex Road, Accra", "", nil, true),
	}
}

// CreateApplication adds a program of a business.
func (t *Tenants) CreateApplication(ctx context.Context, by domain.AuditActor, businessID domain.ID, name string) (domain.Application, error) {
	name, err := properName(name)
	if err != nil {
		return domain.Application{}, err
	}
	app := domain.Application{ID: t.ids.ID(domain.PrefixApplication), BusinessID: businessID, Name: name, CreatedAt: t.clock.Now()}
	err = t.log.Change(ctx, by, func(ctx context.Context, tx ports.Stores) (domain.Deed, error) {
		if _, err := tx.Tenancy.Business(ctx, businessID); err != nil {
			return domain.Deed{}, err
		}
		return domain.Deed{Action: domain.ActionApplicationCreate, Target: app.ID, BusinessID: businessID}, tx.Tenancy.InsertApplication(ctx, app)
	})
	return app, err
}

// SetDisabled switches an application, and with it all its keys, off or on. A person
// of the business does not switch on what the delivery company has switched off.
func (t *Tenants) SetDisabled(ctx context.Context, by domain.AuditActor, id domain.ID, disabled bool) (app domain.Application, err error) {
	action := domain.ActionApplicationEnable
	if disabled {
		action = domain.ActionApplicationDisable
	}
	err = t.log.Change(ctx, by, func(ctx context.Context, tx ports.Stores) (domain.Deed, error) {
		before, err := t.applicationFor(ctx, tx, by, id)
		if err != nil {
			return domain.Deed{}, err
		}
		if by.BusinessID != "" && before.Disabled && !disabled {
			if err := disabledByPerson(ctx, tx, before); err != nil {
				return domain.Deed{}, err
			}
		}
		if err := tx.Tenancy.SetApplicationDisabled(ctx, id, disabled); err != nil {
			return domain.Deed{}, err
		}
		if app, err = tx.Tenancy.Application(ctx, id); err != nil || before.Disabled == disabled {
			return domain.Deed{}, err
		}
		return domain.Deed{Action: action, Target: id, BusinessID: app.BusinessID}, nil
	})
	t.announce(ctx, app.ID, err)
	return app, err
}

// disabledByPerson answers DISABLED_BY_PLATFORM where the last one to switch an
// application off was no person of its business.
func disabledByPerson(ctx context.Context, tx ports.Stores, app domain.Application) error {
	f := domain.AuditFilter{Action: domain.ActionApplicationDisable, Target: app.ID}
	last, err := tx.Audit.ListOfBusiness(ctx, app.BusinessID, f, domain.PageRequest{Limit: 1})
	if err != nil || len(last) > 0 && last[0].Actor.Kind() == domain.ActorPerson {
		return err
	}
	return &domain.Error{Kind: domain.KindConflict, Code: domain.CodeDisabledByPlatform,
		Message: "The delivery company has disabled this application. Ask it to enable it."}
}

// announce tells the servers that keys of the application open something else
// than before, unless nothing was changed. A key that is new needs no word:
// nobody can have asked for it and remember that it was missing.
func (t *Tenants) announce(ctx context.Context, application domain.ID, err error) {
	if err == nil || errors.Is(err, ports.ErrOutcomeUnknown) {
		// An operator who interrupts the command has made the change all the same.
		t.invalidations.Announce(context.WithoutCancel(ctx), application)
	}
}

// Businesses lists every customer, oldest first.
func (t *Tenants) Businesses(ctx context.Context) ([]domain.Business, error) {
	return t.storage.Read().Tenancy.Businesses(ctx)
}

// Application is one program.
func (t *Tenants) Application(ctx context.Context, id domain.ID) (domain.Application, error) {
	return t.storage.Read().Tenancy.Application(ctx, id)
}

// Applications lists the programs of a business, oldest first.
func (t *Tenants) Applications(ctx context.Context, businessID domain.ID) ([]domain.Application, error) {
	if _, err := t.storage.Read().Tenancy.Business(ctx, businessID); err != nil {
		return nil, err
	}
	return t.storage.Read().Tenancy.Applications(ctx, businessID)
}

func properName(name string) (string, error) {
	name = strings.TrimSpace(name)
	if code, message := domain.NameRule.Judge(name); code != "" {
		return "", domain.Invalid(domain.FieldError{Field: "name", Code: code, Message: message})
	}
	return name, nil
}
