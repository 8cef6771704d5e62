package memlocks

import (
	"container/list"
	"context"
	"sync"
	"time"

	"waybill/ports"
)

var _ ports.Locks = (*Locks)(nil)

// expiry is when a lock that was not released ends by itself.
const expiry = 10 * time.Second

// Locks are the locks of one process.
type Locks struct {
	mu   sync.Mutex
	held map[string]*list.Element
	// order has the held locks by the time they were taken, which is also
	// their order of expiry: only its front is ever looked at.
	order list.List
}

type lock struct {
	name    string
	expires time.Time
}

// New returns locks of which none is held.
func New() *Locks { return &Locks{held: map[string]*list.Element{}} }

// TryLock takes the lock if it is free. release is never nil, may be called more
// than once, and frees only what this call took: after the lock has expired it
// does nothing to a later holder.
func (l *Locks) TryLock(_ context.Context, name string) (release func(), acquired bool) {
	now := time.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	for oldest := l.order.Front(); oldest != nil && !now.Before(oldest.Value.(lock).expires); oldest = l.order.Front() {
		l.remove(oldest)
	}
	if l.held[name] != nil {
		return func() {}, false
	}
	mine := l.order.PushBack(lock{name: name, expires: now.Add(expiry)})
	l.held[name] = mine
	return func() { l.release(name, mine) }, true
}

func (l *Locks) release(name string, mine *list.Element) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.held[name] == mine {
		l.remove(mine)
	}
}

func (l *Locks) remove(e *list.Element) {
	delete(l.held, l.order.Remove(e).(lock).name)
}
