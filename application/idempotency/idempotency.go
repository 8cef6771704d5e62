package idempotency

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"waybill/domain"
	"waybill/ports"
)

const (
	// busyRetryAfter is the Retry-After of a retry while the first request runs.
	busyRetryAfter = time.Second
	// commitBudget limits one create, from the moment it can no longer be cancelled. An earlier
	// deadline of the caller wins.
	commitBudget = 15 * time.Second
	// unknownRetries limits how often a commit without an answer is retried.
	unknownRetries = 5
	firstPause     = 100 * time.Millisecond
)

// Request describes a request that is to be done once.
type Request struct {
	Tenant      domain.Tenant
	Key         string   // empty: the caller sent none, where the operation allows that
	Fingerprint [32]byte // of method, path and canonical body
}

// Result holds an answer and whether it is a replay.
type Result struct {
	Answer   domain.Answer
	Replayed bool
}

// Attempt stores what was prepared, under the given record, in one transaction, and returns the
// answer. It must be safe to repeat after ports.ErrOutcomeUnknown and must pass on
// ports.ErrKeyTaken.
type Attempt func(ctx context.Context, record domain.KeyRecord) (domain.Answer, error)

// Gate lets every keyed request through once.
type Gate struct {
	storage   ports.Storage
	clock     ports.Clock
	ids       ports.Identifiers
	log       *slog.Logger
	retention time.Duration

	inFlight sync.Map // names of keys whose first request runs in this process
}

// name identifies a key.
type name struct {
	application domain.ID
	environment domain.Environment
	key         string
}

// NewGate returns a gate that keeps answers for the retention.
func NewGate(s ports.Storage, c ports.Clock, ids ports.Identifiers, log *slog.Logger, retention Retention) *Gate {
	return &Gate{storage: s, clock: c, ids: ids, log: log, retention: time.Duration(retention)}
}

// Retention is how long an answer is kept.
type Retention time.Duration

// Retention returns how long the gate's records live.
func (g *Gate) Retention() time.Duration { return g.retention }

// Once answers a request. It replays a key that was used before, or returns a conflict when the
// request differs. A key whose first request still runs in this process gets
// IDEMPOTENCY_IN_PROGRESS. Otherwise prepare validates, reads and prices without an open
// transaction. The attempt that it returns is carried out even if the caller hangs up meanwhile.
func (g *Gate) Once(ctx context.Context, r Request, prepare func(ctx context.Context) (Attempt, error)) (Result, error) {
	if r.Key != "" {
		known, err := g.Recall(ctx, r)
		if err != nil || known.Answered {
			return known.Result, err
		}
		mine := name{r.Tenant.ApplicationID, r.Tenant.Environment, r.Key}
		if _, busy := g.inFlight.LoadOrStore(mine, true); busy {
			return Result{}, domain.IdempotencyInProgress(busyRetryAfter)
		}
		defer g.inFlight.Delete(mine)
	}
	attempt, err := prepare(ctx)
	if err != nil {
		return g.Explain(ctx, r, err)
	}
	if err := ctx.Err(); err != nil {
		return Result{}, err // the caller hung up before the attempt
	}
	return g.carryOut(ctx, r, attempt)
}

// Known is the stored state of a request.
type Known struct {
	Result   Result
	ClaimID  string // empty: the key is free
	Answered bool
	// Unfinished reports a request of many transactions whose lease has run out. It may be resumed.
	Unfinished bool
}

// Recall returns the stored answer of a key. Another request under the key gets
// IDEMPOTENCY_CONFLICT; the same request, while it is in progress, gets IDEMPOTENCY_IN_PROGRESS.
func (g *Gate) Recall(ctx context.Context, r Request) (Known, error) {
	record, err := g.storage.Read().Idempotency.Find(ctx, r.Tenant, r.Key)
	switch {
	case errors.Is(err, domain.ErrNotFound):
		return Known{}, nil
	case err != nil:
		return Known{}, err
	case record.Fingerprint != r.Fingerprint:
		return Known{}, domain.IdempotencyConflict(record.CreatedAt)
	case record.Answered():
		return Known{Result: Result{Answer: record.Answer, Replayed: true}, ClaimID: record.ClaimID, Answered: true}, nil
	case record.LeaseLeft > 0:
		return Known{}, domain.IdempotencyInProgress(record.LeaseLeft)
	}
	return Known{ClaimID: record.ClaimID, Unfinished: true}, nil
}

