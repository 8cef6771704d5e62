package reports

import (
	"context"
	"sync"
	"time"

	"waybill/domain"
	"waybill/ports"
)

const (
	// recentAge is the maximum age of a cached result: for any number of callers, the database is
	// queried once in that time.
	recentAge = 5 * time.Second
	// recentTime limits how long one query may take.
	recentTime = 3 * time.Second
)

// recent caches the last result of a query for all callers. A failure goes to those that waited for
// it, and the next caller queries anew.
type recent[T any] struct {
	mu   sync.Mutex
	last *answer[T]
}

// answer is one query to the database, shared by all concurrent callers.
type answer[T any] struct {
	at    time.Time     // start of the query
	done  chan struct{} // closed when the fields below are set
	value T
	err   error
}

// get returns a result of at most recentAge ago. It is shared: do not change it.
func (r *recent[T]) get(ctx context.Context, c ports.Clock, read func(context.Context, time.Time) (T, error)) (T, error) {
	a := r.ask(ctx, c, read)
	select {
	case <-a.done:
		return a.value, a.err
	case <-ctx.Done():
		var none T
		return none, ctx.Err()
	}
}

func (r *recent[T]) ask(ctx context.Context, c ports.Clock, read func(context.Context, time.Time) (T, error)) *answer[T] {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := c.Now()
	if a := r.last; a != nil {
		select {
		case <-a.done:
			if a.err == nil && now.Sub(a.at) < recentAge {
				return a
			}
		default:
			return a
		}
	}
	a := &answer[T]{at: now, done: make(chan struct{})}
	r.last = a
	// The query is for all that wait, and not only for the first one.
	go func() {
		defer close(a.done)
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), recentTime)
		defer cancel()
		a.err = domain.Safely(func() (err error) {
			a.value, err = read(ctx, a.at)
			return err
		})
	}()
	return a
}
