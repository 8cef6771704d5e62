package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/user"
	"time"

	"waybill/test/backend"

	"github.com/jackc/pgx/v5"
)

const (
	postgresEnv  = "WAYBILL_TEST_POSTGRES_URL"
	probeTimeout = 2 * time.Second
)

// postgresSettings are those of a Postgres that is started here.
var postgresSettings []string

// findPostgres returns a Postgres on which databases can be created.
func findPostgres(ctx context.Context) (*server, error) {
	if named := os.Getenv(postgresEnv); named != "" {
		if err := probePostgres(ctx, named); err != nil {
			return nil, fmt.Errorf("the Postgres of %s: %w; correct the variable, or unset it to use another server", postgresEnv, err)
		}
		return runningPostgres(named, "Postgres of "+postgresEnv), nil
	}
	for _, candidate := range localPostgres() {
		if probePostgres(ctx, candidate.String()) == nil {
			return runningPostgres(candidate.String(), "Postgres that runs here: "+candidate.Redacted()), nil
		}
	}

	own, err := backend.StartPostgres(ctx, postgresSettings...)
	if errors.Is(err, backend.ErrNoPostgres) {
		if installErr := backend.InstallPostgres(ctx); installErr != nil {
			return nil, &leftOut{name: "Postgres", env: postgresEnv, err: errors.Join(err, installErr)}
		}
		own, err = backend.StartPostgres(ctx, postgresSettings...)
	}
	if err != nil {
		return nil, &leftOut{name: "Postgres", env: postgresEnv, err: err}
	}
	return &server{
		env:  postgresEnv,
		url:  own.URL,
		from: "Postgres started for this run: " + own.URL,
		stop: own.Stop,
	}, nil
}

func runningPostgres(url, from string) *server {
	return &server{env: postgresEnv, url: url, from: from, stop: func() error { return nil }}
}

// localPostgres lists the addresses where a server of this machine may listen,
// with a user for each. A password comes from PGPASSWORD or the password file, as
// for psql.
func localPostgres() []*url.URL {
	users := []string{"postgres"}
	if current, err := user.Current(); err == nil && current.Username != "postgres" {
		users = append(users, current.Username)
	}
	if name := os.Getenv("PGUSER"); name != "" {
		users = append([]string{name}, users...)
	}
	var candidates []*url.URL
	for _, name := range users {
		candidates = append(candidates, &url.URL{Scheme: "postgres", User: url.User(name), Host: "127.0.0.1:5432", Path: "/postgres"})
	}
	for _, socketDir := range []string{"/var/run/postgresql", "/tmp"} {
		for _, name := range users {
			query := url.Values{"host": {socketDir}, "port": {"5432"}}
			candidates = append(candidates, &url.URL{Scheme: "postgres", User: url.User(name), Path: "/postgres", RawQuery: query.Encode()})
		}
	}
	return candidates
}

// probePostgres creates and drops a database, and checks the version.
func probePostgres(ctx context.Context, url string) error {
	conn, err := connect(ctx, url)
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))

	ctx, cancel := context.WithTimeout(ctx, 15*time.Second) // on a slow disk creating takes its time
	defer cancel()
	var version int
	if err := conn.QueryRow(ctx, "SELECT current_setting('server_version_num')::int").Scan(&version); err != nil {
		return fmt.Errorf("ask for the version: %w", err)
	}
	if version < backend.PostgresMinMajor*10000 {
		return fmt.Errorf("its version is %d, and %d or newer is needed", version/10000, backend.PostgresMinMajor)
	}
	name := pgx.Identifier{fmt.Sprintf("waybill_probe_%d_%d", os.Getpid(), time.Now().UnixNano())}.Sanitize()
	if _, err := conn.Exec(ctx, "CREATE DATABASE "+name); err != nil {
		return fmt.Errorf("create a database: %w", err)
	}
	if _, err := conn.Exec(ctx, "DROP DATABASE "+name); err != nil {
		return fmt.Errorf("drop the database just created: %w", err)
	}
	return nil
}

func connect(ctx context.Context, url string) (*pgx.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	return pgx.Connect(ctx, url)
}
