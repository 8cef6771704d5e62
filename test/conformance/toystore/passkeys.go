package toystore

import (
	"bytes"
	"context"
	"time"

	"waybill/domain"
)

type passkeys struct{ session }

func (s passkeys) OfPerson(_ context.Context, person domain.ID) ([]domain.Passkey, error) {
	return s.now().passkeys.where(func(k domain.Passkey) bool { return k.PersonID == person },
		by(func(k domain.Passkey) domain.Position { return domain.Position{CreatedAt: k.CreatedAt, ID: k.ID} })), nil
}

func (s passkeys) FindByCredential(_ context.Context, credentialID []byte) (domain.Passkey, error) {
	return s.now().passkeys.first(func(k domain.Passkey) bool { return bytes.Equal(k.CredentialID, credentialID) })
}

func (s passkeys) Insert(ctx context.Context, k domain.Passkey) error {
	if _, err := s.FindByCredential(ctx, k.CredentialID); err == nil {
		return domain.PasskeyTaken()
	}
	s.tx.passkeys.put(k.ID, k)
	return nil
}

func (s passkeys) Used(_ context.Context, id domain.ID, signCount uint32, at time.Time) error {
	k, err := s.tx.passkeys.take(id)
	if err != nil || k.SignCount >= signCount && k.SignCount+signCount != 0 {
		return domain.ErrNotFound
	}
	return update(&s.tx.passkeys, id, func(k *domain.Passkey) { k.SignCount, k.LastUsedAt = signCount, &at })
}

func (s passkeys) Rename(_ context.Context, person, id domain.ID, name string) error {
	if k, err := s.tx.passkeys.take(id); err != nil || k.PersonID != person {
		return domain.ErrNotFound
	}
	return update(&s.tx.passkeys, id, func(k *domain.Passkey) { k.Name = name })
}

func (s passkeys) Remove(_ context.Context, person, id domain.ID) error {
	if k, err := s.tx.passkeys.take(id); err != nil || k.PersonID != person {
		return domain.ErrNotFound
	}
	s.tx.passkeys.remove(id)
	return nil
}

func (s passkeys) RemoveAll(ctx context.Context, person domain.ID) (int, error) {
	all, err := s.OfPerson(ctx, person)
	for _, k := range all {
		s.tx.passkeys.remove(k.ID)
	}
	return len(all), err
}

type ceremonies struct{ session }

func (s ceremonies) Insert(_ context.Context, c domain.Ceremony) error {
	s.tx.ceremonies.put(c.ID, c)
	return nil
}

func (s ceremonies) Take(_ context.Context, id domain.ID) (domain.Ceremony, error) {
	c, err := s.tx.ceremonies.take(id)
	s.tx.ceremonies.remove(id)
	return c, err
}
