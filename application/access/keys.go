package access

import (
	"context"
	"errors"
	"strings"
	"time"

	"waybill/domain"
	"waybill/ports"
)

// IssuedKey holds a new key. Only now is its secret known.
type IssuedKey struct {
	domain.APIKey
	Secret string
}

// IssueKey makes a key for an application. The secret is not stored: it is shown once. A nil
// lifetime means that the key does not expire. With a pepper that ConfirmPepper refuses it makes no
// key, which would not work. Beyond the limit it returns API_KEY_LIMIT.
func (t *Tenants) IssueKey(ctx context.Context, by domain.AuditActor, applicationID domain.ID, e domain.Environment, scopes []domain.Scope,
	lifetime *time.Duration) (IssuedKey, error) {
	return t.issue(ctx, by, "", applicationID, e, "", scopes, lifetime)
}

// IssueKeyOnce issues a key as IssueKey does, with an ID that came with the form. However often the
// form is sent, one key is made: all other calls return FORM_ALREADY_SENT. The name is what people
// call the key; it may be empty.
func (t *Tenants) IssueKeyOnce(ctx context.Context, by domain.AuditActor, id, applicationID domain.ID, e domain.Environment,
	name string, scopes []domain.Scope, lifetime *time.Duration) (IssuedKey, error) {
	if _, err := domain.ParseID(domain.PrefixAPIKey, string(id)); err != nil {
		return IssuedKey{}, formAlreadySent()
	}
	if name != "" {
		if code, message := domain.NameRule.Judge(name); code != "" {
			return IssuedKey{}, domain.Invalid(domain.FieldError{Field: "name", Code: code, Message: message})
		}
	}
	return t.issue(ctx, by, id, applicationID, e, name, scopes, lifetime)
}

// issue makes a key. For an empty ID it makes one.
func (t *Tenants) issue(ctx context.Context, by domain.AuditActor, once, applicationID domain.ID, e domain.Environment,
	name string, scopes []domain.Scope, lifetime *time.Duration) (IssuedKey, error) {
	key := t.mint(once, applicationID, e, scopes)
	key.Name = name
	if lifetime != nil {
		if *lifetime <= 0 {
			return IssuedKey{}, domain.Invalid(domain.FieldError{Field: "expires_in", Code: domain.FieldOutOfRange,
				Message: "a key lives for more than nothing"})
		}
		expires := key.CreatedAt.Add(*lifetime)
		key.ExpiresAt = &expires
	}
	err := t.log.Change(ctx, by, func(ctx context.Context, tx ports.Stores) (domain.AuditRecord, error) {
		app, err := t.applicationFor(ctx, tx, by, applicationID)
		if err != nil {
			return domain.AuditRecord{}, err
		}
		if err := unsent(ctx, tx, app, once); err != nil {
			return domain.AuditRecord{}, err
		}
		if err := t.roomForKey(ctx, tx, applicationID, e); err != nil {
			return domain.AuditRecord{}, err
		}
		if err := t.confirmPepper(ctx, tx); err != nil {
			return domain.AuditRecord{}, err
		}
		return keyRecord(domain.ActionKeyCreate, key.APIKey, app), tx.Tenancy.InsertAPIKey(ctx, key.APIKey)
	})
	return key, err
}

// RotateKey makes a successor with the same scopes. The old key works until it is revoked, so that
// an integrator can switch without a gap. The successor of an expiring key gets the same lifetime.
// A revoked key is refused: a thief must not get a new key by rotating a revoked one. Beyond the
// limit it returns API_KEY_LIMIT.
func (t *Tenants) RotateKey(ctx context.Context, by domain.AuditActor, id domain.ID) (successor IssuedKey, err error) {
	return t.rotate(ctx, by, id, "")
}

// RotateKeyOnce rotates a key once, as IssueKeyOnce issues one. once is the successor's ID.
func (t *Tenants) RotateKeyOnce(ctx context.Context, by domain.AuditActor, id, once domain.ID) (successor IssuedKey, err error) {
	if _, err := domain.ParseID(domain.PrefixAPIKey, string(once)); err != nil {
		return IssuedKey{}, formAlreadySent()
	}
	return t.rotate(ctx, by, id, once)
}

func (t *Tenants) rotate(ctx context.Context, by domain.AuditActor, id, once domain.ID) (successor IssuedKey, err error) {
	err = t.log.Change(ctx, by, func(ctx context.Context, tx ports.Stores) (domain.AuditRecord, error) {
		old, err := tx.Tenancy.APIKey(ctx, id)
		if err != nil {
			return domain.AuditRecord{}, err
		}
		app, err := t.applicationFor(ctx, tx, by, old.ApplicationID)
		if err != nil {
			return domain.AuditRecord{}, err
		}
		if err := unsent(ctx, tx, app, once); err != nil {
			return domain.AuditRecord{}, err
		}
		if old.RevokedAt != nil {
			return domain.AuditRecord{}, &domain.Error{Kind: domain.KindConflict, Code: domain.CodeAPIKeyRevoked,
				Message: "Key " + string(id) + " was revoked and cannot be rotated. Create a new key for application " + string(old.ApplicationID) +
					"."}
		}
		if err := t.roomForKey(ctx, tx, old.ApplicationID, old.Environment); err != nil {
			return domain.AuditRecord{}, err
		}
		successor = t.mint(once, old.ApplicationID, old.Environment, old.Scopes)
		successor.Name = old.Name
		if old.ExpiresAt != nil {
			expires := successor.CreatedAt.Add(old.ExpiresAt.Sub(old.CreatedAt))
			successor.ExpiresAt = &expires
		}
		if err := t.confirmPepper(ctx, tx); err != nil {
			return domain.AuditRecord{}, err
		}
		record := keyRecord(domain.ActionKeyRotate, successor.APIKey, app)
		record.Target, record.Details["successor"] = id, string(successor.ID)
		return record, tx.Tenancy.InsertAPIKey(ctx, successor.APIKey)
	})
	return successor, err
}

