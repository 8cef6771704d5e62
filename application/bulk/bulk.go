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

// Bulk is the use case of creating many deliveries in one request.
type Bulk struct {
	storage    ports.Storage
	gate       *idempotency.Gate
	deliveries *deliveries.Deliveries
	ids        ports.Identifiers
	log        *slog.Logger
	lease      time.Duration

	permits  *permits
	underWay sync.Map // requests that this process works on, or that wait here for their turn, by name
	stopping chan struct{}
	stop     sync.Once
}

// Lease is how long a bulk stays reserved for a process that gives no sign of
// life. It bounds how long a caller waits before it can resume after a crash; a
// process that lives renews it, however long it works.
type Lease time.Duration

// New makes the use case.
func New(s ports.Storage, g *idempotency.Gate, d *deliveries.Deliveries, ids ports.Identifiers, log *slog.Logger, lease Lease,
	throttle Throttle) *Bulk {
	return &Bulk{storage: s, gate: g, deliveries: d, ids: ids, log: log, lease: time.Duration(lease), permits: newPermits(throttle),
		stopping: make(chan struct{})}
}

// Stop lets every bulk end with the items it is at. Their callers are told to
// send the request again, and another process goes on.
func (b *Bulk) Stop() { b.stop.Do(func() { close(b.stopping) }) }

// Item is one order of a bulk, and what is wrong with its fields one by one.
type Item struct {
	Order    deliveries.Order
	Problems []domain.FieldError
}

// Rendering turns outcomes into the bytes that are stored and replayed.
type Rendering struct {
	// Entry is the entry of an item: of the delivery that was created, or of
	// the refusal where that is not nil.
	Entry func(index int, created *domain.Delivery, refusal *domain.Error) []byte
	// Whole is the answer around the entries of all items, in their order.
	Whole func(created, failed int, entries [][]byte) domain.Answer
}

// Turn waits until a bulk may begin its work, holding nothing of the database. done
// has to be called at the end of the work, which has the time of the context that
// it returns.
type Turn func(ctx context.Context) (work context.Context, done func(), err error)

// Create books the orders of a form exactly once per Idempotency-Key. The form
// is read, and the turn awaited, only when the key was not answered before. It
// returns what form and turn return; BULK_VALIDATION_FAILED with every problem that a single create could
// be refused for before its price is asked, and DUPLICATE_EXTERNAL_ID;
// IDEMPOTENCY_IN_PROGRESS when the request is to be sent again to go on, and at
// once for a key that is at work or waits for its turn.
func (b *Bulk) Create(ctx context.Context, req idempotency.Request, turn Turn, form func() ([]Item, error), to Rendering) (idempotency.Result, error) {
	known, err := b.gate.Recall(ctx, req)
	if b.AtWork(req.Tenant, req.Key) && domain.HasCode(err, domain.CodeIdempotencyInProgress) {
		return idempotency.Result{}, inProgress() // its lease ends later, but nothing died
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
		// A resumed bulk must not be refused as a whole: part of it may be
		// booked. An item that has become invalid fails by itself.
		if err := r.check(ctx); err != nil {
			return b.gate.Explain(ctx, req, err)
		}
	}
	if err := ctx.Err(); err != nil {
		return idempotency.Result{}, err // the caller hung up while it still could
	}
	return r.carryOut(ctx)
}

// name is the name of a request, by its key.
type name struct {
	application domain.ID
	environment domain.Environment
	key         string
}

func nameOf(t domain.Tenant, key string) name { return name{t.ApplicationID, t.Environment, key} }

// AtWork reports whether a bulk under the key is at work in this process, or waits
// here for its turn.
func (b *Bulk) AtWork(t domain.Tenant, key string) bool {
	_, here := b.underWay.Load(nameOf(t, key))
	return here
}

// inProgress asks the caller to send the request again in a moment.
func inProgress() error { return domain.IdempotencyInProgress(time.Second) }
