package backend

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	redisStartTimeout = 30 * time.Second
	redisStopTimeout  = 10 * time.Second

	// orphaned and every other end is abrupt: there is nothing to save, and a
	// paused server hears no other signal.
	redisOrphaned = syscall.SIGKILL
)

// Redis is one running Redis. URL, Port and Dir never change, also not across
// Kill and Restart. Its methods may be called from several goroutines.
type Redis struct {
	URL  string
	Port int
	Dir  string // the log in Dir/server.log

	binary string
	args   []string

	mu      sync.Mutex
	process *Process // nil while the server is down
	stopped bool
}

// StartRedis creates a new, empty Redis and returns once it answers. ctx bounds the
// start only. The caller must Stop it. The error wraps ErrNoRedis where
// the machine has no usable binary. Options are those of redis-server.
func StartRedis(ctx context.Context, options ...string) (*Redis, error) {
	return start(ctx, func(s *Redis) error {
		s.args = []string{
			"--port", fmt.Sprint(s.Port), "--bind", "127.0.0.1", "--dir", s.Dir,
			"--save", "", "--appendonly", "no", "--daemonize", "no",
		}
		s.args = append(s.args, options...)
		return nil
	})
}

// StartSentinel starts a Sentinel, which tells clients the address of the master
// by its name, and half a second after that has gone makes another one of a replica.
// It is a Redis too; its URL is the Sentinel's.
func StartSentinel(ctx context.Context, name string, master *Redis) (*Redis, error) {
	return start(ctx, func(s *Redis) error {
		file := filepath.Join(s.Dir, "sentinel.conf") // it has to be one: a Sentinel writes to it
		s.args = []string{file, "--sentinel"}
		return os.WriteFile(file, fmt.Appendf(nil, "port %d\nbind 127.0.0.1\ndir %s\nsentinel monitor %[3]s 127.0.0.1 %[4]d 1\n"+
			"sentinel down-after-milliseconds %[3]s 500\nsentinel failover-timeout %[3]s 5000\n", s.Port, s.Dir, name, master.Port), 0o600)
	})
}

func start(ctx context.Context, configure func(s *Redis) error) (_ *Redis, err error) {
	ctx, cancel := context.WithTimeout(ctx, redisStartTimeout)
	defer cancel()
	binary, err := FindRedis(ctx)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "waybill-redis-*")
	if err != nil {
		return nil, fmt.Errorf("make a directory for Redis: %w; point TMPDIR at a writable one", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(dir))
		}
	}()
	// Between finding a port free and Redis binding it, another process may
	// take it: try a few.
	for attempt := 1; ; attempt++ {
		port, err := FreePort()
		if err != nil {
			return nil, err
		}
		s := &Redis{URL: fmt.Sprintf("redis://127.0.0.1:%d/0", port), Port: port, Dir: dir, binary: binary}
		if err := configure(s); err != nil {
			return nil, err
		}
		err = s.launch(ctx)
		if err == nil {
			return s, nil
		}
		if attempt == 3 || ctx.Err() != nil {
			return nil, err
		}
	}
}

// Stop ends the server, breaking open connections, and removes its directory.
// Stopping twice does nothing.
func (s *Redis) Stop() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopped {
		return nil
	}
	s.stopped = true
	s.end()
	if err := os.RemoveAll(s.Dir); err != nil {
		return fmt.Errorf("remove the directory of the stopped Redis: %w; remove it by hand", err)
	}
	return nil
}

// Kill ends the server with SIGKILL, and all it held with it. It returns once
// the process is gone. Killing a server that is down does nothing.
func (s *Redis) Kill() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.end()
}

// Restart brings the server back on the same port, empty, killing it first
// where it still runs, and returns once it answers. ctx bounds the wait.
func (s *Redis) Restart(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopped {
		return errors.New("restart Redis: the server was stopped; start a new one with Start")
	}
	s.end()
	ctx, cancel := context.WithTimeout(ctx, redisStartTimeout)
	defer cancel()
	return s.launch(ctx)
}

// Pause stops the process where it is: connections stay open and new ones are
// accepted, and nothing is answered until Resume.
func (s *Redis) Pause() error { return s.signal(syscall.SIGSTOP) }

// Resume lets a paused server go on, with what it was sent meanwhile.
func (s *Redis) Resume() error { return s.signal(syscall.SIGCONT) }

func (s *Redis) signal(signal syscall.Signal) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.process == nil {
		return fmt.Errorf("send %v to Redis: the server is down", signal)
	}
	return s.process.Signal(signal)
}

// launch starts the process and waits until it answers. s.mu is held, or s is
// not shared yet.
func (s *Redis) launch(ctx context.Context) error {
	logFile, err := os.OpenFile(s.logFile(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("open the log of the test Redis: %w", err)
	}
	defer logFile.Close() // the process has its own copy

	cmd := exec.Command(s.binary, s.args...)
	cmd.Dir = s.Dir
	cmd.Stdout, cmd.Stderr = logFile, logFile
	started, err := StartProcess(cmd, nil, redisOrphaned)
	if err != nil {
		return fmt.Errorf("start %s: %w", cmd.Path, err)
	}
	if err := s.waitUntilReady(ctx, started); err != nil {
		started.End(syscall.SIGKILL, redisStopTimeout)
		return fmt.Errorf("start Redis on 127.0.0.1:%d: %w; its log ends with:\n%s", s.Port, err, LogTail(s.logFile()))
	}
	s.process = started
	return nil
}

func (s *Redis) waitUntilReady(ctx context.Context, p *Process) error {
	client := redis.NewClient(&redis.Options{
		Addr: fmt.Sprintf("127.0.0.1:%d", s.Port), MaxRetries: -1, DialTimeout: time.Second, ReadTimeout: time.Second,
	})
	defer func() { _ = client.Close() }()
	var last error
	for {
		if last = s.ping(ctx, client, p); last == nil {
			return nil
		}
		select {
		case <-p.Done():
			return fmt.Errorf("the process ended: %w", p.Err())
		case <-ctx.Done():
			return fmt.Errorf("%w; it last answered: %w", ctx.Err(), last)
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// ping reports whether the server on the port answers and is this one: another
// Redis may have taken the port.
func (s *Redis) ping(ctx context.Context, client *redis.Client, p *Process) error {
	info, err := client.Info(ctx, "server").Result()
	if err != nil {
		return err
	}
	if !strings.Contains(info, fmt.Sprintf("\nprocess_id:%d\r", p.PID())) {
		return fmt.Errorf("another Redis has port %d", s.Port)
	}
	return nil
}

// end kills the process and waits for it; s.mu is held.
func (s *Redis) end() {
	if s.process == nil {
		return
	}
	s.process.End(syscall.SIGKILL, redisStopTimeout)
	s.process = nil
}

func (s *Redis) logFile() string { return filepath.Join(s.Dir, "server.log") }
