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
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
)

const (
	startTimeout = 60 * time.Second

	// orphaned is Postgres's immediate shutdown.
	orphaned = syscall.SIGQUIT
)

// Postgres is one running Postgres. Its URL never changes, also not across Kill and Restart.
type Postgres struct {
	URL string // the database "postgres", as superuser
	daemon

	binaries PostgresBinaries
	settings []string
}

// StartPostgres creates a new, empty Postgres and returns once it answers. ctx bounds
// the start only. The caller must Stop it. The error wraps ErrNoPostgres
// where the machine has no usable binaries. Settings are of the kind name=value.
func StartPostgres(ctx context.Context, settings ...string) (*Postgres, error) {
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
	if err := initdb(ctx, binaries, own, dir); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	s := newPostgres(binaries, own, dir)
	s.settings = settings
	return s, s.startOnFreePort(ctx, s.locate)
}

// newPostgres is one that is not started, nor has a port.
func newPostgres(binaries PostgresBinaries, own *User, dir string) *Postgres {
	s := &Postgres{binaries: binaries}
	s.daemon = daemon{
		Dir: dir, name: "Postgres", owner: own, killed: orphaned, limit: startTimeout, command: s.server, ping: s.ping,
		farewell: syscall.SIGINT, // Postgres's "fast" mode: it waits for no client
	}
	return s
}

// locate makes the URL of the port.
func (s *Postgres) locate() error {
	s.URL = fmt.Sprintf("postgres://postgres@127.0.0.1:%d/postgres?sslmode=disable", s.Port)
	return nil
}

// Kill ends the server as `pg_ctl stop -m immediate` does: no checkpoint, no
// farewell to clients, recovery from the log at the next Restart. It returns
// once the process is gone. Killing a server that is down does nothing.
func (s *Postgres) Kill() error {
	return s.endBy(syscall.SIGQUIT)
}

// Crash ends the server as `kill -9` does, of its first process: the others notice it
// and go. It returns once the first one is gone.
func (s *Postgres) Crash() error {
	return s.endBy(syscall.SIGKILL)
}

// server is the command of it.
func (s *Postgres) server() *exec.Cmd {
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
	return cmd
}

func (s *Postgres) ping(ctx context.Context, _ *Process) error {
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

func (s *Postgres) dataDir() string { return filepath.Join(s.Dir, "data") }

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
