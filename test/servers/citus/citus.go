// Package citus starts throw-away clusters of Citus: a coordinator and workers, each a
// Postgres of its own, from the Citus that is installed beside this machine's Postgres.
//
// All listen on 127.0.0.1 only and trust every client there. A database is of one cluster
// once Form has made it so on each server: Citus keeps its nodes by database.
package citus

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"

	"github.com/jackc/pgx/v5"

	"waybill/test/servers/pgserver"
)

// ErrNotInstalled is returned where the Postgres of this machine has no Citus.
var ErrNotInstalled = errors.New("no Citus beside the Postgres of this machine: install the package postgresql-NN-citus-* of" +
	" https://repos.citusdata.com, or build it from github.com/citusdata/citus against postgresql-server-dev-NN (./configure && make install)")

// library is where Citus lies, from the directory of the programs of Postgres.
var library = []string{"../lib/citus.so", "../lib/postgresql/citus.so", "../lib/citus.dylib", "../lib/postgresql/citus.dylib"}

// Cluster is a coordinator, at which clients ask, and workers, which have the rows.
type Cluster struct {
	Coordinator *pgserver.Server
	Workers     []*pgserver.Server
}

// Installed returns nil where Start can start clusters, and an error that wraps
// ErrNotInstalled where it cannot.
func Installed(ctx context.Context) error {
	binaries, err := pgserver.FindBinaries(ctx)
	if err != nil {
		return fmt.Errorf("%w (%w)", ErrNotInstalled, err)
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
	return fmt.Errorf("%w (looked beside %s)", ErrNotInstalled, server)
}

// Start makes a coordinator and so many workers. The caller must Stop them, and Form each
// database.
func Start(ctx context.Context, workers int) (_ *Cluster, err error) {
	if err := Installed(ctx); err != nil {
		return nil, err
	}
	c := &Cluster{}
	defer func() {
		if err != nil {
			err = errors.Join(err, c.Stop())
		}
	}()
	for i := range workers + 1 {
		s, err := pgserver.Start(ctx,
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
func (c *Cluster) Servers() []*pgserver.Server {
	if c.Coordinator == nil {
		return nil
	}
	return append([]*pgserver.Server{c.Coordinator}, c.Workers...)
}

// Stop ends all servers and removes their data.
func (c *Cluster) Stop() (err error) {
	for _, s := range c.Servers() {
		err = errors.Join(err, s.Stop())
	}
	return err
}

// Form makes databases, one on each server, into one of Citus: the first is the
// coordinator's.
func Form(ctx context.Context, databases []string) error {
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
