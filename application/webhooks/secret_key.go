package webhooks

import (
	"context"
	"errors"
	"fmt"

	"waybill/domain"
	"waybill/ports"
)

const (
	// keyCheck is the purpose for which a check is sealed. It is no ID, so nothing else is sealed
	// for it.
	keyCheck = "the check of the secret key"
	// resealBatch is how many endpoints are read at a time.
	resealBatch = 100
)

// SecretKey checks the server's key against the storage. Signing secrets are sealed under it, and
// under another one none of them could be opened.
//
// To change it without a gap, give every process the new key first as a previous one. Only then
// make it the current one, so that each process can open what any of them has sealed.
type SecretKey struct {
	storage ports.Storage
	sealer  ports.Sealer
}

// NewSecretKey returns the use cases.
func NewSecretKey(s ports.Storage, sealer ports.Sealer) *SecretKey {
	return &SecretKey{storage: s, sealer: sealer}
}

// Confirm refuses a key other than the one of the storage's secrets, unless that is among the
// previous ones. The storage keeps a check of the first key that comes, whatever secrets it has by
// then. The refusal has the code SECRET_KEY_MISMATCH.
func (k *SecretKey) Confirm(ctx context.Context) error {
	return k.storage.InTx(ctx, func(ctx context.Context, tx ports.Stores) error {
		_, stored, err := k.check(ctx, tx)
		if err == nil && !k.opens(stored) {
			err = &domain.Error{Kind: domain.KindConflict, Code: domain.CodeSecretKeyMismatch,
				Message: "The secret key is not the one this storage's signing secrets were sealed under, of which none can be opened."}
		}
		return err
	})
}

// Adopt makes this key the storage's, and reports whether it replaced an unknown one. Then webhooks
// go to an endpoint only after its secret was rotated. It is only for development.
func (k *SecretKey) Adopt(ctx context.Context) (replaced bool, err error) {
	err = k.storage.InTx(ctx, func(ctx context.Context, tx ports.Stores) error {
		fresh, stored, err := k.check(ctx, tx)
		if replaced = err == nil && !k.opens(stored); !replaced {
			return err
		}
		return tx.Webhooks.SetKeyCheck(ctx, fresh)
	})
	return replaced && err == nil, err
}

// Reseal seals all signing secrets of a previous key under the current one, then the check, and
// returns the number of their endpoints. After it has run in the last process that got the new key,
// the old one is needed only for answers that are still replayed. A secret that cannot be opened
// stays as it is.
func (k *SecretKey) Reseal(ctx context.Context) (resealed int, err error) {
	for after, more := domain.ID(""), true; more; {
		endpoints, err := k.storage.Read().Webhooks.AllEndpoints(ctx, after, resealBatch)
		if err != nil {
			return resealed, err
		}
		for _, e := range endpoints {
			changed, err := k.resealEndpoint(ctx, e)
			if err != nil {
				return resealed, err
			}
			if changed {
				resealed++
			}
			after = e.ID
		}
		more = len(endpoints) == resealBatch
	}
	return resealed, k.storage.InTx(ctx, func(ctx context.Context, tx ports.Stores) error {
		fresh, stored, err := k.check(ctx, tx)
		if err != nil || k.sealer.Current(stored) {
			return err
		}
		return tx.Webhooks.SetKeyCheck(ctx, fresh)
	})
}

// resealEndpoint does nothing to an endpoint that was deleted meanwhile.
func (k *SecretKey) resealEndpoint(ctx context.Context, e domain.WebhookEndpoint) (changed bool, err error) {
	if anew, err := k.reseal(e); anew == nil || err != nil {
		return false, err
	}
	err = k.storage.InTx(ctx, func(ctx context.Context, tx ports.Stores) error {
		locked, err := tx.Webhooks.LockEndpoint(ctx, e.Tenant, e.ID)
		if err != nil {
			return err
		}
		anew, err := k.reseal(locked)
		if changed = anew != nil; !changed || err != nil {
			return err
		}
		locked.Secrets = anew
		return tx.Webhooks.UpdateEndpoint(ctx, locked)
	})
	if errors.Is(err, domain.ErrNotFound) {
		return false, nil
	}
	return changed && err == nil, err
}

// reseal returns the secrets of an endpoint under the current key, or nil where they are already.
func (k *SecretKey) reseal(e domain.WebhookEndpoint) (anew []domain.SigningSecret, err error) {
	for i, secret := range e.Secrets {
		if k.sealer.Current(secret.Sealed) {
			continue
		}
		plain, err := k.sealer.Open(string(e.ID), secret.Sealed)
		if err != nil {
			continue
		}
		if secret.Sealed, err = k.sealer.Seal(string(e.ID), plain); err != nil {
			return nil, fmt.Errorf("seal a signing secret: %w", err)
		}
		if anew == nil {
			anew = append(anew, e.Secrets...)
		}
		anew[i] = secret
	}
	return anew, nil
}

// check returns a check under the current key, and the stored one.
func (k *SecretKey) check(ctx context.Context, tx ports.Stores) (fresh, stored []byte, err error) {
	if fresh, err = k.sealer.Seal(keyCheck, nil); err != nil {
		return nil, nil, fmt.Errorf("seal the check of the key: %w", err)
	}
	stored, err = tx.Webhooks.AddKeyCheck(ctx, fresh)
	return fresh, stored, err
}

func (k *SecretKey) opens(check []byte) bool {
	_, err := k.sealer.Open(keyCheck, check)
	return err == nil
}
