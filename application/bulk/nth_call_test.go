package bulk_test

import (
	"context"
	"testing"

	"waybill/application/idempotency"
	"waybill/domain"
	"waybill/ports"
	"waybill/test/stage"
)

// movesExamined is a scene whose holds expire when its calls work again. What a failed call leaves
// reserved is free by the time of the retry.
type movesExamined struct {
	*movesScene
	hold   ports.MoveHold
	mended bool
}

func newExamined(t *testing.T) *movesExamined { return &movesExamined{movesScene: movesNewScene(t, 1)} }

// runs returns the storage with the hold watched.
func (e *movesExamined) runs(storage ports.Storage) ports.Storage {
	return stage.Between{Storage: storage, Change: func(tx *ports.Stores) { tx.MoveRuns = watched{tx.MoveRuns, &e.hold} }}
}

func (e *movesExamined) answer(ctx context.Context, t *testing.T) (idempotency.Result, error) {
	if e.mended && e.hold.Run != "" {
		e.leaseRunsOut(t, e.hold)
	}
	o := e.orders(ample)
	o.Items = append(o.Items, o.Items[0])
	o.Items[1].Name = "nothing"
	run, replayed, err := e.Advance(ctx, o)
	return idempotency.Result{Answer: domain.Answer{Status: 200, Body: []byte(answerOf(run))}, Replayed: replayed}, err
}

// truthful fails unless the delivery was moved once, or answered as refused and not moved.
func (e *movesExamined) truthful(t *testing.T) {
	run, outcome := e.kept(t), domain.MoveAdvanced
	if item := run.Items[0]; item.Outcome == domain.MoveRefused && item.Code == domain.CodeInternal {
		outcome = domain.MoveRefused
	}
	e.want(t, outcome, domain.MoveNotFound)
	if run.FinishedAt == nil {
		t.Errorf("the run is not at its end: %s", answerOf(run))
	}
}

var useCases = []stage.UseCase[*movesExamined]{
	{
		// key, names, transaction: begin; owner, transaction: extend, lock, update, settle, audit log; transaction: finish
		Name: "a run from its beginning", Keyed: true, Calls: 13,
		Ready: func(t *testing.T, e *movesExamined) stage.Send {
			return func(ctx context.Context) (idempotency.Result, error) { return e.answer(ctx, t) }
		},
		Check: func(t *testing.T, e *movesExamined) { e.truthful(t) },
	},
	{
		// key, transaction: resume, read; owner, transaction: extend, lock, update, settle, audit log; transaction: finish
		Name: "a run that its process left", Calls: 13,
		Ready: func(t *testing.T, e *movesExamined) stage.Send {
			e.start(e.runs(paused{e.Store, func() {
				if e.hold.Run != "" {
					panic("the process dies")
				}
			}}))
			func() {
				defer func() { _ = recover() }()
				_, _ = e.answer(t.Context(), t)
			}()
			e.leaseRunsOut(t, e.hold)
			return func(ctx context.Context) (idempotency.Result, error) {
				r, err := e.answer(ctx, t)
				r.Replayed = false // it always is: another request began it
				return r, err
			}
		},
		Check: func(t *testing.T, e *movesExamined) { e.truthful(t) },
	},
}

// Whichever call fails in whichever way, a retry gets the same answer, and the answer matches the
// row.
func TestWhicheverCallFailsTheRetryTellsTheTruth(t *testing.T) {
	t.Parallel()
	stage.Exam[*movesExamined]{
		Scene: newExamined,
		Break: func(e *movesExamined, c *stage.Calls) { e.start(e.runs(c.Storage(e.Store))) },
		Mend: func(e *movesExamined) {
			e.start(e.runs(e.Store))
			e.mended = true
		},
	}.Run(t, useCases)
}
