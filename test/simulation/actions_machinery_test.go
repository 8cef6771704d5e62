package simulation

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// bring takes a notification to a handler.
func (w *world) bring() bool {
	if len(w.notified) == 0 {
		return false
	}
	i := w.rng.IntN(len(w.notified))
	step := w.notified[i]
	w.notified = slices.Delete(w.notified, i, i+1)
	w.handle(w.anywhere(), step)
	return true
}

// bringOld notifies the queue of a step that was notified before.
func (w *world) bringOld() bool {
	if len(w.steps) == 0 {
		return false
	}
	w.handle(w.anywhere(), pick(w.rng, w.steps...))
	return true
}

// bringEarly notifies the queue of a step that is not due yet.
func (w *world) bringEarly() bool {
	c := w.sandboxed()
	p := w.runningParcel(c)
	if p == nil {
		return false
	}
	w.handle(w.anywhere(), fmt.Sprintf("%s/%d", p.id, p.view.Simulation.Step))
	return true
}

// handle begins the handler of a notification.
func (w *world) handle(p *process, step string) {
	if !slices.Contains(w.steps, step) {
		w.steps = append(w.steps, step)
	}
	t := w.newTask(p, nil)
	w.begin(t, "step "+step, func(ctx context.Context) {
		ctx, cancel := context.WithTimeout(ctx, time.Minute)
		defer cancel()
		p.simulator.Handle(ctx, step)
	})
}

// schedule lets a scheduler run for a while.
func (w *world) schedule() bool {
	p := w.anywhere()
	t := w.newTask(p, nil)
	// Never together with one of its looks.
	span := time.Duration(1+w.rng.IntN(8))*400*time.Millisecond + 101*time.Millisecond + 137
	w.begin(t, "scheduler", func(ctx context.Context) {
		ctx, cancel := context.WithTimeout(ctx, span)
		defer cancel()
		p.scheduler.Run(ctx)
	})
	return true
}

// sleep lets time pass, whatever is under way.
func (w *world) sleep(d time.Duration) {
	w.say("%s pass", d)
	for end := time.Now().Add(d); time.Now().Before(end); {
		w.idle(time.Until(end))
		w.tend()
	}
}

func (w *world) wait() bool {
	d := time.Duration(1 + w.rng.IntN(30_000_000_000))
	if w.jumpy && w.rng.IntN(3) == 0 {
		d = time.Duration(1+w.rng.IntN(60)) * time.Hour
	}
	w.sleep(d)
	return true
}

// setClock sets the clock of a process a little back or ahead.
func (w *world) setClock() bool {
	p := w.anywhere()
	by := time.Duration(w.rng.IntN(6000)-3000) * time.Millisecond
	p.skew.Store(int64(by))
	w.skewed = true
	w.say("p%d's clock is %s off", p.n, by)
	return true
}

func (w *world) purge() bool {
	if w.x.busy() {
		return false
	}
	removed, _, err := w.store.PurgeExpired(context.Background(), 1000)
	if err != nil {
		w.breach("purge: %v", err)
	}
	w.say("%d records purged", removed)
	return true
}

// restart lets a process end what it has begun, with another in its place; or
// takes its memory away while nothing is under way.
func (w *world) restart() bool {
	i := w.rng.IntN(len(w.procs))
	for _, t := range w.open { // rather one that is at work on a bulk
		if at := slices.Index(w.procs, t.p); at >= 0 && t.noted("claimed") {
			i = at
		}
	}
	p := w.procs[i]
	if w.rng.IntN(2) == 0 {
		p.dead.Store(true)
		w.say("p%d is killed", p.n)
		return true
	}
	w.say("p%d stops", p.n)
	p.bulk.Stop()
	w.retired = append(w.retired, p)
	w.procs[i] = w.newProcess(p.n)
	return true
}
