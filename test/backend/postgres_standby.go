package backend

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"

	"github.com/jackc/pgx/v5"
)

// Standby creates a Replica, and from then on each commit of this server waits until
// the standby has it on its disk: what was acknowledged outlives a failover.
func (s *Postgres) Standby(ctx context.Context) (*Postgres, error) {
	standby, err := s.Replica(ctx)
	if err != nil {
		return nil, err
	}
	for _, statement := range []string{"ALTER SYSTEM SET synchronous_standby_names = '*'", "SELECT pg_reload_conf()"} {
		if err := s.run(ctx, statement); err != nil {
			return nil, errors.Join(err, standby.Stop())
		}
	}
	return standby, nil
}

// Replica creates a second server that follows this one by streaming replication, and
// returns once it answers, read-only. This server is stopped for a moment before. The
// caller must Stop it.
func (s *Postgres) Replica(ctx context.Context) (*Postgres, error) {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	dir, err := MakeDir("standby", s.owner)
	if err != nil {
		return nil, err
	}
	standby := newPostgres(s.binaries, s.owner, dir)
	if err := s.copyTo(ctx, standby); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return standby, standby.startOnFreePort(ctx, standby.locate)
}

// Suspend stops all processes of the server: connections stay open, and nothing
// answers. The function lets them go on, which has to be before Stop.
func (s *Postgres) Suspend(ctx context.Context) (resume func(), err error) {
	conn, err := pgx.Connect(ctx, s.URL)
	if err != nil {
		return nil, fmt.Errorf("connect to Postgres on 127.0.0.1:%d: %w", s.Port, err)
	}
	rows, _ := conn.Query(ctx, "SELECT pid FROM pg_stat_activity WHERE pid <> pg_backend_pid()")
	pids, err := pgx.CollectRows(rows, pgx.RowTo[int])
	if err := errors.Join(err, conn.Close(context.WithoutCancel(ctx))); err != nil {
		return nil, fmt.Errorf("list the processes of Postgres: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	pids = append(pids, s.process.PID())
	for _, pid := range pids {
		if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil && !errors.Is(err, syscall.ESRCH) { // it may have ended since
			return nil, fmt.Errorf("stop process %d of Postgres: %w", pid, err)
		}
	}
	return func() {
		for _, pid := range pids {
			_ = syscall.Kill(pid, syscall.SIGCONT)
		}
	}, nil
}

// Promote makes a standby a server of its own.
func (s *Postgres) Promote(ctx context.Context) error { return s.run(ctx, "SELECT pg_promote()") }

func (s *Postgres) run(ctx context.Context, statement string) error {
	conn, err := pgx.Connect(ctx, s.URL)
	if err != nil {
		return fmt.Errorf("connect to Postgres on 127.0.0.1:%d: %w", s.Port, err)
	}
	defer conn.Close(context.WithoutCancel(ctx))
	if _, err := conn.Exec(ctx, statement); err != nil {
		return fmt.Errorf("%s: %w", statement, err)
	}
	return nil
}

// copyTo fills the data directory of a standby. It stops the server for that:
// pg_basebackup comes with the client programs, which not every machine has.
func (s *Postgres) copyTo(ctx context.Context, standby *Postgres) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.end(syscall.SIGINT); err != nil {
		return err
	}
	const copies = `cp -a "$0" "$1" && cp "$1/PG_VERSION" "$1/standby.signal" && echo "primary_conninfo = '$2'" >> "$1/postgresql.auto.conf"`
	cmd := exec.Command("sh", "-c", copies, s.dataDir(), standby.dataDir(), fmt.Sprintf("host=127.0.0.1 port=%d user=postgres", s.Port))
	cmd.Dir = standby.Dir
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output
	started, err := StartProcess(cmd, s.owner, orphaned)
	if err != nil {
		return fmt.Errorf("copy the data of Postgres: %w", err)
	}
	select {
	case <-started.Done():
		err = started.Err()
	case <-ctx.Done():
		started.End(syscall.SIGTERM, stopTimeout)
		err = ctx.Err()
	}
	if err != nil {
		return fmt.Errorf("copy the data of Postgres: %w; it printed:\n%s", err, bytes.TrimSpace(output.Bytes()))
	}
	return s.launch(ctx)
}
