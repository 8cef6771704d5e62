package main

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"waybill/adapters/cli/term"
	"waybill/application/sandbox"
	"waybill/application/webhooks"
	"waybill/ports"
)

// engine is the part of a process that does what is due, without a request.
type engine struct {
	queue     ports.Queue
	scheduler *sandbox.Scheduler
	simulator *sandbox.Simulator
	sweeper   *webhooks.Sweeper
	drainer   *webhooks.Drainer
	jobs      *jobs
}

// run works until ctx ends; what has begun by then is finished when it returns.
// An error means that this process does nothing of what is due.
func (e *engine) run(ctx context.Context) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var looking sync.WaitGroup
	e.scheduler.OnLook(e.jobs.watch("due_steps", sandbox.LookEvery))
	e.sweeper.OnLook(e.jobs.watch("due_webhooks", webhooks.LookEvery))
	looking.Go(func() { e.scheduler.Run(ctx) })
	looking.Go(func() { e.sweeper.Run(ctx) })
	looking.Go(func() { e.jobs.run(ctx, check("webhook_leases", e.drainer.RenewalsFailed)) })
	looking.Go(func() {
		<-ctx.Done()
		e.drainer.Close() // while the queue lets its handlers end
	})
	handlers := e.drainer.Handlers()
	handlers[ports.LaneSimulation] = e.simulator.Handle
	err := e.queue.Run(ctx, handlers)
	stop()
	looking.Wait()
	if err != nil {
		return &term.StartError{What: "what becomes due cannot be done here", Err: err, UsedFor: "webhooks and the steps of sandbox simulations"}
	}
	return nil
}

// newLateness measures how late the steps of simulations are.
func newLateness(r prometheus.Registerer) sandbox.Lateness {
	lateness := prometheus.NewHistogram(prometheus.HistogramOpts{
		Name: "waybill_simulation_lateness_seconds", Help: "Time from when a step of a simulation was due to when it happened.",
		Buckets: []float64{.005, .01, .025, .05, .1, .15, .25, .5, 1, 2.5, 5, 10, 60},
	})
	r.MustRegister(lateness)
	return func(d time.Duration) { lateness.Observe(d.Seconds()) }
}

// countTimeout bounds what a scrape may ask the database.
const countTimeout = time.Second

// registerSimulations shows how many simulations run, in all processes together.
func registerSimulations(s ports.Storage, r prometheus.Registerer, log *slog.Logger) {
	r.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "waybill_simulations_running", Help: "Simulations that run, over all processes.",
	}, func() float64 {
		ctx, cancel := context.WithTimeout(context.Background(), countTimeout)
		defer cancel()
		n, err := s.Read().Simulations.Running(ctx)
		if err != nil {
			log.Debug("running simulations not counted", "error", err)
			return -1
		}
		return float64(n)
	}))
}
