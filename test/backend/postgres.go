package backend

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// PostgresURLEnv names the server on which the databases are made, as a URL.
const PostgresURLEnv = "WAYBILL_TEST_POSTGRES_URL"

// CitusWorkersEnv names the workers of Citus whose coordinator that server is, as URLs with
// spaces between them; empty: it is a Postgres by itself. A database of a test is then one
// on each of them.
const CitusWorkersEnv = "WAYBILL_TEST_CITUS_WORKERS"

const (
	objectInUse           = "55006" // SQLSTATE: a session is connected to the database
	insufficientPrivilege = "42501"

	// A CREATE or DROP DATABASE waits for others on a loaded machine.
	createTimeout   = time.Minute
	templateTimeout = 3 * time.Minute
)

// Database returns the URL of a database that only t uses, with every migration
// applied and no rows added. It is dropped when t ends, together with
// connections still open.
//
// migrate applies all migrations to the empty database at url and leaves no
// connection open; hash changes whenever a migration does, and at least its
// first 12 characters must be lower-case letters or digits.
//
// Without a server the test is skipped; with CI=true it fails.
func Database(t testing.TB, migrate func(ctx context.Context, url string) error, hash string) string {
	t.Helper()
	server := os.Getenv(PostgresURLEnv)
	if server == "" {
		const advice = "no Postgres: " + PostgresURLEnv + " is empty; run the tests with `make test` or `go run ./test/servers -- go test ./...`"
		if inCI() {
			t.Fatal(advice)
		}
		t.Skip(advice)
	}
	admin, err := parseURL(server)
	if err != nil {
		t.Fatal(err)
	}
	p, err := prepare(admin, migrate, hash)
	if err != nil {
		t.Fatalf("prepare the template database: %v", err)
	}

	name := p.nextName()
	ctx, cancel := context.WithTimeout(context.Background(), createTimeout)
	defer cancel()
	if err := p.createCopy(ctx, name); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		// Not t.Context: that one is done before the cleanups run.
		ctx, cancel := context.WithTimeout(context.Background(), createTimeout)
		defer cancel()
		if err := admin.everywhere(ctx, "DROP DATABASE IF EXISTS "+quoteName(name)+" WITH (FORCE)"); err != nil {
			t.Errorf("drop the test's database %s: %v; the next test process drops it", name, err)
		}
	})
	return admin.database(name)
}

// process is what this test process holds for one template.
type process struct {
	admin    adminURL
	template string
	tag      string // part of the names of this process's databases

	// lock holds the session locks that say "in use" of the template and the
	// tag. It is never closed: the end of the process ends the session.
	lock *pgx.Conn

	mu   sync.Mutex
	last int
}

var (
	processesMu sync.Mutex
	processes   = map[string]func() (*process, error){}
)

// prepare makes sure of the template, once for each server and hash in this
// process; tests that come meanwhile wait.
func prepare(admin adminURL, migrate func(context.Context, string) error, hash string) (*process, error) {
	name, err := templateName(hash)
	if err != nil {
		return nil, err
	}
	key := admin.String() + " " + name
	processesMu.Lock()
	once, ok := processes[key]
	if !ok {
		once = sync.OnceValues(func() (*process, error) {
			ctx, cancel := context.WithTimeout(context.Background(), templateTimeout)
			defer cancel()
			return newProcess(ctx, admin, name, migrate)
		})
		processes[key] = once
	}
	processesMu.Unlock()
	return once()
}

func (p *process) nextName() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.last++
	return fmt.Sprintf("%s%s_%d", testPrefix, p.tag, p.last)
}

// createCopy copies the template. Postgres refuses while a session is connected
// to the template. New ones are refused, but its own maintenance, or a session
// that is just closing, can be there for a moment.
func (p *process) createCopy(ctx context.Context, name string) error {
	return p.admin.onEach(func(node adminURL) error { return p.copyOn(ctx, node, name) })
}

func (p *process) copyOn(ctx context.Context, node adminURL, name string) error {
	for {
		err := node.exec(ctx, "CREATE DATABASE "+quoteName(name)+" TEMPLATE "+quoteName(p.template))
		if err == nil {
			return nil
		}
		if !hasCode(err, objectInUse) || pause(ctx) != nil {
			return fmt.Errorf("copy template %s to %s: %w", p.template, name, err)
		}
	}
}

// adminURL is the server's URL, of a database in which nothing is created.
type adminURL struct{ *url.URL }

func parseURL(server string) (adminURL, error) {
	u, err := url.Parse(server)
	if err != nil || (u.Scheme != "postgres" && u.Scheme != "postgresql") {
		// The value may hold a password, so it is not repeated.
		return adminURL{}, fmt.Errorf("%s is not a postgres:// URL; give it as postgres://USER@HOST:PORT/DATABASE", PostgresURLEnv)
	}
	return adminURL{u}, nil
}

// database returns the URL of another database on the same server.
func (a adminURL) database(name string) string {
	u := *a.URL
	u.Path = "/" + name
	return u.String()
}

// nodes are the server and, of Citus, its workers.
func (a adminURL) nodes() []adminURL {
	all := []adminURL{a}
	for _, worker := range strings.Fields(os.Getenv(CitusWorkersEnv)) {
		if u, err := url.Parse(worker); err == nil {
			all = append(all, adminURL{u})
		}
	}
	return all
}

// everywhere is exec on all nodes.
func (a adminURL) everywhere(ctx context.Context, sql string) error {
	return a.onEach(func(node adminURL) error { return node.exec(ctx, sql) })
}

// onEach does something on all nodes at once.
func (a adminURL) onEach(do func(node adminURL) error) error {
	nodes := a.nodes()
	failed := make([]error, len(nodes))
	var all sync.WaitGroup
	for i, node := range nodes {
		all.Go(func() { failed[i] = do(node) })
	}
	all.Wait()
	return errors.Join(failed...)
}

// exec runs one statement on a connection of its own: CREATE and DROP DATABASE
// are slow next to connecting, and no pool has to be closed.
func (a adminURL) exec(ctx context.Context, sql string) error {
	conn, err := pgx.Connect(ctx, a.String())
	if err != nil {
		return err
	}
	_, err = conn.Exec(ctx, sql)
	return errors.Join(err, conn.Close(context.WithoutCancel(ctx)))
}

func quoteName(name string) string { return pgx.Identifier{name}.Sanitize() }

func hasCode(err error, code string) bool {
	var pgErr *pgconn.PgError
	return errors.As(err, &pgErr) && pgErr.Code == code
}

func pause(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(50 * time.Millisecond):
		return nil
	}
}

func inCI() bool {
	ci, _ := strconv.ParseBool(os.Getenv("CI")) // anything unreadable is not CI
	return ci
}
