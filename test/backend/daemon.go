package backend

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"
)

// stopTimeout is how long a server may take to end.
const stopTimeout = 30 * time.Second

// daemon is a server with a port and a directory of its own, which never change, also not
// across a kill and a Restart. Its methods may be called from several goroutines.
type daemon struct {
	Port int
	Dir  string // data, and the log in Dir/server.log

	name     string         // for errors
	owner    *User          // that it runs as; nil: this one
	killed   syscall.Signal // ends it before a Restart, and where this process is gone
	farewell syscall.Signal // ends it for good
	limit    time.Duration  // for a start
	command  func() *exec.Cmd
	// ping reports whether the server on the port answers and is this one: another one may
	// have taken the port.
	ping func(ctx context.Context, p *Process) error

	mu      sync.Mutex
	process *Process // nil while the server is down
	stopped bool
}

// startOnFreePort configures the server for a free port, starts it and returns once it answers.
// After an error its directory is gone. ctx bounds the start only.
func (d *daemon) startOnFreePort(ctx context.Context, configure func() error) (err error) {
	ctx, cancel := context.WithTimeout(ctx, d.limit)
	defer cancel()
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(d.Dir))
		}
	}()
	// Between finding a port free and the server binding it, another process may
	// take it: try a few.
	for attempt := 1; ; attempt++ {
		if d.Port, err = FreePort(); err != nil {
			return err
		}
		if err := configure(); err != nil {
			return fmt.Errorf("configure the test %s: %w", d.name, err)
		}
		if err = d.launch(ctx); err == nil || attempt == 3 || ctx.Err() != nil {
			return err
		}
	}
}

// Stop ends the server, breaking open connections, and removes its directory.
// Stopping twice does nothing.
func (d *daemon) Stop() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.stopped {
		return nil
	}
	d.stopped = true
	err := d.end(d.farewell)
	if removeErr := os.RemoveAll(d.Dir); removeErr != nil {
		err = errors.Join(err, fmt.Errorf("remove the directory of the stopped %s: %w; remove it by hand", d.name, removeErr))
	}
	return err
}

// Restart brings the server back on the same port with what is in its directory, killing it
// first where it still runs, and returns once it answers. ctx bounds the wait.
func (d *daemon) Restart(ctx context.Context) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.stopped {
		return fmt.Errorf("restart %s: it was stopped and its directory removed; start a new one", d.name)
	}
	if err := d.end(d.killed); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, d.limit)
	defer cancel()
	return d.launch(ctx)
}

// endBy sends a signal and returns once the process is gone. A server that is down stays so.
func (d *daemon) endBy(s syscall.Signal) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.end(s)
}

// PID is the number of its process; 0: it is down.
func (d *daemon) PID() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.process == nil {
		return 0
	}
	return d.process.PID()
}

// signal sends one to the process, which goes on or stays.
func (d *daemon) signal(s syscall.Signal) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.process == nil {
		return fmt.Errorf("send %v to %s: the server is down", s, d.name)
	}
	return d.process.Signal(s)
}

// launch starts the process and waits until it answers. d.mu is held, or d is
// not shared yet.
func (d *daemon) launch(ctx context.Context) error {
	logFile, err := os.OpenFile(d.logFile(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("open the log of the test %s: %w", d.name, err)
	}
	defer logFile.Close() // the process has its own copy

	cmd := d.command()
	cmd.Dir = d.Dir
	cmd.Stdout, cmd.Stderr = logFile, logFile
	started, err := StartProcess(cmd, d.owner, d.killed)
	if err != nil {
		return fmt.Errorf("start %s: %w", cmd.Path, err)
	}
	if err := d.waitUntilReady(ctx, started); err != nil {
		started.End(d.killed, stopTimeout)
		return fmt.Errorf("start %s on 127.0.0.1:%d: %w; its log ends with:\n%s", d.name, d.Port, err, LogTail(d.logFile()))
	}
	d.process = started
	return nil
}

func (d *daemon) waitUntilReady(ctx context.Context, p *Process) error {
	for {
		last := d.pingSoon(ctx, p)
		if last == nil {
			return nil
		}
		select {
		case <-p.Done():
			return fmt.Errorf("the process ended: %w", p.Err())
		case <-ctx.Done():
			return fmt.Errorf("%w; it last answered: %w", ctx.Err(), last)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func (d *daemon) pingSoon(ctx context.Context, p *Process) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	return d.ping(ctx, p)
}

// end sends the signal and waits for the process; d.mu is held.
func (d *daemon) end(s syscall.Signal) error {
	if d.process == nil {
		return nil
	}
	killed := d.process.End(s, stopTimeout)
	d.process = nil
	if killed {
		return fmt.Errorf("%s on 127.0.0.1:%d ignored %v for %v and was killed; see whether the machine is overloaded", d.name, d.Port, s,
			stopTimeout)
	}
	return nil
}

func (d *daemon) logFile() string { return filepath.Join(d.Dir, "server.log") }

// forTest is a server that ends with the test. Where it is missing on this machine the test is
// skipped; with CI=true it fails.
func forTest[S interface{ Stop() error }](t testing.TB, s S, err, missing error) S {
	t.Helper()
	if errors.Is(err, missing) && !inCI() {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Stop(); err != nil {
			t.Error(err)
		}
	})
	return s
}
