package tenancy

import (
	"context"
	"errors"
	"strings"
	"time"

	"waybill/domain"
	"waybill/ports"
)

// Tenants are the operators' use cases: who the customers are and which keys
// they have.
type Tenants struct {
	storage       ports.Storage
	digest        ports.KeyDigester
	clock         ports.Clock
	ids           ports.Identifiers
	invalidations ports.Invalidations
}

// NewTenants makes the operators' use cases.
func NewTenants(s ports.Storage, d ports.KeyDigester, c ports.Clock, ids ports.Identifiers, i ports.Invalidations) *Tenants {
	return &Tenants{storage: s, digest: d, clock: c, ids: ids, invalidations: i}
}

// CreateBusiness adds a customer with three sandbox pickup locations to try
// things with: one that works, one switched off, one incomplete. A nil limit
// means the setting for all.
func (t *Tenants) CreateBusiness(ctx context.Context, name string, limit *domain.RateLimit) (domain.Business, error) {
	name, err := properName(name)
	if err != nil {
		return domain.Business{}, err
	}
	business := domain.Business{ID: t.ids.ID(domain.PrefixBusiness), Name: name, RateLimit: limit, CreatedAt: t.clock.Now()}
	sandbox := domain.Tenant{BusinessID: business.ID, Environment: domain.Sandbox}
	err = t.storage.InTx(ctx, func(ctx context.Context, tx ports.Stores) error {
		if err := tx.Tenancy.InsertBusiness(ctx, business); err != nil {
			return err
		}
		for _, location := range t.sandboxLocations(business.CreatedAt) {
			if err := tx.PickupLocations.Insert(ctx, sandbox, location); err != nil {
				return err
			}
		}
		return nil
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
		location("Closed branch", "4 Castle Road, Ridge, Accra", "+233302000002", &domain.Coordinates{Latitude: 5.5622, Longitude: -0.1969}, false),
		location("Unfinished branch", "Spintex Road, Accra", "", nil, true),
	}
}

// CreateApplication adds a program of a business.
func (t *Tenants) CreateApplication(ctx context.Context, businessID domain.ID, name string) (domain.Application, error) {
	name, err := properName(name)
	if err != nil {
		return domain.Application{}, err
	}
	app := domain.Application{ID: t.ids.ID(domain.PrefixApplication), BusinessID: businessID, Name: name, CreatedAt: t.clock.Now()}
	err = t.storage.InTx(ctx, func(ctx context.Context, tx ports.Stores) error {
		if _, err := tx.Tenancy.Business(ctx, businessID); err != nil {
			return err
		}
		return tx.Tenancy.InsertApplication(ctx, app)
	})
	return app, err
}

// SetDisabled switches an application, and with it all its keys, off or on.
func (t *Tenants) SetDisabled(ctx context.Context, id domain.ID, disabled bool) (app domain.Application, err error) {
	err = t.storage.InTx(ctx, func(ctx context.Context, tx ports.Stores) error {
		if err := tx.Tenancy.SetApplicationDisabled(ctx, id, disabled); err != nil {
			return err
		}
		app, err = tx.Tenancy.Application(ctx, id)
		return err
	})
	t.announce(ctx, app.ID, err)
	return app, err
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

// Applications lists the programs of a business, oldest first.
func (t *Tenants) Applications(ctx context.Context, businessID domain.ID) ([]domain.Application, error) {
	if _, err := t.storage.Read().Tenancy.Business(ctx, businessID); err != nil {
		return nil, err
	}
	return t.storage.Read().Tenancy.Applications(ctx, businessID)
}

func properName(name string) (string, error) {
	name = strings.TrimSpace(name)
	if n := len([]rune(name)); n < 1 || n > 128 {
		return "", domain.Invalid(domain.FieldError{Field: "name", Code: domain.FieldOutOfRange, Message: "a name has 1 to 128 characters"})
	}
	return name, nil
}
