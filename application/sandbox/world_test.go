package sandbox_test

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"waybill/application/sandbox"
	"waybill/domain"
	"waybill/ports"
	"waybill/test/stage"
)

// world surrounds a scheduler: a storage with due steps and a queue for notifications. It runs in a
// bubble, so that times are exact.
type world struct {
	ports.Storage
	logged stage.Log
	clock  ports.Clock
	began  time.Time
	// look wraps every query, and answer every notification; nil: they succeed.
	look   func(ctx context.Context) error
	answer func(ctx context.Context, id string) error

	mu            sync.Mutex
	steps         []ports.DueStep
	notifications []notified
	notifying     int // running now
	most          int // maximum at a time
}

type notified struct {
	id string
	at time.Duration // since the start
}

// inWorld tests a running scheduler, which has ended when it returns.
func inWorld(t *testing.T, play func(t *testing.T, w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := &world{clock: wall{}, began: time.Now()}
		play(t, w)
	})
}

// run starts a scheduler; stop ends it and waits for that.
func (w *world) run(t *testing.T) (stop func()) {
	log := slog.New(slog.NewTextHandler(&w.logged, &slog.HandlerOptions{Level: slog.LevelInfo}))
	scheduler := sandbox.NewScheduler(w, w, w.clock, log)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		scheduler.Run(ctx)
	}()
	return func() {
		cancel()
		asked := time.Now()
		<-ended
		if took := time.Since(asked); took != 0 {
			t.Errorf("it took %v to end", took)
		}
	}
}

func (w *world) Read() ports.Readers { return ports.Readers{Simulations: reader{world: w}} }

func (w *world) Run(context.Context, map[ports.JobKind]ports.Handler) error {
	panic("not for a scheduler")
}

func (w *world) Notify(ctx context.Context, kind ports.JobKind, id string) error {
	w.mu.Lock()
	if kind != ports.JobSimulation {
		panic(kind)
	}
	w.notifications = append(w.notifications, notified{id, time.Since(w.began)})
	w.notifying++
	w.most = max(w.most, w.notifying)
	w.mu.Unlock()
	defer func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.notifying--
	}()
	if w.answer != nil {
		return w.answer(ctx, id)
	}
	w.done(id)
	return nil
}

// add makes steps due at times since the start, numbered from 0 on.
func (w *world) add(due ...time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, d := range due {
		w.steps = append(w.steps, ports.DueStep{Delivery: domain.ID(fmt.Sprintf("dlv_%05d", len(w.steps))), DueAt: domain.Millis(w.began.Add(d))})
	}
	slices.SortStableFunc(w.steps, func(a, b ports.DueStep) int { return a.DueAt.Compare(b.DueAt) })
}

// done removes a step, as its handler or a stop does.
func (w *world) done(id string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.steps = slices.DeleteFunc(w.steps, func(s ports.DueStep) bool { return nameOf(s) == id })
}

// heard returns every notification so far, in the order of the IDs.
func (w *world) heard() []notified {
	w.mu.Lock()
	defer w.mu.Unlock()
	notifications := slices.Clone(w.notifications)
	slices.SortFunc(notifications, func(a, b notified) int { return cmp.Or(strings.Compare(a.id, b.id), cmp.Compare(a.at, b.at)) })
	return notifications
}

// mostAtOnce returns the maximum of concurrent notifications.
func (w *world) mostAtOnce() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.most
}

type reader struct {
	ports.SimulationReader
	world *world
}

func (r reader) Due(ctx context.Context, by time.Time, limit int) ([]ports.DueStep, error) {
	if r.world.look != nil {
		if err := r.world.look(ctx); err != nil {
			return nil, err
		}
	}
	r.world.mu.Lock()
	defer r.world.mu.Unlock()
	n := 0
	for n < len(r.world.steps) && n < limit && !r.world.steps[n].DueAt.After(by) {
		n++
	}
	return slices.Clone(r.world.steps[:n]), nil
}

func nameOf(s ports.DueStep) string { return stepID(s.Delivery, s.Done) }

func name(i int) string { return stepID(domain.ID(fmt.Sprintf("dlv_%05d", i)), 0) }

// shifted is a clock that is set while it runs.
type shifted struct {
	mu sync.Mutex
	by time.Duration
}

func (s *shifted) Now() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return domain.Millis(time.Now().Add(s.by))
}

func (s *shifted) set(by time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.by = by
}
