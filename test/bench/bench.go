package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
)

const postgresEnv = "WAYBILL_TEST_POSTGRES_URL"

// bench is all that a run needs.
type bench struct {
	options
	dir     string
	admin   *pgx.Conn // to the server, in no database that is measured
	pgbench *pgbench
	master  int // process of the Postgres; 0: on another machine

	databases []string
	onHTTP    string // URLs of the server's database and of pgbench's
	onFunc    string
	onStmts   string

	postgres, sqlite *server
	limited          *server // on the same database as postgres, with Redis; nil: not measured
	hello            *server // does nothing
	others           []other // other builds on the same database
	store            *ownRedis
	shelved          int             // deliveries that are there to be read
	created          [2]atomic.Int64 // creates numbered so far, on onHTTP and sqlite
	replays          []atomic.Int64  // per connection
	booked           atomic.Int64    // runs of pgbench at a pace so far
	told             []numbers       // per connection, what it created on postgres

	about       string // the Postgres
	loadAverage string // of the machine before the run; empty: unknown
}

// other is another build of the program, as -beside names it.
type other struct {
	name string
	*server
	embedded *server // on a SQLite file of its own; nil: not measured
}

// otherBuilds reads NAME=PATH,NAME=PATH and so on, or the path of the only one.
func otherBuilds(beside string) (names, binaries []string) {
	if beside == "" {
		return nil, nil
	}
	for build := range strings.SplitSeq(beside, ",") {
		name, binary, named := strings.Cut(build, "=")
		if !named {
			name, binary = "the other build", build
		}
		names, binaries = append(names, name), append(binaries, binary)
	}
	return names, binaries
}

// numbers of creates that one connection was answered.
type numbers []int

// open finds the Postgres and builds the program. Its result must be closed, also
// after an error.
func open(ctx context.Context, o options) (*bench, error) {
	b := &bench{options: o, replays: make([]atomic.Int64, o.connections), told: make([]numbers, o.connections)}
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
		if b.binary, err = buildBinary(ctx, b.dir); err != nil {
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

// prepare starts everything. Its result must be closed, also after an error.
func prepare(ctx context.Context, o options) (*bench, error) {
	b, err := open(ctx, o)
	if err != nil {
		return b, err
	}
	path, err := findTool(ctx, "pgbench")
	if err != nil {
		return b, err
	}
	if b.onHTTP, err = b.createDatabase(ctx, "http"); err != nil {
		return b, err
	}
	if b.postgres, err = startServer(ctx, o, b.binary, b.onHTTP, b.dir); err != nil {
		return b, err
	}
	if o.embedded {
		if b.sqlite, err = startEmbedded(ctx, o, b.binary, filepath.Join(b.dir, "embedded")); err != nil {
			return b, err
		}
	}
	if o.redis {
		if err := b.limit(ctx); err != nil {
			return b, err
		}
	}
	names, binaries := otherBuilds(o.beside)
	for i, name := range names {
		dir := filepath.Join(b.dir, fmt.Sprint("beside-", i))
		if err := os.Mkdir(dir, 0o700); err != nil {
			return b, err
		}
		s, err := serve(ctx, o, binaries[i], dir, b.postgres.customers, settings(b.onHTTP))
		if err != nil {
			return b, fmt.Errorf("%s: %w", name, err)
		}
		b.others = append(b.others, other{name: name, server: s})
		if o.embedded {
			if b.others[i].embedded, err = startEmbedded(ctx, o, binaries[i], filepath.Join(dir, "embedded")); err != nil {
				return b, fmt.Errorf("%s: %w", name, err)
			}
		}
	}
	b.pgbench = &pgbench{path: path, clients: o.clients, protocol: o.protocol, dir: b.dir}
	for name, at := range map[string]*string{"function": &b.onFunc, "statements": &b.onStmts} {
		if *at, err = b.createDatabase(ctx, name); err != nil {
			return b, err
		}
		if err := command(ctx, b.binary, *at, nil, "migrate", "up"); err != nil {
			return b, err
		}
		if err := b.pgbench.seed(ctx, *at); err != nil {
			return b, fmt.Errorf("prepare pgbench: %w", err)
		}
	}
	if err := b.warm(ctx); err != nil {
		return b, err
	}
	return b, b.greet(ctx)
}

// startEmbedded starts a server on a new SQLite file.
func startEmbedded(ctx context.Context, o options, binary, dir string) (*server, error) {
	if err := os.Mkdir(dir, 0o700); err != nil {
		return nil, err
	}
	s, err := startServer(ctx, o, binary, "sqlite://"+filepath.Join(dir, "waybill.db"), dir)
	if err == nil {
		s.embedded = true
	}
	return s, err
}

// limit starts a server like the first one, but for its limits, locks and news,
// which it shares through Redis.
func (b *bench) limit(ctx context.Context) (err error) {
	if b.store, err = startRedis(ctx); err != nil {
		return err
	}
	dir := filepath.Join(b.dir, "limited")
	if err := os.Mkdir(dir, 0o700); err != nil {
		return err
	}
	b.limited, err = serve(ctx, b.options, b.binary, dir, b.postgres.customers, append(settings(b.onHTTP), "WAYBILL_REDIS_URL="+b.store.url))
	return err
}

// warm brings caches to temperature and learns the size of what is stored.
func (b *bench) warm(ctx context.Context) error {
	for _, s := range append([]*server{b.postgres, b.limited, b.sqlite}, b.otherServers()...) {
		if s == nil {
			continue
		}
		m, err := b.create(ctx, s, b.warmUp)
		if err != nil {
			return err
		}
		if m.unexpected > 0 {
			return fmt.Errorf("a create was answered %s", m.example)
		}
	}
	b.pgbench.answer = append([]byte{}, b.postgres.load.conns[0].body...)
	err := b.on(ctx, b.onHTTP, func(db *pgx.Conn) error {
		return db.QueryRow(ctx, "SELECT payload FROM feed_events LIMIT 1").Scan(&b.pgbench.payload)
	})
	if err != nil {
		return err
	}
	if err := b.shelve(ctx); err != nil {
		return err
	}
	for url, script := range map[string]string{b.onFunc: functionSQL, b.onStmts: statementsSQL} {
		if _, err := b.pgbench.run(ctx, url, []string{script}, max(time.Second, b.warmUp), -1); err != nil {
			return err
		}
	}
	return nil
}

func (b *bench) otherServers() (all []*server) {
	for _, o := range b.others {
		all = append(all, o.server, o.embedded)
	}
	return all
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
func (b *bench) settle(ctx context.Context) error {
	for _, url := range []string{b.onHTTP, b.onFunc, b.onStmts} {
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

// createDatabase makes an empty one that the run drops at its end.
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
	return u.String(), nil
}

// close undoes prepare, also one that stopped half-way.
func (b *bench) close() error {
	var err error
	for _, s := range append([]*server{b.postgres, b.limited, b.hello, b.sqlite}, b.otherServers()...) {
		if s != nil {
			err = errors.Join(err, s.stop())
		}
	}
	if b.store != nil {
		err = errors.Join(err, b.store.stop())
	}
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
