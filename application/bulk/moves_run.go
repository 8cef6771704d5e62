package bulk

import (
	"context"
	"errors"
	"time"

	"waybill/application/idempotency"
	"waybill/domain"
	"waybill/ports"
)

const (
	// movesStepBudget limits one transaction with all its retries. It is below the lease, so a
	// process that waits for a row in vain still holds the run.
	movesStepBudget = 5 * time.Second
	// maxFailures limits how many items in a row may find the storage unavailable. Beyond it the
	// storage is the cause, and not a row that another transaction holds.
	maxFailures = 3
)

func (m *Moves) hold(run domain.ID) ports.MoveHold {
	return ports.MoveHold{Run: run, Token: m.ids.ID("").Hex(), Lease: m.lease}
}

// step runs one transaction until its outcome is known.
func (m *Moves) step(ctx context.Context, fn func(ctx context.Context, tx ports.Stores) error) error {
	ctx, cancel := context.WithTimeout(ctx, movesStepBudget)
	defer cancel()
	return idempotency.RetryUnknownCommit(ctx, m.warnings, func(ctx context.Context) error { return m.storage.InTx(ctx, fn) })
}

// resume takes a run over and continues it.
func (m *Moves) resume(ctx context.Context, run domain.MoveRun, patience time.Duration) (domain.MoveRun, error) {
	hold := m.hold(run.ID)
	err := m.step(ctx, func(ctx context.Context, tx ports.Stores) (err error) {
		if err := tx.MoveRuns.Resume(ctx, hold); err != nil {
			return err
		}
		run, err = tx.MoveRuns.Get(ctx, run.ID) // only now is it known what the former holder has done
		return err
	})
	if errors.Is(err, ports.ErrLeaseLost) {
		return m.asItIs(ctx, run.ID)
	}
	if err != nil {
		return run, err
	}
	return m.work(ctx, run, hold, patience)
}

// asItIs returns a run that another process works on, or has finished.
func (m *Moves) asItIs(ctx context.Context, id domain.ID) (domain.MoveRun, error) {
	ctx, cancel := context.WithTimeout(ctx, movesStepBudget)
	defer cancel()
	run, err := m.Run(ctx, id)
	if err == nil && run.FinishedAt == nil {
		err = movesInProgress()
	}
	return run, err
}

// work settles the pending items in their order until patience is over. It finishes the run when
// nothing is pending.
func (m *Moves) work(ctx context.Context, run domain.MoveRun, hold ports.MoveHold, patience time.Duration) (domain.MoveRun, error) {
	held := true
	defer func() {
		if held { // after a panic too
			m.release(ctx, hold)
		}
	}()
	end, begun, failures, left := time.Now().Add(patience), false, 0, 0
	for i := range run.Items {
		item := &run.Items[i]
		if item.Outcome != domain.MovePending {
			continue
		}
		if failures == maxFailures || ctx.Err() != nil || begun && time.Now().After(end) {
			left++
			continue
		}
		begun = true
		err := m.settle(ctx, run, hold, item)
		switch {
		case err == nil:
			failures = 0
		case errors.Is(err, ports.ErrLeaseLost):
			held = false
			return m.asItIs(ctx, run.ID)
		default:
			left, failures = left+1, failures+1
			m.warnings.WarnContext(ctx, "a delivery of a run could not be moved yet", "run_id", string(run.ID), "delivery_id",
				string(item.DeliveryID), "error", err)
		}
	}
	if left > 0 {
		return run, movesInProgress()
	}
	now := m.clock.Now()
	err := m.step(ctx, func(ctx context.Context, tx ports.Stores) error { return tx.MoveRuns.Finish(ctx, hold, now) })
	held = false
	switch {
	case errors.Is(err, ports.ErrLeaseLost): // finished by a retry of this commit, or lost to another process
		return m.asItIs(ctx, run.ID)
	case err == nil:
		run.FinishedAt = &now
	}
	return run, err
}

