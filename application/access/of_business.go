package access

import (
	"context"

	"waybill/domain"
)

// ApplicationOf returns an application of a business; domain.ErrNotFound if it is another's.
func (t *Tenants) ApplicationOf(ctx context.Context, business, id domain.ID) (domain.Application, error) {
	app, err := t.storage.Read().Tenancy.Application(ctx, id)
	if err == nil && app.BusinessID != business {
		return domain.Application{}, domain.ErrNotFound
	}
	return app, err
}

// KeysOf lists the keys of an application of a business in one environment as Keys does, but newest
// first.
func (t *Tenants) KeysOf(ctx context.Context, business, application domain.ID, e domain.Environment) ([]domain.APIKey, error) {
	if _, err := t.ApplicationOf(ctx, business, application); err != nil {
		return nil, err
	}
	all, err := t.storage.Read().Tenancy.APIKeys(ctx, application, t.clock.Now())
	var keys []domain.APIKey
	for i := len(all) - 1; i >= 0; i-- {
		if all[i].Environment == e {
			keys = append(keys, all[i])
		}
	}
	return keys, err
}

// KeyOf returns one of the keys of an application of a business in one environment.
func (t *Tenants) KeyOf(ctx context.Context, business, application domain.ID, e domain.Environment, id domain.ID) (domain.APIKey, error) {
	if _, err := t.ApplicationOf(ctx, business, application); err != nil {
		return domain.APIKey{}, err
	}
	key, err := t.storage.Read().Tenancy.APIKey(ctx, id)
	if err == nil && (key.ApplicationID != application || key.Environment != e) {
		return domain.APIKey{}, domain.ErrNotFound
	}
	return key, err
}
