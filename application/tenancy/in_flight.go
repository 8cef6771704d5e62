package tenancy

import (
	"context"
	"strconv"
	"sync"
	"time"

	"waybill/domain"
)

// maxInFlight is how many requests of one application are worked on at once,
// in this process, so that no application takes all of it.
const maxInFlight = 50

// flights counts the requests under way of each application. An application
// with none takes no memory.
type flights struct {
	mu   sync.Mutex
	open map[domain.ID]int
}

func newFlights() *flights { return &flights{open: make(map[domain.ID]int)} }

func (f *flights) enter(application domain.ID) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.open[application] >= maxInFlight {
		return false
	}
	f.open[application]++
	return true
}

func (f *flights) leave(application domain.ID) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.open[application]--; f.open[application] <= 0 {
		delete(f.open, application)
	}
}

// Enter lets an admitted request begin; leave must be called when it has ended.
// Beyond the most that an application may have under way it answers 429 and
// gives back what the request was charged.
func (a *Admission) Enter(ctx context.Context, g *Grant) (leave func(), err error) {
	application := g.Credential.Application.ID
	if a.flights.enter(application) {
		return func() { a.flights.leave(application) }, nil
	}
	if err := a.GiveBack(ctx, g); err != nil {
		return nil, domain.Internal(err)
	}
	return nil, &domain.Error{
		Kind: domain.KindLimited, Code: domain.CodeRateLimitExceeded,
		Message:    strconv.Itoa(maxInFlight) + " requests of this application are in flight, the most there may be. Wait for one to end.",
		Details:    map[string]any{"scope": "concurrency", "limit": maxInFlight},
		RetryAfter: time.Second,
	}
}
