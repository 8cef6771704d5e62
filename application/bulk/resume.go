package bulk

import (
	"context"
	"errors"
	"time"

	"waybill/application/deliveries"
	"waybill/application/idempotency"
	"waybill/domain"
	"waybill/ports"
)

const (
	// runBudget limits how long one request works on a bulk: the time for prices, and some more to
	// book the priced items. The rest waits until the caller sends the request again, so that a
	// response comes before clients and proxies give up.
	runBudget = priceBudget + 10*time.Second
	// stepBudget limits one transaction with all its retries.
	stepBudget = 10 * time.Second
	// maxTogether limits how many items one transaction may book. A bulk that is asked to stop
	// finishes the transaction first.
	maxTogether = 50
	// renewals is how often a lease is renewed within its time.
	renewals = 3
	// itemWait limits how long a transaction waits for the prices of more items, and nextPrice the
	// wait for one of them. Few transactions of many items cost less.
	itemWait  = 100 * time.Millisecond
	nextPrice = 25 * time.Millisecond
)

// errYield ends a run between two transactions.
var errYield = errors.New("the time of the bulk's run is over")

// run is one request at work on a bulk.
type run struct {
	*Bulk
	req    idempotency.Request
	items  []Item
	drafts []*deliveries.Draft // nil until checked
	to     Rendering
	hold   ports.BulkHold
	done   map[int]domain.BulkItem

	// Where runs book nothing, such as for items to the same new person, the next run waits for
	// more and more items.
	fruitless int // grows with each run in a row that booked nothing
	singly    int // items to book one by one before the next run
}

// carryOut books the items that are not booked yet. From here on the caller's disconnect changes
// nothing.
func (r *run) carryOut(ctx context.Context) (idempotency.Result, error) {
	ctx = context.WithoutCancel(ctx)
	record := r.gate.NewRecord(r.req)
	err := r.claim(ctx, record)
	if errors.Is(err, ports.ErrKeyTaken) {
		return r.gate.LostRace(ctx, r.req, record.ClaimID)
	}
	if errors.Is(err, ports.ErrKeyBusy) {
		return idempotency.Result{}, inProgress()
	}
	if err != nil {
		return idempotency.Result{}, err
	}
	ctx, abandon := context.WithCancelCause(ctx)
	stopRenewals := r.keepAlive(ctx, abandon)
	held := true
	defer func() {
		stopRenewals() // so that no renewal follows the release
		abandon(nil)
		if held { // after a panic too
			r.release(context.WithoutCancel(ctx))
		}
	}()
	answer, err := r.work(ctx, stopRenewals)
	switch {
	case err == nil:
		held = false
		return idempotency.Result{Answer: answer}, nil
	case errors.Is(err, ports.ErrLeaseLost), errors.Is(context.Cause(ctx), ports.ErrLeaseLost):
		held = false
		return r.gate.LostRace(context.WithoutCancel(ctx), r.req, r.hold.ClaimID)
	case errors.Is(err, errYield):
		return idempotency.Result{}, inProgress()
	}
	return idempotency.Result{}, err
}

// keepAlive renews the lease until stop is called, which waits for a running renewal. The
// transactions of items renew it too, but a price or a permit may take long. Where the lease is
// lost, it calls lost.
func (r *run) keepAlive(ctx context.Context, lost context.CancelCauseFunc) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		every := r.lease / renewals
		tick := time.NewTicker(every)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				select { // a due renewal is made, even if both came at once
				case <-tick.C:
				default:
					return
				}
			case <-tick.C:
			}
			err := domain.Safely(func() error {
				ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), every)
				defer cancel()
				return r.storage.InTx(ctx, func(ctx context.Context, tx ports.Stores) error {
					return tx.Bulks.Extend(ctx, r.req.Tenant, r.hold)
				})
			})
			switch {
			case errors.Is(err, ports.ErrLeaseLost):
				lost(err)
			case err != nil && ctx.Err() == nil:
				r.log.WarnContext(ctx, "lease of a bulk not renewed", "application_id", string(r.req.Tenant.ApplicationID), "error", err)
			}
		}
	}()
	return func() {
		cancel()
		<-ended
	}
}