// RevokeKey disables a key for good. Revoking twice changes nothing.
func (t *Tenants) RevokeKey(ctx context.Context, by domain.AuditActor, id domain.ID) (key domain.APIKey, err error) {
	err = t.log.Change(ctx, by, func(ctx context.Context, tx ports.Stores) (domain.AuditRecord, error) {
		before, err := tx.Tenancy.APIKey(ctx, id)
		if err != nil {
			return domain.AuditRecord{}, err
		}
		app, err := t.applicationFor(ctx, tx, by, before.ApplicationID)
		if err != nil {
			return domain.AuditRecord{}, err
		}
		now := t.clock.Now()
		if err := tx.Tenancy.RevokeAPIKey(ctx, id, now); err != nil {
			return domain.AuditRecord{}, err
		}
		// A concurrent call may have revoked it between the two reads.
		if key, err = tx.Tenancy.APIKey(ctx, id); err != nil || before.RevokedAt != nil || !key.RevokedAt.Equal(now) {
			return domain.AuditRecord{}, err
		}
		return keyRecord(domain.ActionKeyRevoke, key, app), nil
	})
	t.announce(ctx, key.ApplicationID, err)
	return key, err
}

// keyRecord returns the audit record of a change to a key of an application.
func keyRecord(a domain.Action, k domain.APIKey, app domain.Application) domain.AuditRecord {
	scopes := make([]string, len(k.Scopes))
	for i, s := range k.Scopes {
		scopes[i] = string(s)
	}
	return domain.AuditRecord{Action: a, Target: k.ID, BusinessID: app.BusinessID, Details: map[string]string{
		"application_id": string(app.ID), "environment": string(k.Environment), "scopes": strings.Join(scopes, ","),
	}}
}

// Key returns one key.
func (t *Tenants) Key(ctx context.Context, id domain.ID) (domain.APIKey, error) {
	return t.storage.Read().Tenancy.APIKey(ctx, id)
}

// Keys lists the keys of an application, oldest first: all usable ones and, of the others, the
// newest of each environment.
func (t *Tenants) Keys(ctx context.Context, applicationID domain.ID) ([]domain.APIKey, error) {
	if _, err := t.storage.Read().Tenancy.Application(ctx, applicationID); err != nil {
		return nil, err
	}
	return t.storage.Read().Tenancy.APIKeys(ctx, applicationID, t.clock.Now())
}

// applicationFor reads an application that the actor acts for.
func (t *Tenants) applicationFor(ctx context.Context, tx ports.Stores, by domain.AuditActor, id domain.ID) (domain.Application, error) {
	app, err := tx.Tenancy.Application(ctx, id)
	if err == nil && !by.ActsFor(app.BusinessID) {
		return domain.Application{}, domain.ErrNotFound
	}
	return app, err
}

// unsent returns FORM_ALREADY_SENT if a key has the ID. It locks the business until the transaction
// ends, so that of two calls at once the second one waits.
func unsent(ctx context.Context, tx ports.Stores, app domain.Application, once domain.ID) error {
	if _, err := tx.Tenancy.LockBusiness(ctx, app.BusinessID); err != nil || once == "" {
		return err
	}
	_, err := tx.Tenancy.APIKey(ctx, once)
	switch {
	case err == nil:
		return formAlreadySent()
	case !errors.Is(err, domain.ErrNotFound):
		return err
	}
	return nil
}

// roomForKey returns API_KEY_LIMIT if the application has as many usable keys in the environment as
// it may. The caller must have locked the business.
func (t *Tenants) roomForKey(ctx context.Context, tx ports.Stores, application domain.ID, e domain.Environment) error {
	now := t.clock.Now()
	keys, err := tx.Tenancy.APIKeys(ctx, application, now)
	if err != nil {
		return err
	}
	usable := 0
	for _, k := range keys {
		if k.Environment == e && !k.Past(now) {
			usable++
		}
	}
	if usable >= domain.MaxUsableKeys {
		return domain.APIKeyLimit(e)
	}
	return nil
}

func formAlreadySent() *domain.Error {
	return &domain.Error{Kind: domain.KindConflict, Code: domain.CodeFormAlreadySent,
		Message: "This form was sent already, and a key is shown once. If it was not copied, revoke it in the list and create another one."}
}

func (t *Tenants) mint(once, applicationID domain.ID, e domain.Environment, scopes []domain.Scope) IssuedKey {
	secret, id := t.ids.APIKey(e), once
	if id == "" {
		id = t.ids.ID(domain.PrefixAPIKey)
	}
	return IssuedKey{Secret: secret, APIKey: domain.APIKey{
		ID: id, ApplicationID: applicationID, Environment: e,
		Digest: t.digest.Digest(secret), Pepper: t.digest.Digest(pepperLabel), LastFour: secret[len(secret)-4:], Scopes: scopes,
		CreatedAt: t.clock.Now(),
	}}
}
