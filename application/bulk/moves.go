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

// MovesLease is how long a run stays reserved for a process that gives no sign of life.
// Each item is one.
const MovesLease = 10 * time.Second

// Moves is the use case of moving many deliveries.
type Moves struct {
	storage    ports.Storage
	operations *deliveries.Operations
	log        *audit.Log
	clock      ports.Clock
	ids        ports.Identifiers
	warnings   *slog.Logger
	lease      time.Duration
}

// New makes the use case.
func NewMoves(s ports.Storage, o *deliveries.Operations, c ports.Clock, ids ports.Identifiers, log *slog.Logger) *Moves {
	return &Moves{storage: s, operations: o, log: audit.New(s, c, ids), clock: c, ids: ids, warnings: log, lease: MovesLease}
}

// MoveOrder is one delivery that is to be moved.
type MoveOrder struct {
	Name   string // a reference, in any spelling, or a delivery's ID
	To     domain.Status
	Reason domain.ReasonCode
}

// MoveOrders are what one request asks for.
type MoveOrders struct {
	// Run is the ID that the run gets; empty: one is drawn.
	Run domain.ID
	// Key makes it happen once. All operators share the keys.
	Key      string
	By       domain.AuditActor
	Items    []MoveOrder
	Patience time.Duration // for which the request itself works, at least on one item
}

// Advance moves the deliveries, or goes on with what the same orders began, and
// returns the run at its end; replayed tells that another request brought it there.
// VALIDATION_ERROR names fields of the items; IDEMPOTENCY_CONFLICT tells of other
// orders under the key, or of a run of another key that has the ID. IDEMPOTENCY_IN_PROGRESS comes with the run as far as it is:
// another process works on it, or patience is over, and it is carried to its end.
// Once it has begun, a caller that hangs up changes nothing.
func (m *Moves) Advance(ctx context.Context, o MoveOrders) (run domain.MoveRun, replayed bool, err error) {
	known, err := m.storage.Read().MoveRuns.FindByKey(ctx, o.Key)
	switch {
	case err == nil:
		return m.again(ctx, known, o)
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
		return run, false, err // the caller hung up while it still could
	}
	ctx = context.WithoutCancel(ctx)
	hold := m.hold(run.ID)
	err = m.step(ctx, func(ctx context.Context, tx ports.Stores) error { return tx.MoveRuns.Begin(ctx, run, hold) })
	switch {
	case errors.Is(err, ports.ErrKeyTaken):
		reading, cancel := context.WithTimeout(ctx, movesStepBudget)
		defer cancel()
		known, err = m.RunOf(reading, o.Key)
		if errors.Is(err, domain.ErrNotFound) { // the run that has the ID is of another key
			return run, false, domain.IdempotencyConflict(run.CreatedAt)
		}
		if err != nil {
			return run, false, err
		}
		return m.again(ctx, known, o)
	case errors.Is(err, ports.ErrKeyBusy):
		return run, false, movesInProgress()
	case err != nil:
		return run, false, err
	}
	run, err = m.work(ctx, run, hold, o.Patience)
	return run, false, err
}

// again answers for a run that is there: at its end, under way, or left by a process
// that died, which is resumed.
func (m *Moves) again(ctx context.Context, run domain.MoveRun, o MoveOrders) (domain.MoveRun, bool, error) {
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

// Run is a run by its ID, as far as it is.
func (m *Moves) Run(ctx context.Context, id domain.ID) (domain.MoveRun, error) {
	return m.storage.Read().MoveRuns.Get(ctx, id)
}

// RunOf is the run of a key.
func (m *Moves) RunOf(ctx context.Context, key string) (domain.MoveRun, error) {
	return m.storage.Read().MoveRuns.FindByKey(ctx, key)
}

// Runs lists up to Limit+1 runs, newest first, without their items.
func (m *Moves) Runs(ctx context.Context, p domain.PageRequest) ([]domain.MoveRun, error) {
	return m.storage.Read().MoveRuns.List(ctx, p)
}

// GoOn works on a run whose process died or gave it up, and tells whether there was
// one. Any number of processes may call it.
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
		err = nil // it goes on here or elsewhere in a moment
	}
	return true, err
}

// MoveLine is what a reference or ID stands for, and where it may be moved to now.
type MoveLine struct {
	Name      string
	Delivery  *domain.Delivery // nil: there is none
	Next      []domain.Status
	Duplicate bool // of an earlier line
}

// Preview tells of each name what it is. Nothing is stored.
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

// find is the delivery of each name, nil where there is none.
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

// items are the orders with the deliveries that they name. What is not found, and
// what an earlier one names too, has its outcome.
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

// validate judges what the rules of the state machine say of no delivery yet.
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

// fingerprint tells orders apart: what they name, in the spelling that was sent, and
// where it is to go.
func fingerprint(orders []MoveOrder) [32]byte {
	sum := sha256.New()
	for _, o := range orders {
		fmt.Fprintf(sum, "%q %s %s\n", o.Name, o.To, o.Reason)
	}
	return [32]byte(sum.Sum(nil))
}

// movesInProgress asks the caller to send the request again in a moment.
func movesInProgress() error { return domain.IdempotencyInProgress(time.Second) }
