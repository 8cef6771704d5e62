package directory

import (
	"context"
	"errors"
	"sync"
	"time"

	"waybill/domain"
)

// importPatience limits how long an import waits for those before it.
const importPatience = 20 * time.Second

// mostOfTenant limits the imports of a business in an environment of a process: one that runs, and
// one that waits.
const mostOfTenant = 2

// turns lets one import at a time store something in an environment. Each one keeps the database
// busy for seconds, and on SQLite blocks all writers.
type turns struct {
	running map[domain.Environment]chan struct{} // holds the running import

	mu    sync.Mutex
	there map[domain.Tenant]int // running or waiting
}

func newTurns() *turns {
	return &turns{
		running: map[domain.Environment]chan struct{}{domain.Live: make(chan struct{}, 1), domain.Sandbox: make(chan struct{}, 1)},
		there:   map[domain.Tenant]int{},
	}
}

// begin waits for the turn of an import. The caller must call end. A business with a waiting import
// gets no second one, so that it delays others by two at most.
func (u *turns) begin(ctx context.Context, t domain.Tenant) (end func(), err error) {
	if !u.enter(t) {
		return nil, busy("Two imports of this business are under way already.")
	}
	timer := time.NewTimer(importPatience)
	defer timer.Stop()
	running := u.running[t.Environment]
	select {
	case running <- struct{}{}:
		return func() { <-running; u.leave(t) }, nil
	case <-timer.C:
		err = busy("Other imports are under way.")
	case <-ctx.Done():
		err = ctx.Err()
	}
	u.leave(t)
	return nil, err
}

func (u *turns) enter(t domain.Tenant) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.there[t] >= mostOfTenant {
		return false
	}
	u.there[t]++
	return true
}

func (u *turns) leave(t domain.Tenant) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.there[t]--; u.there[t] == 0 {
		delete(u.there, t)
	}
}

func busy(why string) error {
	e := domain.Busy(errImporting)
	e.Message = why + " Nothing was changed; send the same request again in a few seconds."
	return e
}

var errImporting = errors.New("other imports are under way")
