package toystore

import (
	"context"
	"slices"
	"time"

	"waybill/domain"
	"waybill/ports"
)

// moveRun is a run with its lease.
type moveRun struct {
	domain.MoveRun
	token string
	until time.Time
}

// free reports whether a process may take the run over.
func (r moveRun) free() bool { return r.FinishedAt == nil && !leased(r.until) }

type moveRuns struct{ session }

func (s moveRuns) Get(_ context.Context, id domain.ID) (domain.MoveRun, error) {
	return shownRun(s.now().moveRuns.take(id))
}

func (s moveRuns) FindByKey(_ context.Context, key string) (domain.MoveRun, error) {
	return shownRun(s.now().moveRuns.first(func(r moveRun) bool { return r.Key == key }))
}

func shownRun(r moveRun, err error) (domain.MoveRun, error) {
	if err == nil && r.FinishedAt == nil && !r.until.IsZero() {
		r.LeaseLeft = time.Until(r.until)
	}
	r.Items = slices.Clone(r.Items)
	return r.MoveRun, err
}

func positionOfRun(r moveRun) domain.Position { return domain.Position{ID: r.ID} }

func (s moveRuns) List(_ context.Context, p domain.PageRequest) (runs []domain.MoveRun, err error) {
	all := s.now().moveRuns.where(func(moveRun) bool { return true }, by(positionOfRun))
	for _, r := range page(all, onlyID(p), true, positionOfRun) {
		run, _ := shownRun(r, nil)
		run.Items = nil
		runs = append(runs, run)
	}
	return runs, nil
}

func (s moveRuns) Left(_ context.Context, limit int) (ids []domain.ID, err error) {
	for _, r := range s.now().moveRuns.where(moveRun.free, by(positionOfRun)) {
		if len(ids) < limit {
			ids = append(ids, r.ID)
		}
	}
	return ids, nil
}

func (s moveRuns) Begin(_ context.Context, r domain.MoveRun, h ports.MoveHold) error {
	if known, err := s.tx.moveRuns.first(func(k moveRun) bool { return k.Key == r.Key }); err == nil {
		if known.ID == r.ID && known.token == h.Token {
			return nil
		}
		return ports.ErrKeyTaken
	}
	r.Items, r.LeaseLeft = slices.Clone(r.Items), 0
	s.tx.moveRuns.put(r.ID, moveRun{MoveRun: r, token: h.Token, until: time.Now().Add(h.Lease)})
	return nil
}

func (s moveRuns) change(h ports.MoveHold, may func(moveRun) bool, change func(*moveRun)) error {
	r, there := s.tx.moveRuns.get(h.Run)
	if !there || r.FinishedAt != nil || !may(r) {
		return ports.ErrLeaseLost
	}
	r.Items = slices.Clone(r.Items)
	change(&r)
	s.tx.moveRuns.put(h.Run, r)
	return nil
}

func (h heldRun) is(r moveRun) bool { return r.token == h.Token }

type heldRun ports.MoveHold

func (s moveRuns) Resume(_ context.Context, h ports.MoveHold) error {
	return s.change(h, func(r moveRun) bool { return r.free() || heldRun(h).is(r) }, func(r *moveRun) {
		r.token, r.until = h.Token, time.Now().Add(h.Lease)
	})
}

func (s moveRuns) Extend(_ context.Context, h ports.MoveHold) error {
	return s.change(h, heldRun(h).is, func(r *moveRun) { r.until = time.Now().Add(h.Lease) })
}

func (s moveRuns) Settle(_ context.Context, h ports.MoveHold, item domain.MoveItem) error {
	r, there := s.tx.moveRuns.get(h.Run)
	if !there || item.Index >= len(r.Items) || r.Items[item.Index].Outcome != domain.MovePending {
		return ports.ErrItemDone
	}
	r.Items = slices.Clone(r.Items)
	r.Items[item.Index] = item
	s.tx.moveRuns.put(h.Run, r)
	return nil
}

func (s moveRuns) Finish(_ context.Context, h ports.MoveHold, at time.Time) error {
	return s.change(h, heldRun(h).is, func(r *moveRun) { r.FinishedAt, r.token, r.until = &at, "", time.Time{} })
}

func (s moveRuns) Release(_ context.Context, h ports.MoveHold) error {
	if err := s.change(h, heldRun(h).is, func(r *moveRun) { r.until = time.Time{} }); err != nil {
		return nil //nolint:nilerr // a lease that was lost needs no release
	}
	return nil
}
