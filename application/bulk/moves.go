package bulk

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"waybill/application/audit"
	"waybill/application/deliveries"
	"waybill/domain"
	"waybill/ports"
)

// MovesLease is how long a run stays reserved for a process that does not renew it. Each item
// renews it.
const MovesLease = 10 * time.Second

// Moves moves many deliveries in one run.
type Moves struct {
	storage    ports.Storage
	operations *deliveries.Operations
	log        *audit.Log
	clock      ports.Clock
	ids        ports.Identifiers
	warnings   *slog.Logger
	lease      time.Duration
}

// NewMoves returns the use case.
func NewMoves(s ports.Storage, o *deliveries.Operations, c ports.Clock, ids ports.Identifiers, log *slog.Logger) *Moves {
	return &Moves{storage: s, operations: o, log: audit.New(s, c, ids), clock: c, ids: ids, warnings: log, lease: MovesLease}
}

// MoveOrder describes one delivery to move.
type MoveOrder struct {
	Name   string // a reference, in any spelling, or a delivery's ID
	To     domain.Status
	Reason domain.ReasonCode
}

// MoveOrders describes what one request asks for.
type MoveOrders struct {
	// Run is the ID for the run; empty: a new one is drawn.
	Run domain.ID
	// Key makes the run happen once. All operators share the keys.
	Key      string
	By       domain.AuditActor
	Items    []MoveOrder
	Patience time.Duration // how long the request itself works, at least on one item
}

// Advance moves the deliveries, or resumes the run of the same orders, and returns the finished
// run. replayed reports that another request finished it. VALIDATION_ERROR names fields of the
// items. IDEMPOTENCY_CONFLICT means that the key has other orders, or that a run of another key has
// the ID. IDEMPOTENCY_IN_PROGRESS comes with the run so far: another process works on it, or
// patience is over, and the run will be finished. Once it has begun, a caller that hangs up changes
// nothing.
func (m *Moves) Advance(ctx context.Context, o MoveOrders) (run domain.MoveRun, replayed bool, err error) {
	known, err := m.storage.Read().MoveRuns.FindByKey(ctx, o.Key)
	switch {
	case err == nil:
		return m.retry(ctx, known, o)
	case !errors.Is(err, domain.ErrNotFound):
		return run, false, err
	}
	if err := validate(o.Items); err != nil {
		return run, false, err
	}
	items, err := m.items(ctx, o.Items)
	if err != nil {
		return run, false, err
	}
	run = domain.MoveRun{
		ID: cmp.Or(o.Run, m.ids.ID(domain.PrefixMoveRun)), Key: o.Key,
		Fingerprint: fingerprint(o.Items), By: o.By, CreatedAt: m.clock.Now(), Items: items,
	}
	if err := ctx.Err(); err != nil {
		return run, false, err // the caller hung up before the first write
	}
	ctx = context.WithoutCancel(ctx)
	hold := m.hold(run.ID)
	err = m.step(ctx, func(ctx context.Context, tx ports.Stores) error { return tx.MoveRuns.Begin(ctx, run, hold) })
	switch {
	case errors.Is(err, ports.ErrKeyTaken):
		reading, cancel := context.WithTimeout(ctx, movesStepBudget)
		defer cancel()
		known, err = m.RunOf(reading, o.Key)
		if errors.Is(err, domain.ErrNotFound) { // a run of another key has the ID
			return run, false, domain.IdempotencyConflict(run.CreatedAt)
		}
		if err != nil {
			return run, false, err
		}
		return m.retry(ctx, known, o)
	case errors.Is(err, ports.ErrKeyBusy):
		return run, false, movesInProgress()
	case err != nil:
		return run, false, err
	}
	run, err = m.work(ctx, run, hold, o.Patience)
	return run, false, err
}

// retry answers for an existing run: finished, in progress, or left by a process that died, which
// it resumes.
func (m *Moves) retry(ctx context.Context, run domain.MoveRun, o MoveOrders) (domain.MoveRun, bool, error) {
	switch {
	case run.Fingerprint != fingerprint(o.Items):
		return domain.MoveRun{}, false, domain.IdempotencyConflict(run.CreatedAt)
	case run.FinishedAt != nil:
		return run, true, nil
	case run.LeaseLeft > 0:
		return run, false, movesInProgress()
	}
	run, err := m.resume(context.WithoutCancel(ctx), run, o.Patience)
	return run, err == nil, err
}

// Run returns a run by its ID, with its progress so far.
func (m *Moves) Run(ctx context.Context, id domain.ID) (domain.MoveRun, error) {
	return m.storage.Read().MoveRuns.Get(ctx, id)
}

// RunOf returns the run of a key.
func (m *Moves) RunOf(ctx context.Context, key string) (domain.MoveRun, error) {
	return m.storage.Read().MoveRuns.FindByKey(ctx, key)
}

// Runs lists up to Limit+1 runs, newest first, without their items.
func (m *Moves) Runs(ctx context.Context, p domain.PageRequest) ([]domain.MoveRun, error) {
	return m.storage.Read().MoveRuns.List(ctx, p)
}