// claim reserves the bulk for this request and reads the items that are done.
func (r *run) claim(ctx context.Context, record domain.KeyRecord) error {
	token := r.ids.ID("").Hex()
	var items []domain.BulkItem
	err := r.step(ctx, func(ctx context.Context, tx ports.Stores) (err error) {
		if r.hold, err = tx.Bulks.Claim(ctx, r.req.Tenant, record, token, r.lease, r.gate.Retention()); err != nil {
			return err
		}
		items, err = tx.Bulks.Items(ctx, r.req.Tenant, r.hold)
		return err
	})
	for _, item := range items {
		r.done[item.Index] = item
	}
	return err
}

// work does the items in their order. It then stops the renewals of the lease and stores the
// answer.
func (r *run) work(ctx context.Context, stopRenewals func()) (domain.Answer, error) {
	end := time.After(runBudget)
	prices := r.price(ctx)
	defer prices.stop()
	for i := 0; i < len(r.items); i++ {
		if r.isDone(i) {
			continue
		}
		select {
		case <-r.stopping:
			return domain.Answer{}, errYield
		case <-end:
			return domain.Answer{}, errYield
		default:
		}
		unfit, err := r.await(ctx, prices.ready[i])
		if err != nil {
			return domain.Answer{}, err
		}
		if unfit == nil {
			if err := r.bookRun(ctx, i, prices); err != nil {
				return domain.Answer{}, err
			}
			if r.isDone(i) {
				continue
			}
		}
		if r.done[i], err = r.settle(ctx, i, unfit); err != nil {
			return domain.Answer{}, err
		}
	}
	stopRenewals()
	return r.finish(ctx)
}

func (r *run) isDone(i int) bool {
	_, done := r.done[i]
	return done
}

// bookRun books item i and the items after it that are ready in a moment, as many as can be booked
// together. Booking none is no error.
func (r *run) bookRun(ctx context.Context, i int, prices prices) error {
	if r.singly > 0 {
		r.singly--
		return nil
	}
	patience, impatient := context.WithTimeout(ctx, itemWait)
	defer impatient()
	end := i + 1
	for end < len(r.items) && end-i < maxTogether && !r.isDone(end) && prices.fit(patience, end) {
		end++
	}
	if end-i < 2 {
		return nil
	}
	done, err := r.permits.take(ctx, r.req.Tenant.BusinessID)
	if err != nil {
		return err
	}
	defer done()
	ctx, cancel := context.WithTimeout(ctx, stepBudget)
	defer cancel()
	items := make([]domain.BulkItem, end-i)
	n, err := r.deliveries.BookRun(ctx, r.drafts[i:end], func(k int, w *ports.BookingWrite) {
		items[k] = domain.BulkItem{Index: i + k, Created: true, Result: r.to.Entry(i+k, w.Delivery, nil)}
		w.Bulk = &ports.BulkItemMark{Hold: r.hold, Item: items[k]}
	})
	for _, item := range items[:n] {
		r.done[item.Index] = item
	}
	if n > 0 {
		r.fruitless = 0
	} else {
		r.fruitless, r.singly = 2*r.fruitless+1, 2*r.fruitless
	}
	if errors.Is(err, ports.ErrLeaseLost) {
		return err
	}
	return nil // on any other error, booking one by one shows the reason
}

