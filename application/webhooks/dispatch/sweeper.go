package dispatch

import (
	"context"
	"log/slog"
	"maps"
	"sort"
	"time"

	"waybill/domain"
	"waybill/ports"
)

// LookEvery is the interval of looks for webhooks that are due soon. A look covers more than the
// time until the end of the next one. So webhooks that become due in between are notified in time.
const LookEvery = time.Second

const (
	lookAhead    = 2 * LookEvery
	sweepBatch   = 1000
	sweepTimeout = 5 * time.Second
	// sweepAgain is how long a notified endpoint is not notified again, and queueAgain is the pause
	// before a refused notification is retried.
	sweepAgain = LookEvery * 3 / 4
	queueAgain = 100 * time.Millisecond
)

// Sweeper notifies the queue of endpoints with due webhooks and no owner: retries, the work of a
// dead process, and lost notifications. Any number of processes may run one.
type Sweeper struct {
	outbox ports.WebhookOutbox
	queue  ports.Queue
	clock  ports.Clock
	log    *slog.Logger
	looked func()
}

// NewSweeper returns a sweeper.
func NewSweeper(o ports.WebhookOutbox, q ports.Queue, c ports.Clock, log *slog.Logger) *Sweeper {
	return &Sweeper{outbox: o, queue: q, clock: c, log: log, looked: func() {}}
}

// OnLook sets a function that Run calls after each successful look.
func (s *Sweeper) OnLook(looked func()) { s.looked = looked }

// Run sweeps until ctx ends.
func (s *Sweeper) Run(ctx context.Context) {
	began := time.Now()
	notified := map[domain.ID]time.Time{}
	failing := false
	for {
		looked := time.Now()
		waiting, err := s.look(ctx)
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
		// Looks of all kinds happen together, so that an idle process wakes once for them. The next
		// is a multiple of LookEvery after the first, unless this one was slow.
		pause := LookEvery - time.Since(began)%LookEvery
		if pause < time.Since(looked) {
			pause = LookEvery
		}
		next, cancel := context.WithTimeout(ctx, pause)
		s.notify(next, waiting, notified)
		<-next.Done()
		cancel()
	}
}

func (s *Sweeper) look(ctx context.Context) ([]ports.WaitingEndpoint, error) {
	ctx, cancel := context.WithTimeout(ctx, sweepTimeout)
	defer cancel()
	return s.outbox.Waiting(ctx, s.clock.Now(), lookAhead, sweepBatch)
}

// notify notifies of each endpoint at its time, until ctx ends. Waiting endpoints come first, in
// the order of Waiting, in which owners take turns. notified keeps the endpoints of the last
// moments.
func (s *Sweeper) notify(ctx context.Context, waiting []ports.WaitingEndpoint, notified map[domain.ID]time.Time) {
	maps.DeleteFunc(notified, func(_ domain.ID, at time.Time) bool { return s.clock.Now().Sub(at).Abs() >= sweepAgain })
	now := s.clock.Now()
	sort.SliceStable(waiting, func(i, j int) bool { return waiting[j].From.After(now) && waiting[i].From.Before(waiting[j].From) })
	for _, w := range waiting {
		if at, lately := notified[w.ID]; lately && !w.From.After(at) {
			continue
		}
		// Computed each time: the clock may be set.
		for wait := w.From.Sub(s.clock.Now()); ; wait = queueAgain {
			if !passes(ctx, wait) {
				return
			}
			err := s.queue.Notify(ctx, jobOf(w), string(w.ID))
			if err == nil {
				break
			}
			s.log.DebugContext(ctx, "notification failed", "endpoint", w.ID, "error", err)
		}
		notified[w.ID] = s.clock.Now()
	}
}

// passes waits. It returns false if ctx ends first.
func passes(ctx context.Context, wait time.Duration) bool {
	if wait <= 0 {
		return ctx.Err() == nil
	}
	after := time.NewTimer(wait)
	defer after.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-after.C:
		return true
	}
}
