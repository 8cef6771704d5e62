package access

import (
	"context"
	"slices"
	"strconv"
	"time"

	"waybill/domain"
	"waybill/ports"
)

// IssuedOperatorToken holds a new token. Only now is its secret known.
type IssuedOperatorToken struct {
	domain.OperatorToken
	Secret string
}

// DefaultOperatorLifetime is the lifetime of a token if none is given.
const DefaultOperatorLifetime = 90 * 24 * time.Hour

// IssueOperatorToken makes a token for the operations API. The secret is not stored: it is shown
// once. A nil lifetime means that the token does not expire. As with keys, it makes none with a
// pepper that ConfirmPepper refuses.
func (t *Tenants) IssueOperatorToken(ctx context.Context, by domain.AuditActor, name string, kind domain.OperatorKind,
	lifetime *time.Duration) (IssuedOperatorToken, error) {
	name, err := properName(name)
	if err != nil {
		return IssuedOperatorToken{}, err
	}
	if !slices.Contains(domain.OperatorKinds(), kind) {
		return IssuedOperatorToken{}, domain.Invalid(domain.FieldError{Field: "kind", Code: domain.FieldNotAllowed, Message: "there is no kind " +
			strconv.Quote(string(kind))})
	}
	secret := domain.MakeOperatorToken(t.ids.SigningSecret())
	token := IssuedOperatorToken{Secret: secret, OperatorToken: domain.OperatorToken{
		ID: t.ids.ID(domain.PrefixOperatorToken), Name: name, Kind: kind, Digest: t.digest.Digest(secret), Pepper: t.digest.Digest(pepperLabel),
		LastFour: secret[len(secret)-4:], CreatedAt: t.clock.Now(),
	}}
	if lifetime != nil {
		if *lifetime <= 0 {
			return IssuedOperatorToken{}, domain.Invalid(domain.FieldError{Field: "expires_in", Code: domain.FieldOutOfRange,
				Message: "a token lives for more than nothing"})
		}
		expires := token.CreatedAt.Add(*lifetime)
		token.ExpiresAt = &expires
	}
	err = t.log.Change(ctx, by, func(ctx context.Context, tx ports.Stores) (domain.AuditRecord, error) {
		if err := t.confirmPepper(ctx, tx); err != nil {
			return domain.AuditRecord{}, err
		}
		details := map[string]string{"name": name, "kind": string(kind), "expires_at": "never"}
		if token.ExpiresAt != nil {
			details["expires_at"] = domain.FormatTime(*token.ExpiresAt)
		}
		return domain.AuditRecord{Action: domain.ActionOperatorCreate, Target: token.ID, Details: details},
			tx.Operators.Insert(ctx, token.OperatorToken)
	})
	return token, err
}

// RevokeOperatorToken disables a token for good. Revoking twice changes nothing.
func (t *Tenants) RevokeOperatorToken(ctx context.Context, by domain.AuditActor, id domain.ID) (token domain.OperatorToken, err error) {
	err = t.log.Change(ctx, by, func(ctx context.Context, tx ports.Stores) (domain.AuditRecord, error) {
		before, err := tx.Operators.Get(ctx, id)
		if err != nil {
			return domain.AuditRecord{}, err
		}
		now := t.clock.Now()
		if err := tx.Operators.Revoke(ctx, id, now); err != nil {
			return domain.AuditRecord{}, err
		}
		if token, err = tx.Operators.Get(ctx, id); err != nil || before.RevokedAt != nil || !token.RevokedAt.Equal(now) {
			return domain.AuditRecord{}, err
		}
		return domain.AuditRecord{Action: domain.ActionOperatorRevoke, Target: id, Details: map[string]string{"name": token.Name}}, nil
	})
	return token, err
}

// OperatorTokens lists all tokens, oldest first, including revoked ones.
func (t *Tenants) OperatorTokens(ctx context.Context) ([]domain.OperatorToken, error) {
	return t.storage.Read().Operators.List(ctx)
}

// UsableOperatorToken reports whether a secret works at the operations API now.
func (t *Tenants) UsableOperatorToken(ctx context.Context, secret string) (bool, error) {
	if !domain.SoundOperatorToken(secret) {
		return false, nil
	}
	token, err := t.storage.Read().Operators.FindByDigest(ctx, digestsOf(t.digest, secret)...)
	if domain.HasCode(err, domain.CodeNotFound) {
		return false, nil
	}
	return err == nil && token.Usable(t.clock.Now()) == nil, err
}
