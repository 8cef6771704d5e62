package backend

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"

	"github.com/jackc/pgx/v5"
)

// ErrNoCitus is returned where the Postgres of this machine has no Citus.
var ErrNoCitus = errors.New("no Citus beside the Postgres of this machine: install the package postgresql-NN-citus-* of" +
	" https://repos.citusdata.com, or build it from github.com/citusdata/citus against postgresql-server-dev-NN (./configure && make install)")

// library is where Citus lies, from the directory of the programs of Postgres.
var library = []string{"../lib/citus.so", "../lib/postgresql/citus.so", "../lib/citus.dylib", "../lib/postgresql/citus.dylib"}

// Citus is a coordinator, at which clients ask, and workers, which have the rows.
type Citus struct {
	Coordinator *Postgres
	Workers     []*Postgres
}

// CitusInstalled returns nil where StartCitus can start clusters, and an error that wraps
// ErrNoCitus where it cannot.
func CitusInstalled(ctx context.Context) error {
	binaries, err := FindPostgres(ctx)
	if err != nil {
		return fmt.Errorf("%w (%w)", ErrNoCitus, err)
	}
	server, err := filepath.EvalSymlinks(filepath.Join(binaries.Dir, "postgres"))
	if err != nil {
		return fmt.Errorf("look where Postgres lies: %w", err)
	}
	for _, name := range library {
		if _, err := os.Stat(filepath.Join(filepath.Dir(server), name)); err == nil {
			return nil
		}
	}
	return fmt.Errorf("%w (looked beside %s)", ErrNoCitus, server)
}

// StartCitus makes a coordinator and so many workers. The caller must Stop them, and FormCitus each
// database.
func StartCitus(ctx context.Context, workers int) (_ *Citus, err error) {
	if err := CitusInstalled(ctx); err != nil {
		return nil, err
	}
	c := &Citus{}
	defer func() {
		if err != nil {
			err = errors.Join(err, c.Stop())
		}
	}()
	for i := range workers + 1 {
		s, err := StartPostgres(ctx,
			"shared_preload_libraries=citus", "wal_level=logical", "max_connections=500", "max_worker_processes=100",
			"citus.node_conninfo=sslmode=prefer", // of these servers none speaks TLS
			"citus.shard_count=4",                // for tables of a few rows
			"citus.enable_stat_counters=on",
		)
		if err != nil {
			return nil, err
		}
		if i == 0 {
			c.Coordinator = s
		} else {
			c.Workers = append(c.Workers, s)
		}
	}
	return c, nil
}

// Servers are all of them, the coordinator first.
func (c *Citus) Servers() []*Postgres {
	if c.Coordinator == nil {
		return nil
	}
	return append([]*Postgres{c.Coordinator}, c.Workers...)
}

// Stop ends all servers and removes their data.
func (c *Citus) Stop() (err error) {
	for _, s := range c.Servers() {
		err = errors.Join(err, s.Stop())
	}
	return err
}

// FormCitus makes databases, one on each server, into one of Citus: the first is the
// coordinator's.
func FormCitus(ctx context.Context, databases []string) error {
	for _, at := range databases {
		if err := run(ctx, at, "CREATE EXTENSION IF NOT EXISTS citus"); err != nil {
			return err
		}
	}
	for i, at := range databases {
		u, err := url.Parse(at)
		if err != nil {
			return fmt.Errorf("read the URL of a node: %w", err)
		}
		add := "SELECT citus_add_node($1, $2::text::integer)"
		if i == 0 {
			add = "SELECT citus_set_coordinator_host($1, $2::text::integer)"
		}
		if err := run(ctx, databases[0], add, u.Hostname(), u.Port()); err != nil {
			return err
		}
	}
	return nil
}

func run(ctx context.Context, url, statement string, values ...any) error {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return fmt.Errorf("connect to a node of Citus: %w", err)
	}
	_, err = conn.Exec(ctx, statement, values...)
	if err = errors.Join(err, conn.Close(context.WithoutCancel(ctx))); err != nil {
		return fmt.Errorf("%s: %w", statement, err)
	}
	return nil
}
