package access

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sort"
	"sync"
	"time"

	"waybill/domain"
	"waybill/ports"
)

const (
	// maxUses limits the uses kept while the storage does not accept them: about 10 MB.
	maxUses = 100_000
	// usesBatch limits the rows of one transaction.
	usesBatch = 1000
	// touchPatience is the timeout of one transaction. If it takes longer, as for a key whose row
	// is locked, its keys are written in touchParts parts.
	touchPatience = 200 * time.Millisecond
	touchParts    = 8
)

// keyUses collects the times of last use of keys, so that no request waits for that write. It has
// one mutex: noting a use takes a fraction of a microsecond.
type keyUses struct {
	storage ports.Storage

	mu     sync.Mutex
	latest map[domain.ID]time.Time
	// old holds the keys that are stored with another pepper than the current one.
	old map[domain.ID]FoundDigest
}

func newKeyUses(s ports.Storage) *keyUses {
	return &keyUses{storage: s, latest: make(map[domain.ID]time.Time), old: make(map[domain.ID]FoundDigest)}
}

// note stores the latest use of a key. Beyond maxUses keys a new one is dropped until its next use.
func (u *keyUses) note(key domain.ID, at time.Time) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if before, known := u.latest[key]; known && !at.After(before) || !known && len(u.latest) >= maxUses {
		return
	}
	u.latest[key] = at
}

func (u *keyUses) noteAll(uses []ports.KeyUse) {
	for _, use := range uses {
		u.note(use.ID, use.At)
	}
}

// found records that a key was found by an old digest, to be replaced. Beyond maxUses keys it is
// dropped, as in note.
func (u *keyUses) found(f FoundDigest) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if len(u.old) < maxUses {
		u.old[f.ID] = f
	}
}

func (u *keyUses) takeOld() []FoundDigest {
	u.mu.Lock()
	defer u.mu.Unlock()
	taken := slices.Collect(maps.Values(u.old))
	clear(u.old)
	return taken
}

func (u *keyUses) take() []ports.KeyUse {
	u.mu.Lock()
	defer u.mu.Unlock()
	taken := make([]ports.KeyUse, 0, len(u.latest))
	for key, at := range u.latest {
		taken = append(taken, ports.KeyUse{ID: key, At: at})
	}
	clear(u.latest)
	return taken
}

// RecordUses writes which keys were used since the last call, and moves those with an old pepper to
// the current one. Uses that could not be written are kept for the next call.
//
// A use is a request with a valid key on the right host, whatever its outcome. One that a limit
// refused counts too: the time of last use shows whether a program still has the key.
func (a *Admission) RecordUses(ctx context.Context) error {
	return errors.Join(a.recordUses(ctx), a.redigest(ctx))
}

func (a *Admission) recordUses(ctx context.Context) error {
	left := a.uses.take()
	var held error
	for batch := range slices.Chunk(left, usesBatch) {
		err := a.touch(ctx, batch)
		left = left[len(batch):]
		if err != nil && !isHeld(ctx, err) {
			a.uses.noteAll(left)
			return err
		}
		held = errors.Join(held, err)
	}
	return held
}

// touch writes the uses of some keys, and keeps those that could not be written. If another
// transaction locks one of the keys, it keeps only that one.
func (a *Admission) touch(ctx context.Context, uses []ports.KeyUse) (failed error) {
	within, cancel := context.WithTimeout(ctx, touchPatience)
	defer cancel()
	err := a.uses.storage.InTx(within, func(ctx context.Context, tx ports.Stores) error {
		return tx.Tenancy.TouchAPIKeys(ctx, uses)
	})
	if len(uses) > 1 && isHeld(ctx, err) {
		for part := range slices.Chunk(uses, max(1, len(uses)/touchParts)) {
			failed = errors.Join(failed, a.touch(ctx, part))
		}
		return failed
	}
	if err != nil {
		// The transaction may have committed all the same. Writing a use twice does no harm.
		a.uses.noteAll(uses)
	}
	return err
}

// isHeld reports whether another transaction locks a record for long.
func isHeld(ctx context.Context, err error) bool {
	return ctx.Err() == nil && (domain.HasCode(err, domain.CodeServiceUnavailable) || errors.Is(err, context.DeadlineExceeded))
}

// redigest stores keys with the current pepper that were found with an old one.
func (a *Admission) redigest(ctx context.Context) error {
	left := a.uses.takeOld()
	// In the same order everywhere, so that two processes never wait for each other.
	sort.Slice(left, func(i, j int) bool { return left[i].ID < left[j].ID })
	for batch := range slices.Chunk(left, usesBatch) {
		err := a.uses.storage.InTx(ctx, func(ctx context.Context, tx ports.Stores) error {
			changes, err := Redigestible(ctx, tx, a.digest, batch)
			if err != nil {
				return err
			}
			return tx.Tenancy.RedigestAPIKeys(ctx, changes)
		})
		if err != nil {
			for _, f := range left {
				a.uses.found(f)
			}
			return err
		}
		left = left[len(batch):]
	}
	return nil
}