// Explain reads the key again before a refusal is answered. The cause may be the caller's own first
// try, committed a moment ago.
func (g *Gate) Explain(ctx context.Context, r Request, cause error) (Result, error) {
	if r.Key != "" && decided(cause) {
		known, err := g.Recall(ctx, r)
		switch {
		case err != nil || known.Answered:
			return known.Result, err
		case known.Unfinished:
			return Result{}, domain.IdempotencyInProgress(busyRetryAfter)
		}
	}
	return Result{}, cause
}

// NewRecord returns an unanswered record of a request, under a new claim.
func (g *Gate) NewRecord(r Request) domain.KeyRecord {
	return domain.KeyRecord{
		Key: r.Key, Fingerprint: r.Fingerprint,
		ClaimID: g.ids.ID("").Hex(), CreatedAt: g.clock.Now(),
	}
}

// carryOut commits. From here on the caller's disconnect changes nothing. Its deadline still holds,
// since a later answer cannot be sent.
func (g *Gate) carryOut(ctx context.Context, r Request, attempt Attempt) (Result, error) {
	end := time.Now().Add(commitBudget)
	if d, ok := ctx.Deadline(); ok && d.Before(end) {
		end = d
	}
	ctx, cancel := context.WithDeadline(context.WithoutCancel(ctx), end)
	defer cancel()
	record := g.NewRecord(r)
	var answer domain.Answer
	err := g.RetryUnknownCommit(ctx, func(ctx context.Context) (err error) {
		answer, err = attempt(ctx, record)
		return err
	})
	switch {
	case err == nil:
		return Result{Answer: answer}, nil
	case errors.Is(err, ports.ErrKeyTaken):
		return g.LostRace(ctx, r, record.ClaimID)
	case errors.Is(err, ports.ErrKeyBusy):
		return Result{}, domain.IdempotencyInProgress(busyRetryAfter)
	}
	return Result{}, err
}

// RetryUnknownCommit calls the function of the same name with the log of the gate.
func (g *Gate) RetryUnknownCommit(ctx context.Context, attempt func(ctx context.Context) error) error {
	return RetryUnknownCommit(ctx, g.log, attempt)
}

// RetryUnknownCommit runs a transaction until its outcome is known, or ctx ends. The transaction
// must be safe to repeat after ports.ErrOutcomeUnknown.
func RetryUnknownCommit(ctx context.Context, log *slog.Logger, attempt func(ctx context.Context) error) error {
	pause := firstPause
	for try := 0; ; try++ {
		err := attempt(ctx)
		if err == nil || decided(err) || try == unknownRetries || !errors.Is(err, ports.ErrOutcomeUnknown) && try == 0 {
			return err
		}
		// Either this commit got no answer, or an earlier one got none and the database is not back
		// yet. Only another attempt finds out.
		log.WarnContext(ctx, "commit outcome unknown, asking again", "try", try+1, "error", err)
		select {
		case <-ctx.Done():
			return err
		case <-time.After(pause):
			pause *= 2
		}
	}
}

// decided reports whether err is a refusal: the storage was reached and said no.
func decided(err error) bool {
	var e *domain.Error
	if errors.As(err, &e) {
		return e.Refusal()
	}
	for _, refusal := range []error{ports.ErrKeyTaken, ports.ErrKeyBusy, ports.ErrLeaseLost, ports.ErrItemDone} {
		if errors.Is(err, refusal) {
			return true
		}
	}
	return false
}

// LostRace returns what the winner stored. The winner may be an earlier attempt of this request
// whose commit got no answer. Its claim shows that, and it is no replay.
func (g *Gate) LostRace(ctx context.Context, r Request, claimID string) (Result, error) {
	known, err := g.Recall(ctx, r)
	switch {
	case err != nil:
		return Result{}, err
	case !known.Answered:
		// The record expired, or its process gave up, between the two statements.
		return Result{}, domain.IdempotencyInProgress(busyRetryAfter)
	}
	known.Result.Replayed = known.ClaimID != claimID
	return known.Result, nil
}

// InTx runs fn in one transaction that claims the record first and stores fn's answer last. Without
// a key it runs a plain transaction.
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
