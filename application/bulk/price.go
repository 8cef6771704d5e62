package bulk

import (
	"context"
	"time"

	"waybill/domain"
)

const (
	// priceBudget limits the pricing of one run. Items without a price by then wait until the
	// caller sends the request again.
	priceBudget = 30 * time.Second
	// pricesAtOnce limits how many prices are requested at a time. A hundred of the slowest allowed
	// responses still fit into the budget.
	pricesAtOnce = 16
)

// prices holds the prices that are requested ahead of the items.
type prices struct {
	ready []chan error // one value each
	stop  func()       // waits until all requests have ended
}

// fit waits a moment for the price of an item, at most until ctx ends, and reports whether the item
// is priced and not refused.
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
	p.ready[i] <- unfit // put it back for the next reader
	return unfit == nil
}

// price requests the prices of all items that are not done, some at a time in their order. Each
// stands alone: the outcome of one changes no other. An item without a price is refused, never the
// whole bulk. An item whose price was not requested in time is not refused.
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
	go func() {
		defer close(ended)
		each(len(todo), pricesAtOnce, func(n int) {
			i := todo[n]
			if ctx.Err() != nil {
				p.ready[i] <- errYield
				return
			}
			err := domain.Safely(func() error { return r.priceOne(ctx, i) })
			if err != nil && ctx.Err() != nil && !domain.HasCode(err, domain.CodeExternalIDConflict) {
				err = errYield // the budget is used up: the price may still be available
			}
			p.ready[i] <- err
		})
	}()
	return p
}

func (r *run) priceOne(ctx context.Context, i int) error {
	if r.drafts[i] == nil { // resumed: the first check may be outdated
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
