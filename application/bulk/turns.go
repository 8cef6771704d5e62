package bulk

import (
	"context"
	"sync"
	"time"
)

// Writers is how many transactions that book items of bulks run at a time, of all
// bulks of an environment and process. Each may book fifty items; a single create
// that comes meanwhile has to find a connection to the database beside them.
type Writers int

// longTurn is how long a transaction keeps its turn. One that waits for a row that
// somebody else holds lets others go on.
const longTurn = 500 * time.Millisecond

// turns are permits to book.
type turns chan struct{}

func newTurns(w Writers) turns { return make(turns, max(1, w)) }

// take waits for a turn, which is over when done is called or has taken long.
func (t turns) take(ctx context.Context) (done func(), err error) {
	select {
	case t <- struct{}{}:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	over := sync.OnceFunc(func() { <-t })
	timer := time.AfterFunc(longTurn, over)
	return func() { timer.Stop(); over() }, nil
}
