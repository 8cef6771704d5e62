package main

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"waybill/adapters/opsapi"
	"waybill/adapters/periodic"
	"waybill/adapters/web/server"
)

// diary records what happened to a process, in order.
type diary struct {
	mu    sync.Mutex
	lines []string
}

func (d *diary) note(line string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.lines = append(d.lines, line)
}

func (d *diary) all() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.lines)
}

// silence is a listener without calls.
type silence struct {
	closed  chan struct{}
	closing func()
}

func newSilence(closing func()) *silence {
	s := &silence{closed: make(chan struct{})}
	s.closing = sync.OnceFunc(func() { closing(); close(s.closed) })
	return s
}

func (s *silence) Accept() (net.Conn, error) { <-s.closed; return nil, net.ErrClosed }
func (s *silence) Close() error              { s.closing(); return nil }
func (s *silence) Addr() net.Addr            { return &net.TCPAddr{} }

// rehearsal is a process whose servers and tasks do what the test says.
type rehearsal struct {
	*server.Process
	diary diary
	fails chan error // ends the serving of the first server
}

func rehearse(serverTakes ...time.Duration) *rehearsal {
	r := &rehearsal{fails: make(chan error, 1)}
	log := slog.New(slog.DiscardHandler)
	r.Process = &server.Process{
		Ops: opsapi.New(opsapi.Options{Metrics: prometheus.NewRegistry(), Log: log}), Log: log,
		At:      newSilence(func() { r.diary.note("operations closed") }),
		Leaving: func() { r.diary.note("leaving while " + r.readiness()) },
	}
	for i, takes := range serverTakes {
		shut := make(chan struct{})
		fails := r.fails
		if i > 0 {
			fails = nil
		}
		r.Servers = append(r.Servers, server.Service{
			Name: "server", Listener: newSilence(func() {}),
			Serve: func(net.Listener) error {
				select {
				case err := <-fails:
					return err
				case <-shut:
					return http.ErrServerClosed
				}
			},
			Leave: func() { r.diary.note("server leaves while " + r.readiness()) },
			Shutdown: func(ctx context.Context) error {
				r.diary.note("server shuts while " + r.readiness())
				defer func() { r.diary.note("server shut"); close(shut) }()
				if !slept(ctx, takes) {
					return ctx.Err()
				}
				return nil
			},
		})
	}
	return r
}

// readiness returns what a load balancer sees.
func (r *rehearsal) readiness() string {
	answer := httptest.NewRecorder()
	r.Ops.(*opsapi.API).Handler().ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/readyz", nil))
	if answer.Code == http.StatusOK {
		return "ready"
	}
	return "not ready"
}

// task runs until it is stopped and takes its time to end.
func (r *rehearsal) task(takes time.Duration) server.Task {
	return func(ctx context.Context) error {
		r.diary.note("task begins")
		<-ctx.Done()
		r.diary.note("task stopped while " + r.readiness())
		time.Sleep(takes)
		r.diary.note("task ended")
		return nil
	}
}

func TestAProcessClosesItsListenersThenItsTasksAndTheOperatorsLast(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		r := rehearse(3 * time.Second)
		r.Delay = time.Second
		r.Tasks = append(r.Tasks, r.task(2*time.Second))
		ended := make(chan error, 1)
		go func() { ended <- r.Run(ctx) }()
		synctest.Wait()
		if got := r.readiness(); got != "ready" {
			t.Errorf("it is %s while it serves", got)
		}
		time.Sleep(time.Hour)
		begun := time.Now()
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if took := time.Since(begun); took != 6*time.Second {
			t.Errorf("it took %s", took)
		}
		want := []string{
			"task begins", "server leaves while not ready", "server shuts while not ready", "server shut",
			"task stopped while not ready", "task ended", "operations closed",
		}
		if got := r.diary.all(); !slices.Equal(got, want) {
			t.Errorf("%s", strings.Join(got, "\n"))
		}
	})
}

// Requests that take longer than that are cut short: a bulk answers that it goes on when it is
// sent again.
func TestRequestsUnderWayMayGoOnForFiveSecondsOnceNoNewOnesAreTaken(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		r := rehearse(time.Hour)
		r.Delay = 2 * time.Second
		var shut, left time.Time
		shuts, leaves := r.Servers[0].Shutdown, r.Leaving
		cut := make(chan struct{})
		r.Leaving = func() { left = time.Now(); leaves(); close(cut) }
		r.Servers[0].Shutdown = func(ctx context.Context) error {
			shut = time.Now()
			ended, end := context.WithCancel(ctx)
			go func() { <-cut; end() }()
			_ = shuts(ended)
			return nil
		}
		begun := time.Now()
		stop()
		if err := r.Run(ctx); err != nil {
			t.Error(err)
		}
		if shut.Sub(begun) != r.Delay || left.Sub(shut) != 5*time.Second || time.Since(left) != 0 {
			t.Errorf("no new requests after %s, long ones cut short %s later, the end %s after that", shut.Sub(begun), left.Sub(shut),
				time.Since(left))
		}
	})
}

func TestAListenerOrATaskThatFailsEndsTheWholeProcess(t *testing.T) {
	t.Parallel()
	broken := errors.New("the network is gone")
	for name, breaks := range map[string]func(*rehearsal){
		"a server":   func(r *rehearsal) { r.fails <- broken },
		"operations": func(r *rehearsal) { r.At = brokenListener{r.At, broken} },
		"a task":     func(r *rehearsal) { r.Tasks = append(r.Tasks, func(context.Context) error { return broken }) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := rehearse(time.Second, time.Second)
				r.Tasks = append(r.Tasks, r.task(0))
				breaks(r)
				if err := r.Run(t.Context()); !errors.Is(err, broken) {
					t.Errorf("it ended with %v", err)
				}
				got := r.diary.all()
				for _, line := range []string{"server shut", "task ended"} {
					if !slices.Contains(got, line) {
						t.Errorf("%q is missing:\n%s", line, strings.Join(got, "\n"))
					}
				}
			})
		})
	}
}

type brokenListener struct {
	net.Listener
	err error
}

func (b brokenListener) Accept() (net.Conn, error) { return nil, b.err }

// Half a minute is what a machine gives a process that it stops.
func TestAProcessEndsWithinHalfAMinuteWhateverHangs(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		server, task time.Duration
		taskEnds     bool
		took         time.Duration
	}{
		"a request":                         {time.Hour, 0, true, 25 * time.Second},
		"a task":                            {0, time.Hour, false, 28 * time.Second},
		"both":                              {time.Hour, time.Hour, false, 28 * time.Second},
		"a request, and a task that writes": {time.Hour, periodic.RecordTimeout, true, 27 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx, stop := context.WithCancel(t.Context())
				r := rehearse(c.server)
				r.Delay = 2 * time.Second // which comes on top
				r.Tasks = append(r.Tasks, r.task(c.task))
				begun := time.Now()
				stop()
				err := r.Run(ctx)
				if took := time.Since(begun); took != r.Delay+c.took || err == nil {
					t.Errorf("it ended with %v after %s", err, took)
				}
				if got := r.diary.all(); slices.Contains(got, "task ended") != c.taskEnds || got[len(got)-1] != "operations closed" {
					t.Errorf("%s", strings.Join(got, "\n"))
				}
				time.Sleep(2 * time.Hour) // what hung
			})
		})
	}
}

// slept waits. It reports false if ctx ended first.
func slept(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}
