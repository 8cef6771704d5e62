package toystore

import (
	"cmp"
	"context"
	"time"

	"waybill/domain"
)

type views struct{ session }

func (s views) FindByLink(_ context.Context, digest [32]byte) (domain.CustomerView, error) {
	return s.now().views.first(func(v domain.CustomerView) bool { return v.LinkDigest == digest })
}

func (s views) FindByDigest(_ context.Context, digest [32]byte) (domain.CustomerView, error) {
	return s.now().views.first(func(v domain.CustomerView) bool { return v.OpenedAt != nil && v.Digest == digest })
}

func (s views) Unended(_ context.Context, after domain.ID, limit int) ([]domain.CustomerView, error) {
	open := s.now().views.where(func(v domain.CustomerView) bool { return v.OpenedAt != nil && v.EndedAt == nil && v.ID > after },
		func(a, b domain.CustomerView) int { return cmp.Compare(a.ID, b.ID) })
	return open[:min(len(open), limit)], nil
}

func (s views) Insert(_ context.Context, v domain.CustomerView) error {
	if _, err := s.tx.persons.take(v.PersonID); err != nil {
		return err
	}
	if _, err := s.tx.businesses.take(v.BusinessID); err != nil {
		return err
	}
	s.tx.views.put(v.ID, v)
	return nil
}

func (s views) Open(_ context.Context, id domain.ID, digest [32]byte, at, expires time.Time) error {
	if v, there := s.tx.views.get(id); !there || v.OpenedAt != nil {
		return domain.LinkUsed()
	}
	return update(&s.tx.views, id, func(v *domain.CustomerView) { v.Digest, v.OpenedAt, v.ExpiresAt = digest, &at, expires })
}

func (s views) End(_ context.Context, id domain.ID, at time.Time) (bool, error) {
	if v, there := s.tx.views.get(id); !there || v.EndedAt != nil {
		return false, nil
	}
	return true, update(&s.tx.views, id, func(v *domain.CustomerView) { v.EndedAt = &at })
}
