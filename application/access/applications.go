package access

import (
	"context"
	"errors"

	"waybill/domain"
	"waybill/ports"
)

// CreateApplication adds an application of a business, or returns APPLICATION_LIMIT.
func (t *Tenants) CreateApplication(ctx context.Context, by domain.AuditActor, businessID domain.ID, name string) (domain.Application,
	error) {
	return t.createApplication(ctx, by, t.ids.ID(domain.PrefixApplication), businessID, name)
}

// CreateApplicationOnce adds an application as CreateApplication does, with an ID that came with
// the form. However often the form is sent, one application is made: all other calls return
// FORM_ALREADY_SENT.
func (t *Tenants) CreateApplicationOnce(ctx context.Context, by domain.AuditActor, once, businessID domain.ID, name string) (
	domain.Application, error) {
	app, err := t.createApplication(ctx, by, once, businessID, name)
	if errors.Is(err, ports.ErrIDTaken) {
		err = &domain.Error{Kind: domain.KindConflict, Code: domain.CodeFormAlreadySent,
			Message: "This form was sent already: the application that it made is in the list. For another one send the form below."}
	}
	return app, err
}

func (t *Tenants) createApplication(ctx context.Context, by domain.AuditActor, id, businessID domain.ID, name string) (domain.Application,
	error) {
	name, err := properName(name)
	if err != nil {
		return domain.Application{}, err
	}
	app := domain.Application{ID: id, BusinessID: businessID, Name: name, CreatedAt: t.clock.Now()}
	err = t.log.Change(ctx, by, func(ctx context.Context, tx ports.Stores) (domain.AuditRecord, error) {
		if _, err := tx.Tenancy.LockBusiness(ctx, businessID); err != nil {
			return domain.AuditRecord{}, err
		}
		if err := roomForApplication(ctx, tx, businessID, id); err != nil {
			return domain.AuditRecord{}, err
		}
		return domain.AuditRecord{Action: domain.ActionApplicationCreate, Target: app.ID, BusinessID: businessID,
			Details: map[string]string{"name": name}}, tx.Tenancy.InsertApplication(ctx, app)
	})
	return app, err
}

// roomForApplication returns APPLICATION_LIMIT if a business has as many applications as it may. If
// one of them has the ID it returns ports.ErrIDTaken. The caller must have locked the business.
func roomForApplication(ctx context.Context, tx ports.Stores, businessID, id domain.ID) error {
	apps, err := tx.Tenancy.ApplicationsPage(ctx, businessID, domain.PageRequest{Limit: domain.MaxApplications - 1})
	if err != nil || len(apps) < domain.MaxApplications {
		return err
	}
	switch _, err := tx.Tenancy.Application(ctx, id); {
	case err == nil:
		return ports.ErrIDTaken
	case !errors.Is(err, domain.ErrNotFound):
		return err
	}
	return domain.ApplicationLimit()
}

// RenameApplication renames an application, which people see and no key.
func (t *Tenants) RenameApplication(ctx context.Context, by domain.AuditActor, id domain.ID, name string) (app domain.Application,
	err error) {
	name, err = properName(name)
	if err != nil {
		return app, err
	}
	err = t.log.Change(ctx, by, func(ctx context.Context, tx ports.Stores) (domain.AuditRecord, error) {
		if app, err = t.applicationFor(ctx, tx, by, id); err != nil || app.Name == name {
			return domain.AuditRecord{}, err
		}
		details := map[string]string{"name": name, "before": app.Name}
		app.Name = name
		return domain.AuditRecord{Action: domain.ActionApplicationRename, Target: id, BusinessID: app.BusinessID, Details: details},
			tx.Tenancy.RenameApplication(ctx, id, name)
	})
	return app, err
}

// SetDisabled disables or enables an application, and with it all its keys. A person of the
// business cannot enable what the delivery company has disabled.
func (t *Tenants) SetDisabled(ctx context.Context, by domain.AuditActor, id domain.ID, disabled bool) (app domain.Application, err error) {
	action := domain.ActionApplicationEnable
	if disabled {
		action = domain.ActionApplicationDisable
	}
	err = t.log.Change(ctx, by, func(ctx context.Context, tx ports.Stores) (domain.AuditRecord, error) {
		before, err := t.applicationFor(ctx, tx, by, id)
		if err != nil {
			return domain.AuditRecord{}, err
		}
		if by.BusinessID != "" && before.Disabled && !disabled {
			if err := disabledByPerson(ctx, tx, before); err != nil {
				return domain.AuditRecord{}, err
			}
		}
		if err := tx.Tenancy.SetApplicationDisabled(ctx, id, disabled); err != nil {
			return domain.AuditRecord{}, err
		}
		if app, err = tx.Tenancy.Application(ctx, id); err != nil || before.Disabled == disabled {
			return domain.AuditRecord{}, err
		}
		return domain.AuditRecord{Action: action, Target: id, BusinessID: app.BusinessID}, nil
	})
	t.announce(ctx, app.ID, err)
	return app, err
}

// Application returns one application.
func (t *Tenants) Application(ctx context.Context, id domain.ID) (domain.Application, error) {
	return t.storage.Read().Tenancy.Application(ctx, id)
}

// Applications lists the applications of a business, oldest first.
func (t *Tenants) Applications(ctx context.Context, businessID domain.ID) ([]domain.Application, error) {
	if _, err := t.storage.Read().Tenancy.Business(ctx, businessID); err != nil {
		return nil, err
	}
	return t.storage.Read().Tenancy.Applications(ctx, businessID)
}

// ApplicationsPage lists the applications of a business after one of them, or from the first one on
// for an empty ID. It returns up to limit, and whether there are more; domain.ErrNotFound if after
// is no application of the business.
func (t *Tenants) ApplicationsPage(ctx context.Context, businessID, after domain.ID, limit int) (apps []domain.Application, more bool,
	err error) {
	p := domain.PageRequest{Limit: limit}
	if after != "" {
		last, err := t.ApplicationOf(ctx, businessID, after)
		if err != nil {
			return nil, false, err
		}
		p.After = &domain.Position{CreatedAt: last.CreatedAt, ID: last.ID}
	}
	apps, err = t.storage.Read().Tenancy.ApplicationsPage(ctx, businessID, p)
	if len(apps) > limit {
		return apps[:limit], true, err
	}
	return apps, false, err
}

// disabledByPerson returns DISABLED_BY_PLATFORM if the last one to disable an application was no
// person of its business.
func disabledByPerson(ctx context.Context, tx ports.Stores, app domain.Application) error {
	f := domain.AuditFilter{Action: domain.ActionApplicationDisable, Target: app.ID}
	last, err := tx.Audit.ListOfBusiness(ctx, app.BusinessID, f, domain.PageRequest{Limit: 1})
	if err != nil || len(last) > 0 && last[0].Actor.Kind() == domain.ActorPerson {
		return err
	}
	return &domain.Error{Kind: domain.KindConflict, Code: domain.CodeDisabledByPlatform,
		Message: "The delivery company has disabled this application. Ask it to enable it."}
}
