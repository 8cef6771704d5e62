package main

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"waybill/application/sandbox"
	"waybill/ports"
)

// engine is the part of a process that does what is due, without a request.
type engine struct {
	queue     ports.Queue
	scheduler *sandbox.Scheduler
	simulator *sandbox.Simulator
	log       *slog.Logger
}

// run works until ctx ends; what has begun by then is finished when it returns.
func (e *engine) run(ctx context.Context) {
	var working sync.WaitGroup
	working.Go(func() { e.scheduler.Run(ctx) })
	working.Go(func() {
		err := e.queue.Run(ctx, map[ports.Lane]ports.Handler{ports.LaneSimulation: e.simulator.Handle})
		if err != nil {
			e.log.Error("the queue failed: nothing that is due is done by this process", "error", err)
		}
	})
	working.Wait()
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
