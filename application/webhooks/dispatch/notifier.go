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
	// gather is how long notifications of one endpoint are joined into one.
	gather = time.Millisecond
	// maxGathered limits the memory while the queue does not respond. The Sweeper finds what is
	// dropped.
	maxGathered = 10_000
	// concurrentNotifications limits the notifications that are sent at a time.
	concurrentNotifications = 4
)

// Notifier notifies the queue of endpoints with new webhooks.
type Notifier struct {
	queue  ports.Queue
	news   ports.FanoutNews // nil: no other process hears
	log    *slog.Logger
	beside []ports.FanoutListener
	failed lapse

	mu      sync.Mutex
	waiting map[domain.ID]bool
	some    chan struct{} // holds one element: something waits
}

// NewNotifier returns a notifier. Run sends the notifications, to other processes too if news is
// not nil.
func NewNotifier(q ports.Queue, news ports.FanoutNews, log *slog.Logger) *Notifier {
	return &Notifier{queue: q, news: news, log: log, waiting: map[domain.ID]bool{}, some: make(chan struct{}, 1)}
}

// Beside adds a listener that Notify calls at once. Call it before anything is committed.
func (w *Notifier) Beside(heard ports.FanoutListener) { w.beside = append(w.beside, heard) }

// Notify implements ports.FanoutListener.
func (w *Notifier) Notify(endpoints []domain.ID) {
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

// Failed returns the error of the last failed notification since the previous call, or nil.
func (w *Notifier) Failed() error { return w.failed.take() }

// Run sends notifications until ctx ends.
func (w *Notifier) Run(ctx context.Context) {
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
		w.notify(ctx, w.take())
	}
}

func (w *Notifier) take() []domain.ID {
	w.mu.Lock()
	defer w.mu.Unlock()
	taken := slices.Collect(maps.Keys(w.waiting))
	clear(w.waiting)
	return taken
}

func (w *Notifier) notify(ctx context.Context, endpoints []domain.ID) {
	var notifying sync.WaitGroup
	defer notifying.Wait()
	if w.news != nil && len(endpoints) > 0 {
		notifying.Go(func() { w.news.Announce(ctx, endpoints) })
	}
	free := make(chan struct{}, concurrentNotifications)
	for _, id := range endpoints {
		if ctx.Err() != nil {
			return
		}
		free <- struct{}{}
		notifying.Go(func() {
			defer func() { <-free }()
			if err := w.queue.Notify(ctx, ports.JobWebhook, string(id)); err != nil && ctx.Err() == nil {
				w.failed.note(err)
				w.log.DebugContext(ctx, "notification failed", "endpoint", id, "error", err)
			}
		})
	}
}
