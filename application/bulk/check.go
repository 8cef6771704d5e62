package bulk

import (
	"context"
	"sync"

	"waybill/domain"
)

// checksAtOnce limits how many items of one bulk are checked at a time.
const checksAtOnce = 8

// check drafts every order. It returns the problems of all items as one BULK_VALIDATION_FAILED.
func (r *run) check(ctx context.Context) error {
	found := make([][]domain.BulkProblem, len(r.items))
	failures := make([]error, len(r.items))
	each(len(r.items), checksAtOnce, func(i int) {
		failures[i] = domain.Safely(func() (err error) {
			found[i], err = r.draft(ctx, i)
			return err
		})
	})
	var problems []domain.BulkProblem
	externalIDs := make([]string, len(r.items))
	for i := range r.items {
		if failures[i] != nil {
			return failures[i]
		}
		problems = append(problems, found[i]...)
		externalIDs[i] = r.items[i].Order.ExternalID
	}
	problems = append(problems, domain.DuplicateExternalIDs(externalIDs)...)
	crowded, err := r.deliveries.Crowded(ctx, r.req.Tenant, r.drafts)
	if err != nil {
		return err
	}
	for i, e := range crowded {
		problems = append(problems, domain.BulkProblemsOf(i, e)...)
	}
	if len(problems) > 0 {
		return domain.BulkInvalid(len(r.items), problems)
	}
	return nil
}

// draft checks one order and lists all its problems. A single create would report the first of
// them.
func (r *run) draft(ctx context.Context, i int) (problems []domain.BulkProblem, err error) {
	item := &r.items[i]
	if len(item.Problems) > 0 {
		problems = domain.BulkProblemsOf(i, domain.Invalid(item.Problems...))
		if item.Problems[0].Field == "" {
			return problems, nil // no object: it has no fields that could be missing
		}
	}
	draft, found, err := r.deliveries.Draft(ctx, r.req.Tenant, &item.Order, item.Problems...)
	if err != nil {
		return nil, err
	}
	for _, e := range found {
		problems = append(problems, domain.BulkProblemsOf(i, e)...)
	}
	r.drafts[i] = draft
	return problems, nil
}

// each calls f for every index below n, atOnce at a time, and waits for all.
func each(n, atOnce int, f func(i int)) {
	next := make(chan int)
	var workers sync.WaitGroup
	for range min(n, atOnce) {
		workers.Go(func() {
			for i := range next {
				f(i)
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	workers.Wait()
}
