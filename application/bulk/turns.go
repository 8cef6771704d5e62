package bulk

import (
	"context"
	"sync"
	"time"
)

// Pace bounds the transactions that book items of bulks, of all bulks of an
// environment and process. Each may book fifty items, so a flood of them fills the
// processors and the database; a single create that comes meanwhile waits for what
// the pace leaves.
type Pace struct {
	// Writers is how many of them run at a time, at least 1.
	Writers int
	// Rest is for how long a writer stands still after a transaction, in times of
	// what it took: with 6 a writer works for a seventh of the time. A bulk that
	// comes alone rests only between two transactions, never before its answer.
	Rest int
}

// longTurn is how long a transaction keeps its turn. One that waits for a row that
// somebody else holds lets others go on.
const longTurn = 500 * time.Millisecond

// turns are permits to book.
type turns struct {
	free chan struct{}
	rest time.Duration // for each unit of time that a transaction took
}

func newTurns(p Pace) turns {
	return turns{make(chan struct{}, max(1, p.Writers)), time.Duration(p.Rest)}
}

// take waits for a turn. It is over a rest after done was called, or as soon as it
// has taken long.
func (t turns) take(ctx context.Context) (done func(), err error) {
	select {
	case t.free <- struct{}{}:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	begun := time.Now()
	over := sync.OnceFunc(func() { <-t.free })
	timer := time.AfterFunc(longTurn, over)
	return func() {
		switch {
		case !timer.Stop():
		case t.rest == 0:
			over()
		default:
			time.AfterFunc(t.rest*time.Since(begun), over)
		}
	}, nil
}
