package access

import (
	"context"
	"errors"
	"sync"
	"time"

	"waybill/domain"
)

// unknownPatience limits the time that a request waits for another one with the same key. The wait
// is that long only while the storage or the limiter hardly responds.
const unknownPatience = 2 * time.Second

var errUnknownCaller = errors.New("looking up an API key takes too long")

// unknownCallers admits requests with the same key, which has not worked lately, one after the
// other. The first one looks the key up. The others are not charged for a lookup that they do not
// need.
type unknownCallers struct {
	mu   sync.Mutex
	busy map[[32]byte]chan struct{} // closed at the end of the request that looks it up
}

func newUnknownCallers() *unknownCallers {
	return &unknownCallers{busy: make(map[[32]byte]chan struct{})}
}

// enter waits for the previous request, and returns 503 if that takes too long. leave must be
// called, and soon.
func (n *unknownCallers) enter(ctx context.Context, digest [32]byte) (leave func(), err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, unknownPatience, domain.ServiceUnavailable(errUnknownCaller))
	defer cancel()
	for {
		before := n.take(digest)
		if before == nil {
			return func() { n.leave(digest) }, nil
		}
		select {
		case <-before:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// take returns nil, or the channel that is closed when the earlier request ends.
func (n *unknownCallers) take(digest [32]byte) (before chan struct{}) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if before = n.busy[digest]; before == nil {
		n.busy[digest] = make(chan struct{})
	}
	return before
}

func (n *unknownCallers) leave(digest [32]byte) {
	n.mu.Lock()
	defer n.mu.Unlock()
	close(n.busy[digest])
	delete(n.busy, digest)
}
