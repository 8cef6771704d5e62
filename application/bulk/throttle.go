package bulk

import (
	"context"
	"sync"
	"time"
)

// Throttle bounds the transactions that book items of bulks, of all bulks of an
// environment and process. Each may book fifty items, so a flood of them fills the
// processors and the database; a single create that comes meanwhile waits for what
// the throttle leaves.
type Throttle struct {
	// Writers is how many of them run at a time, at least 1.
	Writers int
	// Pause is for how long a writer stands still after a transaction, in times of
	// what it took: with 6 a writer works for a seventh of the time. A bulk that
	// comes alone pauses only between two transactions, never before its answer.
	Pause int
}

// longHold is how long a transaction keeps its permit. One that waits for a row that
// another transaction holds lets others go on.
const longHold = 500 * time.Millisecond

// permits are permits to book.
type permits struct {
	free  chan struct{}
	pause time.Duration // for each unit of time that a transaction took
}

func newPermits(p Throttle) permits {
	return permits{make(chan struct{}, max(1, p.Writers)), time.Duration(p.Pause)}
}

// take waits for a permit. It is free again a pause after done was called, or as soon as it
// has taken long.
func (t permits) take(ctx context.Context) (done func(), err error) {
	select {
	case t.free <- struct{}{}:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	begun := time.Now()
	over := sync.OnceFunc(func() { <-t.free })
	timer := time.AfterFunc(longHold, over)
	return func() {
		switch {
		case !timer.Stop():
		case t.pause == 0:
			over()
		default:
			time.AfterFunc(t.pause*time.Since(begun), over)
		}
	}, nil
}
