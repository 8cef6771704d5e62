package toystore

import (
	"context"
	"slices"
	"strings"
	"time"

	"waybill/domain"
)

type sending struct{ session }

func (s *state) paused(e domain.Environment) bool { _, ok := s.pauses.get(e); return ok }

func (s *state) sendingPauses() []domain.SendingPause {
	return s.pauses.where(func(domain.SendingPause) bool { return true },
		func(a, b domain.SendingPause) int {
			return strings.Compare(string(a.Environment), string(b.Environment))
		})
}

// Pauses is of what is committed.
func (o outbox) Pauses(context.Context) ([]domain.SendingPause, error) {
	return o.store.committed.Load().sendingPauses(), nil
}

func (s sending) Pauses(context.Context) ([]domain.SendingPause, error) {
	return slices.Clone(s.now().sendingPauses()), nil
}

func (s sending) Pause(_ context.Context, p domain.SendingPause) (paused bool, err error) {
	if s.tx.paused(p.Environment) {
		return false, nil
	}
	s.tx.pauses.put(p.Environment, p)
	return true, nil
}

func (s sending) Resume(_ context.Context, e domain.Environment, at time.Time) (*domain.SendingPause, error) {
	ended, ok := s.tx.pauses.get(e)
	if !ok {
		return nil, nil
	}
	s.tx.pauses.remove(e)
	for id, known := range s.tx.endpoints.rows {
		if since := known.Health.FailingSince; known.Tenant.Environment == e && since != nil && since.Before(at) {
			known.Health.FailingSince = &at
			s.tx.endpoints.put(id, known)
		}
	}
	return &ended, nil
}
