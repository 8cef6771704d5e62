package server

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"
)

// Limits of a shutdown after the last new request: first for the requests in flight, then for
// tasks, then for the requests of operators.
const (
	drainTimeout = 25 * time.Second
	tasksTimeout = 28 * time.Second // the last uses of keys take up to recordTimeout
	endTimeout   = 30 * time.Second

	// finishTime limits how long requests may continue before Leaving cuts them short.
	finishTime = 5 * time.Second
)

// Process holds the servers and tasks of a process, which run until it is stopped.
type Process struct {
	Servers []Service // of customers' listeners
	Ops     operators
	At      net.Listener // of ops
	// Tasks run until the servers have shut down: a key may be revoked meanwhile, and its use
	// is to be recorded.
	Tasks []Task
	// Delay sets how long requests are still accepted after /readyz reports the shutdown, so that
	// load balancers notice before a connection is refused. The time limits begin after it.
	Delay time.Duration
	// Leaving cuts short the requests that are still in flight finishTime after the last new
	// one. It may be nil.
	Leaving func()
	Log     *slog.Logger
}

// operators is the listener of operators. It reports that the process is not ready while the
// others drain.
type operators interface {
	Serve(l net.Listener) error
	Drain()
	Shutdown(ctx context.Context) error
}

// Task runs until ctx ends. An earlier error ends the process, which would seem to be ready
// without it.
type Task func(ctx context.Context) error

// Service serves requests at a listener.
type Service struct {
	Name     string
	Listener net.Listener
	Serve    func(net.Listener) error
	Leave    func() // closes each connection with its next response from now on
	Shutdown func(context.Context) error
}

// Run serves until ctx ends, and for the delay after that, or until a listener or a task fails.
// Then it accepts no new requests and finishes those in flight. When it returns, everything it
// started has stopped, or the error says what took too long and was left running.
func (p *Process) Run(ctx context.Context) error {
	served := make(chan error, len(p.Servers)+1)
	var serving, working sync.WaitGroup
	for _, d := range append([]Service{{Name: "operations", Listener: p.At, Serve: p.Ops.Serve}}, p.Servers...) {
		p.Log.Info("serving", "listener", d.Name, "listening", d.Listener.Addr().String())
		serving.Go(func() {
			if err := d.Serve(d.Listener); !errors.Is(err, http.ErrServerClosed) {
				served <- err
			}
		})
	}
	background, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	failed := make(chan error, len(p.Tasks))
	for _, task := range p.Tasks {
		working.Go(func() {
			if err := task(background); err != nil {
				failed <- err
			}
		})
	}
	var failure error
	select {
	case <-ctx.Done():
		p.Log.Info("shutting down: finishing what is under way")
	case failure = <-served:
		p.Log.Error("a listener failed, shutting down", "error", failure)
	case failure = <-failed:
		p.Log.Error("a task failed, shutting down", "error", failure)
	}
	p.leave()
	if failure == nil {
		time.Sleep(p.Delay)
	}
	failure = errors.Join(failure, p.drain(context.WithoutCancel(ctx), func(ctx context.Context) error {
		stop()
		return await(ctx, &working)
	}))
	serving.Wait()
	p.Log.Info("shut down")
	return failure
}

// leave tells load balancers and clients to go elsewhere.
func (p *Process) leave() {
	p.Ops.Drain()
	for _, s := range p.Servers {
		s.Leave()
	}
}

// drain stops the servers, then the tasks. The operators' server is the last, so that it can
// report that the process is not ready while the others finish.
func (p *Process) drain(ctx context.Context, endTasks func(context.Context) error) error {
	begun := time.Now()
	within := func(limit time.Duration, end func(context.Context) error) error {
		ctx, cancel := context.WithDeadline(ctx, begun.Add(limit))
		defer cancel()
		return end(ctx)
	}
	failure := errors.Join(within(drainTimeout, p.shutServers), within(tasksTimeout, endTasks))
	if err := within(endTimeout, p.Ops.Shutdown); err != nil {
		// Not a failure: it may be a profile that takes minutes to record.
		p.Log.Info("operations request cut off", "error", err)
	}
	return failure
}

// shutServers accepts no new requests and waits for those in flight.
func (p *Process) shutServers(ctx context.Context) error {
	if p.Leaving != nil {
		defer time.AfterFunc(finishTime, p.Leaving).Stop()
	}
	failures := make([]error, len(p.Servers))
	var draining sync.WaitGroup
	for i, d := range p.Servers {
		draining.Go(func() { failures[i] = d.Shutdown(ctx) })
	}
	draining.Wait()
	return errors.Join(failures...)
}

// await waits for the tasks until ctx ends. Each step of a task is one transaction, and the
// next process does the rest.
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
