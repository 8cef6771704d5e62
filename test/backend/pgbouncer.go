package backend

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
)

const (
	pgBouncerStartTimeout = 30 * time.Second
	pgBouncerStopTimeout  = 10 * time.Second

	// Every end is abrupt: there is nothing to save.
	end = syscall.SIGKILL
)

// PgBouncer is one PgBouncer. Port and Dir never change, also not across Kill and
// Restart. Its methods may be called from several goroutines.
type PgBouncer struct {
	Port int
	Dir  string // the configuration, and the log in Dir/server.log

	binary string
	owner  *User

	mu      sync.Mutex
	process *Process
	stopped bool
}

// StartPgBouncer puts a PgBouncer before the Postgres of a URL and returns once it
// answers; it serves every database there. Each of settings is a line more for
// the section [pgbouncer] of its configuration. ctx bounds the start only. The
// caller must Stop it. The error wraps ErrNoPgBouncer where there is none on
// this machine.
func StartPgBouncer(ctx context.Context, postgres string, settings ...string) (_ *PgBouncer, err error) {
	ctx, cancel := context.WithTimeout(ctx, pgBouncerStartTimeout)
	defer cancel()
	binary, err := FindPgBouncer()
	if err != nil {
		return nil, err
	}
	target, err := pgx.ParseConfig(postgres)
	if err != nil {
		return nil, fmt.Errorf("start PgBouncer: %w", err)
	}
	owner, err := NotRoot()
	if err != nil {
		return nil, fmt.Errorf("start PgBouncer: %w", err)
	}
	dir, err := MakeDir("pgbouncer", owner)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(dir))
		}
	}()
	// Between finding a port free and PgBouncer binding it, another process may
	// take it: try a few.
	for attempt := 1; ; attempt++ {
		port, err := FreePort()
		if err != nil {
			return nil, err
		}
		s := &PgBouncer{Port: port, Dir: dir, binary: binary, owner: owner}
		if err := s.configure(target, settings); err != nil {
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

// URL is that of a database of the Postgres, through this PgBouncer.
func (s *PgBouncer) URL(database string) string {
	u, err := url.Parse(database)
	if err != nil {
		return database // as useless there as here
	}
	query := u.Query()
	for _, direct := range []string{"host", "port", "sslmode"} {
		query.Del(direct)
	}
	query.Set("sslmode", "disable")
	u.Host, u.RawQuery = fmt.Sprintf("127.0.0.1:%d", s.Port), query.Encode()
	return u.String()
}

// Stop ends the PgBouncer, breaking open connections, and removes its
// directory. Stopping twice does nothing. The error says so where the process
// had ended by itself.
func (s *PgBouncer) Stop() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopped {
		return nil
	}
	s.stopped = true
	var ended error
	select {
	case <-s.process.Done():
		ended = fmt.Errorf("PgBouncer had ended before it was stopped (%s); its log ends with:\n%s",
			fmt.Sprint(s.process.Err()), LogTail(s.logFile()))
	default:
		s.end()
	}
	if err := os.RemoveAll(s.Dir); err != nil {
		return errors.Join(ended, fmt.Errorf("remove the directory of the stopped PgBouncer: %w; remove it by hand", err))
	}
	return ended
}

// Done is closed when the process is gone, also where nothing stopped it.
func (s *PgBouncer) Done() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.process.Done()
}

// Restart brings the PgBouncer back on the same port, killing it first where
// it still runs, and returns once it answers. ctx bounds the wait.
func (s *PgBouncer) Restart(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopped {
		return errors.New("restart PgBouncer: it was stopped; start a new one with Start")
	}
	s.end()
	ctx, cancel := context.WithTimeout(ctx, pgBouncerStartTimeout)
	defer cancel()
	return s.launch(ctx)
}

func (s *PgBouncer) configure(target *pgx.ConnConfig, settings []string) error {
	every := fmt.Sprintf("* = host=%s port=%d user=%s", quote(target.Host), target.Port, quote(target.User))
	if target.Password != "" { // an empty one is a mistake in its grammar
		every += " password=" + quote(target.Password)
	}
	lines := append([]string{
		"[databases]", every,
		"[pgbouncer]",
		"listen_addr = 127.0.0.1",
		fmt.Sprintf("listen_port = %d", s.Port),
		"unix_socket_dir =", // a socket's path may not exceed 107 bytes; TMPDIR is longer on macOS
		"auth_type = any",
		"pool_mode = transaction",
		"default_pool_size = 10",
		"max_client_conn = 500",
	}, settings...)
	if err := os.WriteFile(s.configFile(), []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
		return fmt.Errorf("configure the test PgBouncer: %w", err)
	}
	if s.owner != nil {
		if err := os.Chown(s.configFile(), s.owner.UID, s.owner.GID); err != nil {
			return fmt.Errorf("configure the test PgBouncer: %w", err)
		}
	}
	return nil
}

// quote is a value as a connection string of PgBouncer has it.
func quote(value string) string { return "'" + strings.ReplaceAll(value, "'", "''") + "'" }

// launch starts the process and waits until it answers. s.mu is held, or s is
// not shared yet.
func (s *PgBouncer) launch(ctx context.Context) error {
	logFile, err := os.OpenFile(s.logFile(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("open the log of the test PgBouncer: %w", err)
	}
	defer logFile.Close() // the process has its own copy

	cmd := exec.Command(s.binary, s.configFile())
	cmd.Dir = s.Dir
	cmd.Stdout, cmd.Stderr = logFile, logFile
	started, err := StartProcess(cmd, s.owner, end)
	if err != nil {
		return fmt.Errorf("start %s: %w", cmd.Path, err)
	}
	if err := s.waitUntilReady(ctx, started); err != nil {
		started.End(end, pgBouncerStopTimeout)
		return fmt.Errorf("start PgBouncer on 127.0.0.1:%d: %w; its log ends with:\n%s", s.Port, err, LogTail(s.logFile()))
	}
	s.process = started
	return nil
}

func (s *PgBouncer) waitUntilReady(ctx context.Context, p *Process) error {
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
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// ping asks the console whether the PgBouncer on the port is this one: another
// may have taken it.
func (s *PgBouncer) ping(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	// The console speaks the simple protocol only.
	conn, err := pgx.Connect(ctx, fmt.Sprintf("postgres://any@127.0.0.1:%d/pgbouncer?sslmode=disable&default_query_exec_mode=simple_protocol",
		s.Port))
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	rows, err := conn.Query(ctx, "SHOW CONFIG")
	if err != nil {
		return err
	}
	found, err := pgx.CollectRows(rows, pgx.RowToMap)
	if err != nil {
		return err
	}
	for _, setting := range found {
		if setting["key"] == "conffile" && setting["value"] == s.configFile() {
			return nil
		}
	}
	return fmt.Errorf("another PgBouncer has port %d", s.Port)
}

// end kills the process and waits for it; s.mu is held.
func (s *PgBouncer) end() { s.process.End(end, pgBouncerStopTimeout) }

func (s *PgBouncer) configFile() string { return filepath.Join(s.Dir, "pgbouncer.ini") }
func (s *PgBouncer) logFile() string    { return filepath.Join(s.Dir, "server.log") }
