package dispatch

import (
	"context"
	"log/slog"
	"maps"
	"time"

	"waybill/domain"
	"waybill/ports"
)

// LookEvery is how often due webhooks are looked for at the least.
const LookEvery = time.Second

const (
	// sweepEvery is how often due webhooks are looked for. Where a look takes more
	// than a tenth of that, it is a tenth of the time, up to sweepMost.
	sweepEvery   = 100 * time.Millisecond
	sweepShare   = 10
	sweepMost    = LookEvery
	sweepBatch   = 1000
	sweepTimeout = 5 * time.Second
	// sweepAgain is how long an endpoint that was notified is not notified again.
	sweepAgain = time.Second
)

// Sweeper notifies the queue of endpoints that have something due and no owner: retries,
// what a dead process left, and lost notifications. Any number of processes
// may run one.
type Sweeper struct {
	outbox ports.WebhookOutbox
	queue  ports.Queue
	clock  ports.Clock
	log    *slog.Logger
	looked func()
}

// NewSweeper makes a sweeper.
func NewSweeper(o ports.WebhookOutbox, q ports.Queue, c ports.Clock, log *slog.Logger) *Sweeper {
	return &Sweeper{outbox: o, queue: q, clock: c, log: log, looked: func() {}}
}

// OnLook has each look that succeeds told to a function, from Run on.
func (s *Sweeper) OnLook(looked func()) { s.looked = looked }

// Run sweeps until ctx ends.
func (s *Sweeper) Run(ctx context.Context) {
	notified := map[domain.ID]time.Time{}
	failing := false
	for {
		begun := time.Now()
		waiting, err := s.look(ctx)
		took := time.Since(begun)
		if ctx.Err() != nil {
			return
		}
		switch {
		case err != nil && !failing:
			s.log.WarnContext(ctx, "webhooks wait: what is due cannot be read", "error", err)
		case err == nil && failing:
			s.log.InfoContext(ctx, "webhooks go on")
		}
		if failing = err != nil; !failing {
			s.looked()
		}
		s.notify(ctx, waiting, notified)
		select {
		case <-ctx.Done():
			return
		case <-time.After(min(max(sweepEvery-took, (sweepShare-1)*took), sweepMost)):
		}
	}
}

func (s *Sweeper) look(ctx context.Context) ([]ports.WaitingEndpoint, error) {
	ctx, cancel := context.WithTimeout(ctx, sweepTimeout)
	defer cancel()
	return s.outbox.Waiting(ctx, s.clock.Now(), sweepBatch)
}

// notify keeps in notified the endpoints of the last moments.
func (s *Sweeper) notify(ctx context.Context, waiting []ports.WaitingEndpoint, notified map[domain.ID]time.Time) {
	maps.DeleteFunc(notified, func(_ domain.ID, at time.Time) bool { return time.Since(at) >= sweepAgain })
	for _, w := range waiting {
		if _, lately := notified[w.ID]; lately {
			continue
		}
		if err := s.queue.Notify(ctx, jobOf(w), string(w.ID)); err != nil {
			s.log.DebugContext(ctx, "notification failed", "endpoint", w.ID, "error", err)
			return // the queue is away: the next sweep asks again
		}
		notified[w.ID] = time.Now()
	}
}
