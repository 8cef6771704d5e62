package tracking

import (
	"context"
	"sync"
	"time"

	"waybill/domain"
)

// How many look-ups of references that are not familiar one client address has
// under way in this process, and how long the next ones wait: so a guesser who
// does not wait for answers gains no more than abreast guesses over the limit.
const (
	abreast  = 8
	patience = 2 * time.Second
)

// lanes holds a lane for each address that is looking.
type lanes struct {
	mu   sync.Mutex
	open map[string]*lane
}

type lane struct {
	slots chan struct{}
	users int // who are in it or wait; under the lock of lanes
}

func newLanes() *lanes { return &lanes{open: map[string]*lane{}} }

// enter waits for a place; leave gives it back.
func (l *lanes) enter(ctx context.Context, address string) (leave func(), err error) {
	own := l.of(address)
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case own.slots <- struct{}{}:
		return func() { <-own.slots; l.done(address, own) }, nil
	case <-timer.C:
		err = &domain.Error{
			Kind: domain.KindLimited, Code: domain.CodeRateLimitExceeded,
			Message:    "Too many pages are asked for from this address at once.",
			RetryAfter: patience,
		}
	case <-ctx.Done():
		err = ctx.Err()
	}
	l.done(address, own)
	return nil, err
}

func (l *lanes) of(address string) *lane {
	l.mu.Lock()
	defer l.mu.Unlock()
	own := l.open[address]
	if own == nil {
		own = &lane{slots: make(chan struct{}, abreast)}
		l.open[address] = own
	}
	own.users++
	return own
}

func (l *lanes) done(address string, own *lane) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if own.users--; own.users == 0 {
		delete(l.open, address)
	}
}
