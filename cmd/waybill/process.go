package main

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"waybill/adapters/opsapi"
)

// How long after it was told to stop a process may go on: first the requests
// that are under way, then the work of tasks, then what operators ask.
const (
	drainTimeout = 25 * time.Second
	tasksTimeout = 28 * time.Second // the last uses of keys take up to recordTimeout
	endTimeout   = 30 * time.Second
)

// process is what runs until it is told to stop.
type process struct {
	doors []door // for customers
	ops   *opsapi.API
	at    net.Listener // of ops
	// tasks run beside the doors and until these are closed: a key may be
	// revoked meanwhile, and its use is to be recorded.
	tasks []task
	// leaving is called when no new request is taken any more; nil: nothing.
	leaving func()
	log     *slog.Logger
}

// task runs until ctx ends. An error before that ends the process, which would
// seem to be ready without it.
type task func(ctx context.Context) error

// door is a listener and what answers there.
type door struct {
	name     string
	listener net.Listener
	serve    func(net.Listener) error
	shutdown func(context.Context) error
}

// run serves until ctx ends, or a listener or a task fails. Then no new request is taken,
// and what is under way is finished: everything this started has stopped when
// it returns, or the error tells what took too long and was left behind.
func (p *process) run(ctx context.Context) error {
	served := make(chan error, len(p.doors)+1)
	var serving, working sync.WaitGroup
	for _, d := range append([]door{{name: "operations", listener: p.at, serve: p.ops.Serve}}, p.doors...) {
		p.log.Info("serving", "listener", d.name, "listening", d.listener.Addr().String())
		serving.Go(func() {
			if err := d.serve(d.listener); !errors.Is(err, http.ErrServerClosed) {
				served <- err
			}
		})
	}
	background, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	failed := make(chan error, len(p.tasks))
	for _, task := range p.tasks {
		working.Go(func() {
			if err := task(background); err != nil {
				failed <- err
			}
		})
	}
	var failure error
	select {
	case <-ctx.Done():
		p.log.Info("shutting down: finishing what is under way")
	case failure = <-served:
		p.log.Error("a listener failed, shutting down", "error", failure)
	case failure = <-failed:
		p.log.Error("a task failed, shutting down", "error", failure)
	}
	failure = errors.Join(failure, p.drain(context.WithoutCancel(ctx), func(ctx context.Context) error {
		stop()
		return await(ctx, &working)
	}))
	serving.Wait()
	p.log.Info("shut down")
	return failure
}

// drain stops the doors, then the tasks. The operators' door is the last, so
// that it can tell that the process is not ready while the others finish.
func (p *process) drain(ctx context.Context, endTasks func(context.Context) error) error {
	begun := time.Now()
	within := func(limit time.Duration, end func(context.Context) error) error {
		ctx, cancel := context.WithDeadline(ctx, begun.Add(limit))
		defer cancel()
		return end(ctx)
	}
	p.ops.Drain()
	if p.leaving != nil {
		p.leaving()
	}
	failure := errors.Join(within(drainTimeout, p.shutDoors), within(tasksTimeout, endTasks))
	if err := within(endTimeout, p.ops.Shutdown); err != nil {
		// A profile that is being recorded; nobody waits for it.
		p.log.Info("operations request cut off", "error", err)
	}
	return failure
}

// shutDoors takes no new request and waits for those under way.
func (p *process) shutDoors(ctx context.Context) error {
	failures := make([]error, len(p.doors))
	var draining sync.WaitGroup
	for i, d := range p.doors {
		draining.Go(func() { failures[i] = d.shutdown(ctx) })
	}
	draining.Wait()
	return errors.Join(failures...)
}

// await waits for the tasks, but no longer than until ctx ends: each step that
// a task does is one transaction, and the next process does what is not done.
func await(ctx context.Context, tasks *sync.WaitGroup) error {
	ended := make(chan struct{})
	go func() { tasks.Wait(); close(ended) }()
	select {
	case <-ended:
		return nil
	case <-ctx.Done():
		return errors.New("what was begun did not end in time and was left behind")
	}
}
