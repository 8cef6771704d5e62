package main

import (
	"context"
	"log/slog"
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"waybill/adapters/cli/term"
	"waybill/adapters/periodic"
	"waybill/adapters/telemetry"
	"waybill/application/bulk"
	"waybill/application/people"
	"waybill/application/sandbox"
	"waybill/application/webhooks/dispatch"
	"waybill/ports"
)

// backgroundJobs runs the background jobs of a process.
type backgroundJobs struct {
	queue     ports.Queue
	scheduler *sandbox.Scheduler
	simulator *sandbox.Simulator
	sweeper   *dispatch.Sweeper
	drainer   *dispatch.Drainer
	mails     *people.MailSender
	moves     *bulk.Moves
	jobs      *periodic.Jobs
}

// run works until ctx ends, and finishes jobs that have begun. An error means that this process
// runs no background jobs.
func (e *backgroundJobs) run(ctx context.Context) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var looking sync.WaitGroup
	e.scheduler.OnLook(e.jobs.Watch("due_steps", sandbox.LookEvery))
	e.sweeper.OnLook(e.jobs.Watch("due_webhooks", dispatch.LookEvery))
	looking.Go(func() { e.scheduler.Run(ctx) })
	looking.Go(func() { e.sweeper.Run(ctx) })
	looking.Go(func() { e.jobs.Run(ctx, periodic.Check("webhook_leases", e.drainer.RenewalsFailed)) })
	looking.Go(func() {
		e.jobs.Run(ctx, periodic.Mails(e.mails))
		e.mails.Wait()
	})
	looking.Go(func() { e.jobs.Run(ctx, periodic.Warnings(e.mails)) })
	looking.Go(func() { e.jobs.Run(ctx, periodic.Moves(e.moves)) })
	looking.Go(func() { e.drainer.Run(ctx) }) // closed at the end, while the queue lets its handlers end
	handlers := e.drainer.Handlers()
	handlers[ports.JobSimulation] = e.simulator.Handle
	err := e.queue.Run(ctx, handlers)
	stop()
	looking.Wait()
	if err != nil {
		return &term.StartError{What: "what becomes due cannot be done here", Err: err, UsedFor: "webhooks and the steps of sandbox simulations"}
	}
	return nil
}

func newLateness(r prometheus.Registerer) sandbox.Lateness { return telemetry.NewStepLateness(r) }

// newNotifier returns a notifier that tells the queue about commits of this process.
func newNotifier(open []ports.Database, q ports.Queue, news ports.FanoutNews, log *slog.Logger) *dispatch.Notifier {
	w := dispatch.NewNotifier(q, news, log)
	for _, store := range open {
		store.OnFanout(w.Notify)
	}
	return w
}

// newWebhookObserver returns an observer that counts the webhook attempts.
func newWebhookObserver(r prometheus.Registerer) dispatch.Observer {
	return dispatch.Observer(telemetry.NewWebhookAttempts(r))
}
