package reports

import (
	"context"
	"sync"
	"time"

	"waybill/domain"
	"waybill/ports"
)

const (
	// recentAge is how old an answer may be that is given out again: however many ask, the
	// database is asked once in that time.
	recentAge = 5 * time.Second
	// recentTime is how long one question may take.
	recentTime = 3 * time.Second
)

// recent is the last answer to a question, for all that ask. A failure is told to those that
// waited for it, and the next caller asks anew.
type recent[T any] struct {
	mu   sync.Mutex
	last *answer[T]
}

// answer is one question to the database, by all that ask meanwhile.
type answer[T any] struct {
	at    time.Time     // when it was asked
	done  chan struct{} // closed when the fields below are set
	value T
	err   error
}

// get is at most recentAge old. It is shared: do not change it.
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
	// For all that wait, and not only for the first one.
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
