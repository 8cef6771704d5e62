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
	// busyRetryAfter is the Retry-After of a repetition while the first request
	// runs.
	busyRetryAfter = time.Second
	// commitBudget bounds one create from the moment nothing may stop it any
	// more, where its caller has no deadline that comes before.
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
	clock     ports.Clock
	ids       ports.Identifiers
	log       *slog.Logger
	retention time.Duration

	inFlight sync.Map // keys whose first request runs in this process, by name
}

// name tells one key from all others.
type name struct {
	application domain.ID
	environment domain.Environment
	key         string
}

// NewGate makes a gate that remembers answers for the retention.
func NewGate(s ports.Storage, c ports.Clock, ids ports.Identifiers, log *slog.Logger, retention Retention) *Gate {
	return &Gate{storage: s, clock: c, ids: ids, log: log, retention: time.Duration(retention)}
}

// Retention is how long an answer is remembered.
type Retention time.Duration

// Retention tells how long the gate's records live.
func (g *Gate) Retention() time.Duration { return g.retention }

// Once answers a request. A key that was used before is replayed, or told as
// a conflict when the request differs; one whose first request still runs in this
// process is IDEMPOTENCY_IN_PROGRESS. Otherwise prepare validates, reads and
// prices with nothing open in the database, and the attempt it returns is
// carried out even if the caller hangs up meanwhile.
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
		return Result{}, err // the caller hung up while it still could
	}
	return g.carryOut(ctx, r, attempt)
}

// Known is the remembered state of a request.
type Known struct {
	Result   Result
	ClaimID  string // empty: the key is free
	Answered bool
	// Unfinished is a request of many transactions whose lease has run out: it
	// may be resumed.
	Unfinished bool
}

// Recall looks the key of a request up. Another request under the key is
// IDEMPOTENCY_CONFLICT, this one under way IDEMPOTENCY_IN_PROGRESS.
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

// Explain reads once more before a refusal is answered: the obstacle may be the
// caller's own first try, committed a moment ago.
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

// NewRecord is an unanswered record of a request, under a claim of its own.
func (g *Gate) NewRecord(r Request) domain.KeyRecord {
	return domain.KeyRecord{
		Key: r.Key, Fingerprint: r.Fingerprint,
		ClaimID: g.ids.ID("").Hex(), CreatedAt: g.clock.Now(),
	}
}

// carryOut commits. From here on the caller's disconnect changes nothing; its
// deadline holds, since an answer that comes after it cannot be sent.
func (g *Gate) carryOut(ctx context.Context, r Request, attempt Attempt) (Result, error) {
	end := time.Now().Add(commitBudget)
	if d, ok := ctx.Deadline(); ok && d.Before(end) {
		end = d
	}
	ctx, cancel := context.WithDeadline(context.WithoutCancel(ctx), end)
	defer cancel()
	record := g.NewRecord(r)
	var answer domain.Answer
	err := g.Insist(ctx, func(ctx context.Context) (err error) {
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

// Insist is Insist with the log of the gate.
func (g *Gate) Insist(ctx context.Context, attempt func(ctx context.Context) error) error {
	return Insist(ctx, g.log, attempt)
}

// Insist runs a transaction until its outcome is known, or ctx ends. The
// transaction must be safe to repeat after ports.ErrOutcomeUnknown.
func Insist(ctx context.Context, log *slog.Logger, attempt func(ctx context.Context) error) error {
	pause := firstPause
	for try := 0; ; try++ {
		err := attempt(ctx)
		if err == nil || decided(err) || try == unknownRetries || !errors.Is(err, ports.ErrOutcomeUnknown) && try == 0 {
			return err
		}
		// Either the commit got no answer, or it got none before and the
		// database is not back yet: only another attempt can tell.
		log.WarnContext(ctx, "commit outcome unknown, asking again", "try", try+1, "error", err)
		select {
		case <-ctx.Done():
			return err
		case <-time.After(pause):
			pause *= 2
		}
	}
}

// decided reports a refusal: the storage was reached and said no.
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

// LostRace answers with what the winner stored. The winner may be an attempt
// of our own whose commit got no answer, told by its claim: that is no replay.
func (g *Gate) LostRace(ctx context.Context, r Request, claimID string) (Result, error) {
	known, err := g.Recall(ctx, r)
	switch {
	case err != nil:
		return Result{}, err
	case !known.Answered:
		// The record expired, or was left, between the two statements.
		return Result{}, domain.IdempotencyInProgress(busyRetryAfter)
	}
	known.Result.Replayed = known.ClaimID != claimID
	return known.Result, nil
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
