package toystore

import (
	"context"

	"waybill/domain"
)

type identityKey struct{ issuer, subject string }

type identities struct{ session }

func (s identities) Find(_ context.Context, issuer, subject string) (domain.ConnectedIdentity, error) {
	return s.now().identities.take(identityKey{issuer, subject})
}

func (s identities) OfPerson(_ context.Context, person domain.ID) ([]domain.ConnectedIdentity, error) {
	return s.now().identities.where(func(c domain.ConnectedIdentity) bool { return c.PersonID == person },
		by(func(c domain.ConnectedIdentity) domain.Position {
			return domain.Position{CreatedAt: c.CreatedAt, ID: domain.ID(c.Issuer + " " + c.Subject)}
		})), nil
}

func (s identities) Insert(_ context.Context, c domain.ConnectedIdentity) error {
	key := identityKey{c.Issuer, c.Subject}
	if _, err := s.tx.identities.take(key); err == nil {
		return domain.IdentityTaken()
	}
	s.tx.identities.put(key, c)
	return nil
}