// settle moves one delivery and records the outcome, in one transaction.
func (m *Moves) settle(ctx context.Context, run domain.MoveRun, hold ports.MoveHold, item *domain.MoveItem) error {
	ctx, cancel := context.WithTimeout(ctx, movesStepBudget)
	defer cancel()
	tenant, err := m.storage.Read().Deliveries.Owner(ctx, item.DeliveryID)
	if err != nil {
		return err
	}
	var done domain.MoveItem
	err = idempotency.RetryUnknownCommit(ctx, m.warnings, func(ctx context.Context) error {
		return m.log.Change(ctx, run.By, func(ctx context.Context, tx ports.Stores) (record domain.AuditRecord, err error) {
			if err := tx.MoveRuns.Extend(ctx, hold); err != nil {
				return record, err
			}
			if done, record, err = m.move(ctx, tx, tenant, *item); err != nil {
				return domain.AuditRecord{}, err
			}
			if record.Action != "" {
				record.Details["run"] = string(run.ID)
			}
			return record, tx.MoveRuns.Settle(ctx, hold, done)
		})
	})
	if lasting(err) {
		err = m.giveUp(ctx, run, hold, *item, err, &done)
	}
	if errors.Is(err, ports.ErrItemDone) { // recorded by an earlier commit of this process that got no answer
		var known domain.MoveRun
		if known, err = m.Run(ctx, run.ID); err == nil {
			done = known.Items[item.Index]
		}
	}
	if err == nil {
		*item = done
	}
	return err
}

// lasting reports whether err is a defect, or a refusal before the delivery was locked. The next
// try would fail in the same way, and the run would never end.
func lasting(err error) bool {
	var e *domain.Error
	switch {
	case err == nil, errors.Is(err, ports.ErrLeaseLost), errors.Is(err, ports.ErrItemDone), errors.Is(err, ports.ErrKeyBusy),
		ports.StorageUnavailable(err), errors.Is(err, context.Canceled):
		return false
	}
	return !errors.As(err, &e) || e.Kind != domain.KindUnavailable
}

// giveUp records that an item could not be decided. Its delivery is unchanged.
func (m *Moves) giveUp(ctx context.Context, run domain.MoveRun, hold ports.MoveHold, item domain.MoveItem, cause error,
	done *domain.MoveItem) error {
	item.Outcome, item.Code, item.Message = domain.MoveRefused, domain.CodeInternal, "Something failed on our side; it was not moved."
	var refusal *domain.Error
	if errors.As(cause, &refusal) && refusal.Refusal() {
		item.Code, item.Message = refusal.Code, refusal.Message
	} else {
		m.warnings.ErrorContext(ctx, "a delivery of a run cannot be moved", "run_id", string(run.ID), "delivery_id", string(item.DeliveryID),
			"error", cause)
	}
	*done = item
	return m.step(ctx, func(ctx context.Context, tx ports.Stores) error {
		if err := tx.MoveRuns.Extend(ctx, hold); err != nil {
			return err
		}
		return tx.MoveRuns.Settle(ctx, hold, item)
	})
}

// move decides about a delivery under its lock. A refusal is an outcome and no error.
func (m *Moves) move(ctx context.Context, tx ports.Stores, t domain.Tenant, item domain.MoveItem) (done domain.MoveItem,
	record domain.AuditRecord, err error) {
	done = item
	done.Outcome = domain.MoveAdvanced
	_, record, err = m.operations.Step(ctx, tx, t, item.DeliveryID, item.To, item.Reason, func(d *domain.Delivery) bool {
		done.Current, done.Allowed = d.Status(), d.Next(domain.ActorPlatform)
		if d.Status() == item.To {
			done.Outcome = domain.MoveAlreadyThere
		}
		return done.Outcome == domain.MoveAdvanced
	})
	var refusal *domain.Error
	switch {
	case errors.As(err, &refusal) && refusal.Refusal() && done.Current != "":
		done.Outcome, done.Code, done.Message = domain.MoveRefused, refusal.Code, refusal.Message
		return done, domain.AuditRecord{}, nil
	case err != nil:
		return done, record, err
	case done.Outcome == domain.MoveAdvanced:
		done.Current = item.To
	}
	done.Allowed = nil
	return done, record, nil
}

// release lets any process resume the run at once. Where it fails, they wait until the lease runs
// out.
func (m *Moves) release(ctx context.Context, hold ports.MoveHold) {
	ctx = context.WithoutCancel(ctx)
	err := m.step(ctx, func(ctx context.Context, tx ports.Stores) error { return tx.MoveRuns.Release(ctx, hold) })
	if err != nil {
		m.warnings.WarnContext(ctx, "a run of moves was not released; it goes on when its lease has run out", "run_id", string(hold.Run),
			"error", err)
	}
}