// GoOn works on a run whose process died or gave it up, and reports whether there was one. Any
// number of processes may call it.
func (m *Moves) GoOn(ctx context.Context, patience time.Duration) (worked bool, err error) {
	left, err := m.storage.Read().MoveRuns.Left(ctx, 1)
	if err != nil || len(left) == 0 {
		return false, err
	}
	run, err := m.Run(ctx, left[0])
	if err != nil {
		return false, err
	}
	_, err = m.resume(ctx, run, patience)
	if domain.HasCode(err, domain.CodeIdempotencyInProgress) {
		err = nil // it is resumed here or elsewhere in a moment
	}
	return true, err
}

// MoveLine shows the delivery of a reference or ID, and the statuses that it may be moved to now.
type MoveLine struct {
	Name      string
	Delivery  *domain.Delivery // nil: there is none
	Next      []domain.Status
	Duplicate bool // an earlier line has the same delivery
}

// Preview returns the line of each name. It stores nothing.
func (m *Moves) Preview(ctx context.Context, names []string) ([]MoveLine, error) {
	found, err := m.find(ctx, names)
	if err != nil {
		return nil, err
	}
	lines, seen := make([]MoveLine, len(names)), map[domain.ID]bool{}
	for i, name := range names {
		lines[i] = MoveLine{Name: name, Delivery: found[i]}
		if d := found[i]; d != nil {
			lines[i].Duplicate, seen[d.ID] = seen[d.ID], true
			if !d.Simulating() {
				lines[i].Next = d.Next(domain.ActorPlatform)
			}
		}
	}
	return lines, nil
}

// find returns the delivery of each name, nil where there is none.
func (m *Moves) find(ctx context.Context, names []string) ([]*domain.Delivery, error) {
	var ids []domain.ID
	var references []domain.Reference
	for _, name := range names {
		if id, err := domain.ParseID(domain.PrefixDelivery, name); err == nil {
			ids = append(ids, id)
		} else if r, sound := domain.FoldReference(name); sound {
			references = append(references, r)
		}
	}
	named, err := m.storage.Read().Platform.Named(ctx, ids, references)
	if err != nil {
		return nil, err
	}
	by := map[string]*domain.Delivery{}
	for _, d := range named {
		by[string(d.ID)], by[string(d.Reference)] = d, d
	}
	found := make([]*domain.Delivery, len(names))
	for i, name := range names {
		if found[i] = by[name]; found[i] == nil {
			if r, sound := domain.FoldReference(name); sound {
				found[i] = by[string(r)]
			}
		}
	}
	return found, nil
}

// items pairs the orders with their deliveries. An order gets its outcome at once where its
// delivery is not found, or where an earlier order has it.
func (m *Moves) items(ctx context.Context, orders []MoveOrder) ([]domain.MoveItem, error) {
	names := make([]string, len(orders))
	for i, o := range orders {
		names[i] = o.Name
	}
	lines, err := m.Preview(ctx, names)
	if err != nil {
		return nil, err
	}
	items := make([]domain.MoveItem, len(orders))
	for i, o := range orders {
		items[i] = domain.MoveItem{Index: i, Sent: o.Name, To: o.To, Reason: o.Reason, Outcome: domain.MovePending}
		switch d := lines[i].Delivery; {
		case d == nil:
			items[i].Outcome = domain.MoveNotFound
		default:
			items[i].DeliveryID, items[i].Reference = d.ID, d.Reference
			if lines[i].Duplicate {
				items[i].Outcome = domain.MoveDuplicate
			}
		}
	}
	return items, nil
}

// validate checks the orders without looking at any delivery.
func validate(orders []MoveOrder) error {
	if len(orders) == 0 || len(orders) > domain.MaxMoves {
		return domain.Invalid(domain.FieldError{Field: "items", Code: domain.FieldOutOfRange,
			Message: fmt.Sprintf("needs 1 to %d deliveries and has %d", domain.MaxMoves, len(orders))})
	}
	var wrong []domain.FieldError
	for i, o := range orders {
		field := fmt.Sprintf("items[%d].reason_code", i)
		switch {
		case o.Reason == domain.ReasonCancelledByCaller:
			wrong = append(wrong, domain.FieldError{Field: field, Code: domain.FieldNotAllowed, Message: deliveries.NoReasonOfOurs})
		case o.Reason != "" && !o.To.TakesReason():
			wrong = append(wrong, domain.FieldError{Field: field, Code: domain.FieldNotAllowed,
				Message: fmt.Sprintf("goes with failed and cancelled only, not with %s; leave it out", o.To)})
		}
	}
	if len(wrong) > 0 {
		return domain.Invalid(wrong...)
	}
	return nil
}

// fingerprint identifies a list of orders by names as sent, statuses and reasons.
func fingerprint(orders []MoveOrder) [32]byte {
	sum := sha256.New()
	for _, o := range orders {
		fmt.Fprintf(sum, "%q %s %s\n", o.Name, o.To, o.Reason)
	}
	return [32]byte(sum.Sum(nil))
}

// movesInProgress asks the caller to send the request again in a moment.
func movesInProgress() error { return domain.IdempotencyInProgress(time.Second) }
