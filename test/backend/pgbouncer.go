package backend

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
)

// PgBouncer is one PgBouncer.
type PgBouncer struct {
	daemon
}

// StartPgBouncer puts a PgBouncer before the Postgres of a URL and returns once it
// answers; it serves every database there. Each of settings is a line more for
// the section [pgbouncer] of its configuration. ctx bounds the start only. The
// caller must Stop it. The error wraps ErrNoPgBouncer where there is none on
// this machine.
func StartPgBouncer(ctx context.Context, postgres string, settings ...string) (*PgBouncer, error) {
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
	s := &PgBouncer{}
	s.daemon = daemon{
		Dir: dir, name: "PgBouncer", owner: owner, limit: 30 * time.Second, ping: s.ping,
		killed: syscall.SIGKILL, farewell: syscall.SIGKILL, // there is nothing to save
		command: func() *exec.Cmd { return exec.Command(binary, s.configFile()) },
	}
	return s, s.startOnFreePort(ctx, func() error { return s.configure(target, settings) })
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
		return err
	}
	if s.owner == nil {
		return nil
	}
	return os.Chown(s.configFile(), s.owner.UID, s.owner.GID)
}

// quote is a value as a connection string of PgBouncer has it.
func quote(value string) string { return "'" + strings.ReplaceAll(value, "'", "''") + "'" }

// ping asks the console whether the PgBouncer on the port is this one: another
// may have taken it.
func (s *PgBouncer) ping(ctx context.Context, _ *Process) error {
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

func (s *PgBouncer) configFile() string { return filepath.Join(s.Dir, "pgbouncer.ini") }
