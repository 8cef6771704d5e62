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
	// gather is how long notifications of one endpoint are gathered into one.
	gather = time.Millisecond
	// maxGathered bounds the memory while the queue does not answer; the Sweeper
	// finds what is dropped.
	maxGathered = 10_000
	// concurrentNotifications is how many notifications are under way at a time.
	concurrentNotifications = 4
)

// Notifier tells the queue which endpoints have just got something to send.
type Notifier struct {
	queue  ports.Queue
	news   ports.FanoutNews // nil: no other process hears
	log    *slog.Logger
	beside []ports.FanoutListener
	failed lapse

	mu      sync.Mutex
	waiting map[domain.ID]bool
	some    chan struct{} // one: something waits
}

// NewNotifier makes a notifier. Run sends the notifications, to other processes too where
// news is not nil.
func NewNotifier(q ports.Queue, news ports.FanoutNews, log *slog.Logger) *Notifier {
	return &Notifier{queue: q, news: news, log: log, waiting: map[domain.ID]bool{}, some: make(chan struct{}, 1)}
}

// Beside lets another one hear what Wake does, at once. It is to be called before
// anything is committed.
func (w *Notifier) Beside(heard ports.FanoutListener) { w.beside = append(w.beside, heard) }

// Notify is a ports.FanoutListener.
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

// Failed is why the last notification failed since Failed was last called, or nil.
func (w *Notifier) Failed() error { return w.failed.take() }

// Run notifies until ctx ends.
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
