package memory

import (
	"context"
	"sync"

	"waybill/domain"
	"waybill/ports"
)

var _ ports.Invalidations = (*Invalidations)(nil)

// localMaxWaiting is how many announcements are kept for a busy listener.
const localMaxWaiting = 1000

// Invalidations sends cache invalidations to the listeners in this process.
type Invalidations struct {
	mu        sync.Mutex
	listeners map[*listener]bool
}

// listener is one call of Listen. The mutex of its Invalidations guards waiting.
type listener struct {
	waiting []domain.ID
	woken   chan struct{} // holds at most one signal: look into waiting
}

// NewInvalidations returns Invalidations without listeners.
func NewInvalidations() *Invalidations { return &Invalidations{listeners: map[*listener]bool{}} }

// Announce queues a message for each present listener.
func (i *Invalidations) Announce(_ context.Context, application domain.ID) {
	i.mu.Lock()
	defer i.mu.Unlock()
	for l := range i.listeners {
		if len(l.waiting) >= localMaxWaiting {
			l.waiting = append(l.waiting[:0], "")
		} else {
			l.waiting = append(l.waiting, application)
		}
		select {
		case l.woken <- struct{}{}:
		default: // it was notified already
		}
	}
}

// Listen calls forget for each message, one call at a time, until ctx ends.
func (i *Invalidations) Listen(ctx context.Context, forget func(application domain.ID)) {
	l := &listener{woken: make(chan struct{}, 1)}
	i.mu.Lock()
	i.listeners[l] = true
	i.mu.Unlock()
	defer func() {
		i.mu.Lock()
		defer i.mu.Unlock()
		delete(i.listeners, l)
	}()
	for {
		select {
		case <-ctx.Done():
			return
		case <-l.woken:
		}
		i.mu.Lock()
		heard := l.waiting
		l.waiting = nil
		i.mu.Unlock()
		for _, application := range heard {
			if ctx.Err() != nil {
				return
			}
			forget(application)
		}
	}
}
