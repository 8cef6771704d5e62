package backend

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
)

const (
	startTimeout = 60 * time.Second
	stopTimeout  = 30 * time.Second

	// orphaned is Postgres's immediate shutdown.
	orphaned = syscall.SIGQUIT
)

// Postgres is one running Postgres. URL, Port and Dir never change, also not
// across Kill and Restart. Its methods may be called from several goroutines.
type Postgres struct {
	URL  string // the database "postgres", as superuser
	Port int
	Dir  string // data, and the log in Dir/server.log

	binaries PostgresBinaries
	owner    *User
	settings []string

	mu      sync.Mutex
	process *Process // nil while the server is down
	stopped bool
}

// StartPostgres creates a new, empty Postgres and returns once it answers. ctx bounds
// the start only. The caller must Stop it. The error wraps ErrNoPostgres
// where the machine has no usable binaries. Settings are of the kind name=value.
func StartPostgres(ctx context.Context, settings ...string) (_ *Postgres, err error) {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()

	binaries, err := FindPostgres(ctx)
	if err != nil {
		return nil, err
	}
	own, err := NotRoot()
	if err != nil {
		return nil, err
	}
	dir, err := MakeDir("postgres", own)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(dir))
		}
	}()
	if err := initdb(ctx, binaries, own, dir); err != nil {
		return nil, err
	}

	// Between finding a port free and Postgres binding it, another process may
	// take it: try a few.
	for attempt := 1; ; attempt++ {
		port, err := FreePort()
		if err != nil {
			return nil, err
		}
		s := &Postgres{
			URL:      fmt.Sprintf("postgres://postgres@127.0.0.1:%d/postgres?sslmode=disable", port),
			Port:     port,
			Dir:      dir,
			binaries: binaries,
			owner:    own,
			settings: settings,
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

// Stop shuts the server down, breaking open connections, and removes its
// directory. Stopping twice does nothing.
func (s *Postgres) Stop() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopped {
		return nil
	}
	s.stopped = true
	// SIGINT is Postgres's "fast" mode: it waits for no client.
	err := s.end(syscall.SIGINT)
	if removeErr := os.RemoveAll(s.Dir); removeErr != nil {
		err = errors.Join(err, fmt.Errorf("remove the directory of the stopped Postgres: %w; remove it by hand", removeErr))
	}
	return err
}

// Kill ends the server as `pg_ctl stop -m immediate` does: no checkpoint, no
// farewell to clients, recovery from the log at the next Restart. It returns
// once the process is gone. Killing a server that is down does nothing.
func (s *Postgres) Kill() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.end(syscall.SIGQUIT)
}

// Crash ends the server as `kill -9` does, of its first process: the others notice it
// and go. It returns once the first one is gone.
func (s *Postgres) Crash() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.end(syscall.SIGKILL)
}

// Restart brings the server back on the same port with the same data, killing
// it first where it still runs, and returns once it answers. ctx bounds the
// wait.
func (s *Postgres) Restart(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopped {
		return errors.New("restart Postgres: the server was stopped and its data removed; start a new one with Start")
	}
	if err := s.end(syscall.SIGQUIT); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	return s.launch(ctx)
}

// launch starts the process and waits until it answers. s.mu is held, or s is
// not shared yet.
func (s *Postgres) launch(ctx context.Context) error {
	logFile, err := os.OpenFile(s.logFile(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("open the log of the test Postgres: %w", err)
	}
	defer logFile.Close() // the process has its own copy

	cmd := exec.Command(s.binaries.path("postgres"),
		"-D", s.dataDir(),
		"-p", fmt.Sprint(s.Port),
		"-c", "listen_addresses=127.0.0.1",
		"-c", "unix_socket_directories=", // a socket's path may not exceed 107 bytes; TMPDIR is longer on macOS
		"-c", "max_connections=400",
	)
	for _, setting := range s.settings {
		cmd.Args = append(cmd.Args, "-c", setting)
	}
	cmd.Dir = s.Dir
	cmd.Stdout, cmd.Stderr = logFile, logFile
	started, err := StartProcess(cmd, s.owner, orphaned)
	if err != nil {
		return fmt.Errorf("start %s: %w", cmd.Path, err)
	}
	if err := s.waitUntilReady(ctx, started); err != nil {
		started.End(syscall.SIGQUIT, stopTimeout)
		return fmt.Errorf("start Postgres on 127.0.0.1:%d: %w; its log ends with:\n%s", s.Port, err, LogTail(s.logFile()))
	}
	s.process = started
	return nil
}

func (s *Postgres) waitUntilReady(ctx context.Context, p *Process) error {
	var last error
	for {
		if last = s.ping(ctx); last == nil {
			return nil
		}
		select {
		case <-p.Done():
			return fmt.Errorf("the process ended: %w", p.Err())
		case <-ctx.Done():
			return fmt.Errorf("%w; it last answered: %w", ctx.Err(), last)
		case <-time.After(25 * time.Millisecond):
		}
	}
}

// ping reports whether the server on the port answers and is this one: another
// Postgres may have taken the port.
func (s *Postgres) ping(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	conn, err := pgx.Connect(ctx, s.URL)
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	var dir string
	if err := conn.QueryRow(ctx, "SHOW data_directory").Scan(&dir); err != nil {
		return err
	}
	if dir != s.dataDir() {
		return fmt.Errorf("another Postgres, with its data in %s, has port %d", dir, s.Port)
	}
	return nil
}

// end sends the signal and waits for the process; s.mu is held.
func (s *Postgres) end(signal os.Signal) error {
	if s.process == nil {
		return nil
	}
	killed := s.process.End(signal, stopTimeout)
	s.process = nil
	if killed {
		return fmt.Errorf("Postgres on 127.0.0.1:%d ignored %v for %v and was killed; see whether the machine is overloaded", s.Port, signal,
			stopTimeout)
	}
	return nil
}

func (s *Postgres) dataDir() string { return filepath.Join(s.Dir, "data") }

func (s *Postgres) logFile() string { return filepath.Join(s.Dir, "server.log") }

func initdb(ctx context.Context, b PostgresBinaries, own *User, dir string) error {
	// One locale on every machine. C.UTF-8 compares bytes but knows the case of
	// letters beyond ASCII; macOS lacks it.
	locale := "C.UTF-8"
	if runtime.GOOS != "linux" {
		locale = "C"
	}
	cmd := exec.Command(b.path("initdb"),
		"-D", filepath.Join(dir, "data"),
		"-U", "postgres",
		"--auth=trust",
		"--encoding=UTF8",
		"--locale="+locale,
		"--no-sync", // an empty database needs no protection from a power cut
		"--no-instructions",
	)
	cmd.Dir = dir
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output
	started, err := StartProcess(cmd, own, orphaned)
	if err != nil {
		return fmt.Errorf("start %s: %w", cmd.Path, err)
	}
	select {
	case <-started.Done():
		err = started.Err()
	case <-ctx.Done():
		started.End(syscall.SIGTERM, stopTimeout)
		err = ctx.Err()
	}
	if err != nil {
		return fmt.Errorf("%s: %w; it printed:\n%s", cmd.Path, err, bytes.TrimSpace(output.Bytes()))
	}
	return nil
}
