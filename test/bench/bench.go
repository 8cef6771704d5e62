package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"waybill/test/backend"
	"waybill/test/program"
)

const postgresEnv = "WAYBILL_TEST_POSTGRES_URL"

// bench is what every measurement needs: a Postgres, and the program.
type bench struct {
	options
	dir         string
	admin       *pgx.Conn // to the server, in no database that is measured
	master      int       // process of the Postgres; 0: on another machine
	databases   []string
	about       string // the Postgres
	loadAverage string // of the machine before the run; empty: unknown
}

// open finds the Postgres and builds the program. Its result must be closed, also
// after an error.
func open(ctx context.Context, o options) (*bench, error) {
	b := &bench{options: o}
	if text, err := os.ReadFile("/proc/loadavg"); err == nil {
		b.loadAverage, _, _ = strings.Cut(string(text), " ")
	}
	server := os.Getenv(postgresEnv)
	if server == "" {
		return b, errors.New("no Postgres: " + postgresEnv + " is empty; run `make bench`, or go run ./test/servers -- go run ./test/bench")
	}
	var err error
	if b.dir, err = os.MkdirTemp("", "waybill-bench-"); err != nil {
		return b, err
	}
	if b.binary == "" {
		if b.binary, err = program.Build(b.dir); err != nil {
			return b, err
		}
	}
	if b.admin, err = pgx.Connect(ctx, server); err != nil {
		return b, fmt.Errorf("connect to the server of %s: %w", postgresEnv, err)
	}
	b.master = postmaster(ctx, b.admin)
	return b, b.admin.QueryRow(ctx, `SELECT 'Postgres ' || current_setting('server_version')
		|| ', synchronous_commit ' || current_setting('synchronous_commit') || ', fsync ' || current_setting('fsync')
		|| ', shared_buffers ' || current_setting('shared_buffers')`).Scan(&b.about)
}

// on connects to a database of the run.
func (b *bench) on(ctx context.Context, url string, do func(*pgx.Conn) error) error {
	db, err := pgx.Connect(ctx, url)
	if err != nil {
		return err
	}
	return errors.Join(do(db), db.Close(ctx))
}

// settle does in advance what Postgres does by the minute: statistics, without
// which it knows nothing of tables so recent and goes by any index, and a
// checkpoint, behind which pages are written whole at first.
func (b *bench) settle(ctx context.Context, databases ...string) error {
	for _, url := range databases {
		if err := b.on(ctx, url, func(db *pgx.Conn) error { return clean(ctx, db) }); err != nil {
			return err
		}
	}
	_, err := b.admin.Exec(ctx, "CHECKPOINT")
	return err
}

// clean does what autovacuum would do later.
func clean(ctx context.Context, db *pgx.Conn) error {
	_, err := db.Exec(ctx, "VACUUM ANALYZE")
	return err
}

// createDatabase makes a migrated one that the run drops at its end.
func (b *bench) createDatabase(ctx context.Context, name string) (string, error) {
	u, err := url.Parse(os.Getenv(postgresEnv))
	if err != nil {
		return "", errors.New(postgresEnv + " is not a URL") // it may hold a password
	}
	name = fmt.Sprintf("waybill_bench_%d_%s", os.Getpid(), name)
	if _, err := b.admin.Exec(ctx, "CREATE DATABASE "+name); err != nil {
		return "", err
	}
	b.databases = append(b.databases, name)
	u.Path = "/" + name
	return u.String(), command(ctx, b.binary, u.String(), nil, "migrate", "up")
}

// close undoes open, also one that stopped half-way.
func (b *bench) close() error {
	var err error
	if b.admin != nil {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		for _, name := range b.databases {
			_, dropErr := b.admin.Exec(ctx, "DROP DATABASE IF EXISTS "+name+" WITH (FORCE)")
			err = errors.Join(err, dropErr)
		}
		err = errors.Join(err, b.admin.Close(ctx))
	}
	if b.dir != "" {
		err = errors.Join(err, os.RemoveAll(b.dir))
	}
	return err
}

// spent is processor time.
type spent struct{ serve, worker, postgres, redis, client time.Duration }

// since is what was spent after an earlier moment.
func (s spent) since(e spent) spent {
	return spent{s.serve - e.serve, s.worker - e.worker, s.postgres - e.postgres, s.redis - e.redis, s.client - e.client}
}

// inAll leaves out those who send and receive.
func (s spent) inAll() time.Duration { return s.serve + s.worker + s.postgres + s.redis }

// spent is what has been spent so far by Postgres, this program, and the processes
// that are named; nil is none.
func (b *bench) spent(serving, worker *server, store *backend.Redis) spent {
	s := spent{serve: serving.cpu(), worker: worker.cpu(), client: cpuOfSelf()}
	if store != nil {
		s.redis = cpuOf(store.PID())
	}
	if b.master != 0 {
		s.postgres = cpuOfTree(b.master)
	}
	return s
}

// stopRedis ends one of the run's own; nil is none.
func stopRedis(store *backend.Redis) error {
	if store == nil {
		return nil
	}
	return store.Stop()
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}
