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

// How long a process may go on once it takes no new request: first the requests
// that are under way, then the work of tasks, then what operators ask.
const (
	drainTimeout = 25 * time.Second
	tasksTimeout = 28 * time.Second // the last uses of keys take up to recordTimeout
	endTimeout   = 30 * time.Second

	// finishTime is how long long requests may go on before Leaving cuts them short.
	finishTime = 5 * time.Second
)

// Process is the servers and tasks of a process, which run until it is told to
// stop.
type Process struct {
	Servers []Service // of customers' listeners
	Ops     operators
	At      net.Listener // of ops
	// Tasks run beside the servers, and until these have shut down: a key may be
	// revoked meanwhile, and its use is to be recorded.
	Tasks []Task
	// Delay is how long requests are still taken once /readyz tells that the process ends, so
	// that balancers notice before a connection is refused. The time to end begins after it.
	Delay time.Duration
	// Leaving cuts requests short that are still under way finishTime after no new ones
	// are taken; nil: nothing does.
	Leaving func()
	Log     *slog.Logger
}

// operators is the listener of operators: it tells that the process is not
// ready while the others drain.
type operators interface {
	Serve(l net.Listener) error
	Drain()
	Shutdown(ctx context.Context) error
}

// Task runs until ctx ends. An error before that ends the process, which would
// seem to be ready without it.
type Task func(ctx context.Context) error

// Service answers at a listener.
type Service struct {
	Name     string
	Listener net.Listener
	Serve    func(net.Listener) error
	Leave    func() // closes each connection with its next answer from now on
	Shutdown func(context.Context) error
}

// Run serves until ctx ends, and for the delay after that, or until a listener or a task
// fails. Then no new request is taken, and what is under way is finished: everything this started has stopped when
// it returns, or the error tells what took too long and was left behind.
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

// leave tells balancers and clients to go elsewhere.
func (p *Process) leave() {
	p.Ops.Drain()
	for _, s := range p.Servers {
		s.Leave()
	}
}

// drain stops the servers, then the tasks. The operators' server is the last, so
// that it can tell that the process is not ready while the others finish.
func (p *Process) drain(ctx context.Context, endTasks func(context.Context) error) error {
	begun := time.Now()
	within := func(limit time.Duration, end func(context.Context) error) error {
		ctx, cancel := context.WithDeadline(ctx, begun.Add(limit))
		defer cancel()
		return end(ctx)
	}
	failure := errors.Join(within(drainTimeout, p.shutServers), within(tasksTimeout, endTasks))
	if err := within(endTimeout, p.Ops.Shutdown); err != nil {
		// No failure: it may be a profile that takes minutes to record.
		p.Log.Info("operations request cut off", "error", err)
	}
	return failure
}

// shutServers takes no new request and waits for those under way.
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
