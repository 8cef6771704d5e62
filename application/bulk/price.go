package bulk

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"waybill/domain"
)

const (
	// priceBudget is for the prices of one turn. What is not priced by then waits
	// for the caller to send the request again.
	priceBudget = 10 * time.Second
	// hopeless is after how many failures in a row no more prices are asked for.
	hopeless = 5
)

var errHopeless = errors.New("bulk: the prices asked for before all failed")

// prices are asked for ahead of the items' turns.
type prices struct {
	ready []chan error // one value each
	stop  func()       // waits until nothing is under way any more
}

// fit tells that the price of an item is there in a moment, before ctx ends, and
// that nothing speaks against it.
func (p prices) fit(ctx context.Context, i int) bool {
	var unfit error
	select {
	case unfit = <-p.ready[i]:
	default:
		select {
		case unfit = <-p.ready[i]:
		case <-time.After(nextPrice):
			return false
		case <-ctx.Done():
			return false
		}
	}
	p.ready[i] <- unfit // whoever awaits it gets it too
	return unfit == nil
}

// price asks for the prices of all items that are not done, a few at a time in
// their order. An item that no price can be had for is refused, never the whole
// bulk; one that there was no time for is not refused.
func (r *run) price(ctx context.Context) prices {
	ctx, cancel := context.WithTimeout(ctx, priceBudget)
	p, ended := prices{ready: make([]chan error, len(r.items))}, make(chan struct{})
	var todo []int
	for i := range r.items {
		p.ready[i] = make(chan error, 1)
		if _, done := r.done[i]; !done {
			todo = append(todo, i)
		}
	}
	p.stop = func() {
		cancel()
		<-ended
	}
	var failures atomic.Int32 // in a row; at hopeless it stays
	go func() {
		defer close(ended)
		each(len(todo), func(n int) {
			i := todo[n]
			switch {
			case ctx.Err() != nil:
				p.ready[i] <- errYield
				return
			case failures.Load() >= hopeless:
				p.ready[i] <- domain.QuoteUnavailable(errHopeless)
				return
			}
			err := safely(func() error { return r.priceOne(ctx, i) })
			switch {
			case err != nil && ctx.Err() != nil && !domain.HasCode(err, domain.CodeExternalIDConflict):
				err = errYield // the budget is spent: nobody knows what the price would have been
			case domain.HasCode(err, domain.CodeQuoteUnavailable):
				failures.Add(1)
			case err == nil && failures.Load() < hopeless:
				failures.Store(0) // only a price shows that prices can be had
			}
			p.ready[i] <- err
		})
	}()
	return p
}

func (r *run) priceOne(ctx context.Context, i int) error {
	if r.drafts[i] == nil { // resumed: what was checked then may have changed
		problems, err := r.draft(ctx, i)
		if err != nil {
			return err
		}
		if len(problems) > 0 {
			return &domain.Error{Kind: domain.KindInvalid, Code: problems[0].Code, Message: problems[0].Message}
		}
	}
	return r.deliveries.Price(ctx, r.drafts[i])
}
