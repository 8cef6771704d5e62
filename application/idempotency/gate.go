package idempotency

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"waybill/domain"
	"waybill/ports"
)

const (
	// busyRetryAfter is what a caller is told while its first request runs.
	busyRetryAfter = time.Second
	// commitBudget bounds one create from the moment nothing may stop it any
	// more; it outlasts the storage's statement and lock time-outs.
	commitBudget = 15 * time.Second
	// unknownRetries is how often a commit without an answer is asked again.
	unknownRetries = 5
	firstPause     = 100 * time.Millisecond
)

// Request is what a caller sent to be done once.
type Request struct {
	Tenant      domain.Tenant
	Key         string   // empty: not asked for, where the operation allows that
	Fingerprint [32]byte // of method, path and canonical body
}

// Result is an answer and whether it was given before.
type Result struct {
	Answer   domain.Answer
	Replayed bool
}

// Attempt stores what was prepared, under the record given to it, in one
// transaction, and returns the answer. It must be safe to repeat after
// ports.ErrOutcomeUnknown and must pass ports.ErrKeyTaken on.
type Attempt func(ctx context.Context, record domain.KeyRecord) (domain.Answer, error)

// Gate lets every keyed request through once.
type Gate struct {
	storage   ports.Storage
	locks     ports.Locks
	clock     ports.Clock
	ids       ports.Identifiers
	log       *slog.Logger
	retention time.Duration
}

// NewGate makes a gate that remembers answers for the retention.
func NewGate(s ports.Storage, l ports.Locks, c ports.Clock, ids ports.Identifiers, log *slog.Logger, retention Retention) *Gate {
	return &Gate{storage: s, locks: l, clock: c, ids: ids, log: log, retention: time.Duration(retention)}
}

// Retention is how long an answer is remembered.
type Retention time.Duration

// Retention tells how long the gate's records live.
func (g *Gate) Retention() time.Duration { return g.retention }

// Once answers a request. A key that was used before is replayed, or told as
// a conflict when the request differs. Otherwise prepare validates, reads and
// prices with nothing open in the database, and the attempt it returns is
// carried out even if the caller hangs up meanwhile.
func (g *Gate) Once(ctx context.Context, r Request, prepare func(ctx context.Context) (Attempt, error)) (Result, error) {
	if r.Key != "" {
		if result, found, err := g.recall(ctx, r); found || err != nil {
			return result, err
		}
		release, acquired := g.locks.TryLock(ctx, lockName(r))
		if !acquired {
			return Result{}, domain.IdempotencyInProgress(busyRetryAfter)
		}
		defer release()
	}
	attempt, err := prepare(ctx)
	if err != nil {
		return g.explain(ctx, r, err)
	}
	if err := ctx.Err(); err != nil {
		return Result{}, err // the caller hung up while it still could
	}
	return g.carryOut(ctx, r, attempt)
}

// explain looks once more before a conflict is told: the record that stands
// in the way may be the caller's own first try, committed a moment ago.
func (g *Gate) explain(ctx context.Context, r Request, cause error) (Result, error) {
	var e *domain.Error
	if r.Key != "" && errors.As(cause, &e) && e.Kind == domain.KindConflict {
		if result, found, err := g.recall(ctx, r); found || err != nil {
			return result, err
		}
	}
	return Result{}, cause
}

// carryOut commits. From here on the caller's disconnect changes nothing.
func (g *Gate) carryOut(ctx context.Context, r Request, attempt Attempt) (Result, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), commitBudget)
	defer cancel()
	record := domain.KeyRecord{
		Key: r.Key, Fingerprint: r.Fingerprint,
		ClaimID: g.ids.ID("").Hex(), CreatedAt: g.clock.Now(),
	}
	pause := firstPause
	for try := 0; ; try++ {
		answer, err := attempt(ctx, record)
		switch {
		case err == nil:
			return Result{Answer: answer}, nil
		case errors.Is(err, ports.ErrKeyTaken):
			return g.lostRace(ctx, r, record.ClaimID)
		case decided(err), !errors.Is(err, ports.ErrOutcomeUnknown) && try == 0, try == unknownRetries:
			return Result{}, err
		}
		// Either the commit got no answer, or it got none before and the
		// database is not back yet: only another attempt can tell.
		g.log.WarnContext(ctx, "commit outcome unknown, asking again", "try", try+1, "error", err)
		select {
		case <-ctx.Done():
			return Result{}, err
		case <-time.After(pause):
			pause *= 2
		}
	}
}

// decided reports a refusal: the storage was reached and said no.
func decided(err error) bool {
	var e *domain.Error
	return errors.As(err, &e) && e.Kind != domain.KindInternal
}

// lostRace answers with what the winner stored; the winner may be an attempt
// of our own whose commit got no answer.
func (g *Gate) lostRace(ctx context.Context, r Request, claimID string) (Result, error) {
	record, err := g.storage.Read().Idempotency.Find(ctx, r.Tenant, r.Key)
	if errors.Is(err, domain.ErrNotFound) {
		// The record expired between the two statements.
		return Result{}, domain.IdempotencyInProgress(busyRetryAfter)
	}
	if err != nil {
		return Result{}, err
	}
	if record.ClaimID == claimID {
		return Result{Answer: record.Answer}, nil
	}
	return replay(record, r)
}

func (g *Gate) recall(ctx context.Context, r Request) (result Result, found bool, err error) {
	record, err := g.storage.Read().Idempotency.Find(ctx, r.Tenant, r.Key)
	if errors.Is(err, domain.ErrNotFound) {
		return Result{}, false, nil
	}
	if err != nil {
		return Result{}, false, err
	}
	result, err = replay(record, r)
	return result, true, err
}

func replay(record domain.KeyRecord, r Request) (Result, error) {
	if record.Fingerprint != r.Fingerprint {
		return Result{}, domain.IdempotencyConflict(record.CreatedAt)
	}
	return Result{Answer: record.Answer, Replayed: true}, nil
}

// InTx runs fn in one transaction that claims the record first and stores
// fn's answer last. Without a key it is a plain transaction.
func (g *Gate) InTx(ctx context.Context, t domain.Tenant, record domain.KeyRecord,
	fn func(ctx context.Context, tx ports.Stores) (domain.Answer, error),
) (answer domain.Answer, err error) {
	err = g.storage.InTx(ctx, func(ctx context.Context, tx ports.Stores) error {
		if record.Key != "" {
			if err := tx.Idempotency.Claim(ctx, t, record, g.retention); err != nil {
				return err
			}
		}
		if answer, err = fn(ctx, tx); err != nil {
			return err
		}
		if record.Key != "" {
			return tx.Idempotency.Complete(ctx, t, record.Key, answer)
		}
		return nil
	})
	return answer, err
}

func lockName(r Request) string {
	return "idempotency/" + string(r.Tenant.ApplicationID) + "/" + string(r.Tenant.Environment) + "/" + r.Key
}
