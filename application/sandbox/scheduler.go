package sandbox

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"waybill/ports"
)

const (
	// LookEvery is how often the storage is asked what comes due, and lookAhead how far: beyond the
	// end of the next query, so that a step that is planned in time is notified in time.
	LookEvery = 500 * time.Millisecond
	lookAhead = 2 * time.Second
	// lookBatch limits one query; the earliest come first.
	lookBatch = 5000
	// lookTimeout ends a query to a storage that does not respond.
	lookTimeout = 5 * time.Second
	// notifyAgain is how long a step may stay due after its notification until it is notified
	// again.
	notifyAgain = 2 * time.Second
	// concurrentNotifications limits how many notifications are sent at a time.
	concurrentNotifications = 8
)

// Scheduler notifies the queue of due steps. Any number of processes may run one: a step that is
// notified twice happens once.
type Scheduler struct {
	storage ports.Storage
	queue   ports.Queue
	clock   ports.Clock
	log     *slog.Logger
	looked  func()
}

// NewScheduler returns a scheduler.
func NewScheduler(s ports.Storage, q ports.Queue, c ports.Clock, log *slog.Logger) *Scheduler {
	return &Scheduler{storage: s, queue: q, clock: c, log: log, looked: func() {}}
}

// OnLook sets a function that Run calls after each successful query.
func (s *Scheduler) OnLook(looked func()) { s.looked = looked }

// Run notifies until ctx ends, and has stopped everything when it returns. Queries and
// notifications run concurrently, so that a slow storage delays no planned step, and a slow queue
// no query.
func (s *Scheduler) Run(ctx context.Context) {
	var working sync.WaitGroup
	defer working.Wait()
	looks, notifications := make(chan []ports.DueStep), make(chan ports.DueStep)
	working.Go(func() { s.look(ctx, looks) })
	for range concurrentNotifications {
		working.Go(func() { s.notify(ctx, notifications) })
	}

	var planned plan
	alarm := time.NewTimer(0)
	defer alarm.Stop()
	for {
		// Ask for the time anew: the clock may be set, and time has passed since the steps were
		// read.
		step, wait, some := planned.next(s.clock.Now())
		var notify chan<- ports.DueStep // nil: nothing is due
		if some && wait <= 0 {
			notify = notifications
		} else if some {
			alarm.Reset(wait)
		}
		select {
		case <-ctx.Done():
			return
		case steps := <-looks:
			planned.renew(steps, s.clock.Now())
		case notify <- step:
			planned.passedOn(s.clock.Now())
		case <-alarm.C:
		}
	}
}

// look passes on what is due soon, periodically.
func (s *Scheduler) look(ctx context.Context, to chan<- []ports.DueStep) {
	tick := time.NewTicker(LookEvery)
	defer tick.Stop()
	failing := false
	for {
		steps, err := s.due(ctx)
		if ctx.Err() != nil {
			return
		}
		if failing = s.note(ctx, err, failing); !failing {
			s.looked()
			select {
			case <-ctx.Done():
				return
			case to <- steps:
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

func (s *Scheduler) due(ctx context.Context) ([]ports.DueStep, error) {
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	return s.storage.Read().Simulations.Due(ctx, s.clock.Now().Add(lookAhead), lookBatch)
}

// note logs when queries begin to fail and when they work again.
func (s *Scheduler) note(ctx context.Context, err error, failing bool) bool {
	switch {
	case err != nil && !failing:
		s.log.WarnContext(ctx, "simulations wait: due steps cannot be read", "error", err)
	case err == nil && failing:
		s.log.InfoContext(ctx, "simulations go on")
	}
	return err != nil
}

// notify notifies the queue of each due step.
func (s *Scheduler) notify(ctx context.Context, due <-chan ports.DueStep) {
	for {
		select {
		case <-ctx.Done():
			return
		case step := <-due:
			// A failed notification is lost, and sent again.
			if err := s.queue.Notify(ctx, ports.JobSimulation, stepID(step)); err != nil && ctx.Err() == nil {
				s.log.DebugContext(ctx, "notification failed", "step", stepID(step), "error", err)
			}
		}
	}
}

// plan holds the steps that were due soon at the last query, and no others. So its size is limited
// however long notifications have no effect.
type plan struct {
	waiting  []ports.DueStep             // to be notified, the earliest first
	notified map[ports.DueStep]time.Time // when its last notification began
}

// next returns the step of the next notification and the time until it is due.
func (p *plan) next(now time.Time) (step ports.DueStep, wait time.Duration, some bool) {
	if len(p.waiting) == 0 {
		return ports.DueStep{}, 0, false
	}
	return p.waiting[0], p.waiting[0].DueAt.Sub(now), true
}

// passedOn notes that the next step was passed to the queue.
func (p *plan) passedOn(now time.Time) {
	p.notified[p.waiting[0]] = now
	p.waiting = p.waiting[1:]
}

// renew replaces the plan by a new query. A step that was notified a moment ago is not notified
// again: its handler may be at work, or the query be older than the notification.
func (p *plan) renew(steps []ports.DueStep, now time.Time) {
	renewed := plan{notified: make(map[ports.DueStep]time.Time)}
	for _, step := range steps {
		if at, known := p.notified[step]; known && now.Sub(at).Abs() < notifyAgain {
			renewed.notified[step] = at
			continue
		}
		renewed.waiting = append(renewed.waiting, step)
	}
	*p = renewed
}
