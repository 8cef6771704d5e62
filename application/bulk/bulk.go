package bulk

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"waybill/application/deliveries"
	"waybill/application/idempotency"
	"waybill/domain"
	"waybill/ports"
)

// Bulk creates many deliveries in one request.
type Bulk struct {
	storage    ports.Storage
	gate       *idempotency.Gate
	deliveries *deliveries.Deliveries
	ids        ports.Identifiers
	log        *slog.Logger
	lease      time.Duration

	permits  *permits
	underWay sync.Map // names of requests that this process works on, or that wait here for their turn
	stopping chan struct{}
	stop     sync.Once
}

// Lease is how long a bulk stays reserved for a process that does not renew it. It limits how long
// a caller waits before it can resume after a crash. A running process renews it, however long it
// works.
type Lease time.Duration

// New returns the use case.
func New(s ports.Storage, g *idempotency.Gate, d *deliveries.Deliveries, ids ports.Identifiers, log *slog.Logger, lease Lease,
	throttle Throttle) *Bulk {
	return &Bulk{storage: s, gate: g, deliveries: d, ids: ids, log: log, lease: time.Duration(lease), permits: newPermits(throttle),
		stopping: make(chan struct{})}
}

// Stop ends every bulk after its current items. Callers are asked to send the request again, and
// another process resumes it.
func (b *Bulk) Stop() { b.stop.Do(func() { close(b.stopping) }) }

// Item is one order of a bulk, with the errors of its single fields.
type Item struct {
	Order    deliveries.Order
	Problems []domain.FieldError
}

// Rendering turns outcomes into the bytes that are stored and replayed.
type Rendering struct {
	// Entry renders the entry of an item: the delivery that was created, or the refusal where that
	// is not nil.
	Entry func(index int, created *domain.Delivery, refusal *domain.Error) []byte
	// Whole renders the answer around the entries of all items, in their order.
	Whole func(created, failed int, entries [][]byte) domain.Answer
}

// Turn waits until a bulk may begin its work, without an open transaction. The caller must call
// done at the end of the work, and must end it with the returned context.
type Turn func(ctx context.Context) (work context.Context, done func(), err error)

// Create books the orders of a form exactly once per Idempotency-Key. It reads the form, and waits
// for the turn, only when the key has no answer yet. It returns the errors of form and turn.
// BULK_VALIDATION_FAILED lists every problem for which a single create would be refused before
// pricing, and DUPLICATE_EXTERNAL_ID. IDEMPOTENCY_IN_PROGRESS asks the caller to send the request
// again to resume it. A key that is at work or waits for its turn gets it at once.
func (b *Bulk) Create(ctx context.Context, req idempotency.Request, turn Turn, form func() ([]Item, error), to Rendering) (idempotency.Result, error) {
	known, err := b.gate.Recall(ctx, req)
	if b.AtWork(req.Tenant, req.Key) && domain.HasCode(err, domain.CodeIdempotencyInProgress) {
		return idempotency.Result{}, inProgress() // its lease ends later, but no process died
	}
	if err != nil || known.Answered {
		return known.Result, err
	}
	name := nameOf(req.Tenant, req.Key)
	if _, here := b.underWay.LoadOrStore(name, true); here {
		return idempotency.Result{}, inProgress()
	}
	defer b.underWay.Delete(name)
	items, err := form()
	if err != nil {
		return b.gate.Explain(ctx, req, err)
	}
	ctx, done, err := turn(ctx)
	if err != nil {
		return idempotency.Result{}, err
	}
	defer done()
	r := &run{Bulk: b, req: req, items: items, to: to, drafts: make([]*deliveries.Draft, len(items)), done: map[int]domain.BulkItem{}}
	if !known.Unfinished {
		// A resumed bulk must not be refused as a whole, since part of it may be booked. An item
		// that has become invalid fails by itself.
		if err := r.check(ctx); err != nil {
			return b.gate.Explain(ctx, req, err)
		}
	}
	if err := ctx.Err(); err != nil {
		return idempotency.Result{}, err // the caller hung up before the first write
	}
	return r.carryOut(ctx)
}

// name identifies a request by its key.
type name struct {
	application domain.ID
	environment domain.Environment
	key         string
}

func nameOf(t domain.Tenant, key string) name { return name{t.ApplicationID, t.Environment, key} }

// AtWork reports whether a bulk under the key is at work in this process, or waits here for its
// turn.
func (b *Bulk) AtWork(t domain.Tenant, key string) bool {
	_, here := b.underWay.Load(nameOf(t, key))
	return here
}

// inProgress asks the caller to send the request again in a moment.
func inProgress() error { return domain.IdempotencyInProgress(time.Second) }