// await waits for the price of an item.
func (r *run) await(ctx context.Context, ready <-chan error) (unfit, err error) {
	select {
	case unfit := <-ready:
		return unfit, nil
	case <-r.stopping:
		return nil, errYield
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// settle books an item, or records that it cannot be booked. An error that is no refusal ends the
// run, since the other items would meet it too.
func (r *run) settle(ctx context.Context, i int, unfit error) (item domain.BulkItem, err error) {
	if unfit == nil {
		item, unfit = r.book(ctx, i)
		if unfit == nil {
			return item, nil
		}
	}
	var refusal *domain.Error
	switch {
	case errors.Is(unfit, ports.ErrItemDone):
		// Only an earlier commit of this request that got no answer can have recorded it since the
		// claim.
		return r.recorded(ctx, i)
	case !errors.As(unfit, &refusal) || !refusal.Refusal():
		return item, unfit
	}
	item = domain.BulkItem{Index: i, Result: r.to.Entry(i, nil, refusal)}
	err = r.step(ctx, func(ctx context.Context, tx ports.Stores) error {
		if err := tx.Bulks.Extend(ctx, r.req.Tenant, r.hold); err != nil {
			return err
		}
		return tx.Bulks.AddItem(ctx, r.req.Tenant, r.hold, item)
	})
	if errors.Is(err, ports.ErrItemDone) {
		return r.recorded(ctx, i)
	}
	return item, err
}

func (r *run) book(ctx context.Context, i int) (item domain.BulkItem, err error) {
	done, err := r.permits.take(ctx, r.req.Tenant.BusinessID)
	if err != nil {
		return item, err
	}
	defer done()
	ctx, cancel := context.WithTimeout(ctx, stepBudget)
	defer cancel()
	err = r.gate.RetryUnknownCommit(ctx, func(ctx context.Context) error {
		return r.deliveries.Book(ctx, r.drafts[i], func(w *ports.BookingWrite) {
			item = domain.BulkItem{Index: i, Created: true, Result: r.to.Entry(i, w.Delivery, nil)}
			w.Bulk = &ports.BulkItemMark{Hold: r.hold, Item: item}
		})
	})
	return item, err
}

// recorded reads the outcome of an item that is done.
func (r *run) recorded(ctx context.Context, i int) (item domain.BulkItem, err error) {
	err = r.step(ctx, func(ctx context.Context, tx ports.Stores) error {
		items, err := tx.Bulks.Items(ctx, r.req.Tenant, r.hold)
		for _, found := range items {
			if found.Index == i {
				item = found
				return nil
			}
		}
		if err == nil {
			err = ports.ErrLeaseLost // the items are gone: the bulk was finished
		}
		return err
	})
	return item, err
}

// finish makes the answer and stores it.
func (r *run) finish(ctx context.Context) (domain.Answer, error) {
	created, entries := 0, make([][]byte, len(r.items))
	for i := range r.items {
		entries[i] = r.done[i].Result
		if r.done[i].Created {
			created++
		}
	}
	answer := r.to.Whole(created, len(entries)-created, entries)
	err := r.step(ctx, func(ctx context.Context, tx ports.Stores) error {
		return tx.Bulks.Finish(ctx, r.req.Tenant, r.hold, answer, r.gate.Retention())
	})
	return answer, err
}

// release lets the next request resume the bulk at once. Where it fails, that request waits until
// the lease runs out.
func (r *run) release(ctx context.Context) {
	err := r.step(ctx, func(ctx context.Context, tx ports.Stores) error {
		return tx.Bulks.Release(ctx, r.req.Tenant, r.hold)
	})
	if err != nil {
		r.log.WarnContext(ctx, "bulk not released; it can be resumed when its lease has run out",
			"application_id", string(r.req.Tenant.ApplicationID), "error", err)
	}
}

// step runs one transaction until its outcome is known.
func (r *run) step(ctx context.Context, fn func(ctx context.Context, tx ports.Stores) error) error {
	ctx, cancel := context.WithTimeout(ctx, stepBudget)
	defer cancel()
	return r.gate.RetryUnknownCommit(ctx, func(ctx context.Context) error { return r.storage.InTx(ctx, fn) })
}
