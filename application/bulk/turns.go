package bulk

import (
	"context"
	"sync"
	"time"
)

const (
	// writers is how many transactions of bulks run at a time, of all bulks of the
	// process. Each may book fifty items; a single create that comes meanwhile has
	// to find a connection, and on SQLite waits for them.
	writers = 2
	// longTurn is how long a transaction keeps its turn. One that waits for a row
	// that somebody else holds lets others go on.
	longTurn = 500 * time.Millisecond
)

// turns are permits to write.
type turns chan struct{}

func newTurns() turns { return make(turns, writers) }

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
