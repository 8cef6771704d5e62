package toystore

import (
	"cmp"
	"context"

	"waybill/domain"
)

type readinessKey struct {
	application domain.ID
	step        domain.ReadinessStep
}

type readiness struct{ session }

func (s readiness) OfApplication(_ context.Context, application domain.ID) ([]domain.Readied, error) {
	return s.now().readiness.where(func(r domain.Readied) bool { return r.ApplicationID == application },
		func(a, b domain.Readied) int { return cmp.Compare(a.Step, b.Step) }), nil
}

func (s readiness) Insert(_ context.Context, r domain.Readied) error {
	key := readinessKey{r.ApplicationID, r.Step}
	if _, there := s.tx.readiness.get(key); !there {
		s.tx.readiness.put(key, r)
	}
	return nil
}
