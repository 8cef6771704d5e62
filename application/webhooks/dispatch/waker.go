package dispatch

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"waybill/domain"
	"waybill/ports"
)

const (
	// gather is how long rings for one endpoint are gathered into one.
	gather = time.Millisecond
	// maxGathered bounds the memory while the queue does not answer; the Sweeper
	// finds what is dropped.
	maxGathered = 10_000
	// wakers is how many rings are under way at a time.
	wakers = 4
)

// Waker rings for endpoints that have just got something to be sent.
type Waker struct {
	queue  ports.Queue
	news   ports.FanoutNews // nil: no other process hears
	log    *slog.Logger
	beside []ports.FanoutListener
	failed lapse

	mu      sync.Mutex
	waiting map[domain.ID]bool
	some    chan struct{} // one: something waits
}

// NewWaker makes a waker; Run is what rings, and tells other processes where news is
// not nil.
func NewWaker(q ports.Queue, news ports.FanoutNews, log *slog.Logger) *Waker {
	return &Waker{queue: q, news: news, log: log, waiting: map[domain.ID]bool{}, some: make(chan struct{}, 1)}
}

// Beside lets another one hear what Wake does, at once. It is to be called before
// anything is committed.
func (w *Waker) Beside(heard ports.FanoutListener) { w.beside = append(w.beside, heard) }

// Wake is a ports.FanoutListener.
func (w *Waker) Wake(endpoints []domain.ID) {
	for _, heard := range w.beside {
		heard(endpoints)
	}
	w.mu.Lock()
	for _, id := range endpoints {
		if len(w.waiting) < maxGathered {
			w.waiting[id] = true
		}
	}
	w.mu.Unlock()
	select {
	case w.some <- struct{}{}:
	default:
	}
}

// Failed is why the last notification failed since Failed was last called, or nil.
func (w *Waker) Failed() error { return w.failed.take() }

// Run rings until ctx ends.
func (w *Waker) Run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-w.some:
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(gather):
		}
		w.ring(ctx, w.take())
	}
}

func (w *Waker) take() []domain.ID {
	w.mu.Lock()
	defer w.mu.Unlock()
	taken := slices.Collect(maps.Keys(w.waiting))
	clear(w.waiting)
	return taken
}

func (w *Waker) ring(ctx context.Context, endpoints []domain.ID) {
	var ringing sync.WaitGroup
	defer ringing.Wait()
	if w.news != nil && len(endpoints) > 0 {
		ringing.Go(func() { w.news.Announce(ctx, endpoints) })
	}
	free := make(chan struct{}, wakers)
	for _, id := range endpoints {
		if ctx.Err() != nil {
			return
		}
		free <- struct{}{}
		ringing.Go(func() {
			defer func() { <-free }()
			if err := w.queue.Ring(ctx, ports.JobWebhook, string(id)); err != nil && ctx.Err() == nil {
				w.failed.note(err)
				w.log.DebugContext(ctx, "ring failed", "endpoint", id, "error", err)
			}
		})
	}
}
