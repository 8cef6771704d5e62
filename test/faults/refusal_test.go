package faults

import (
	"context"
	"database/sql"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"

	"waybill/adapters/storage/gormstore"
	"waybill/test/servers/pgserver"
)

// A server that answers, and refuses: it has no connections left, or does not let the
// program in any more. Each comes back by itself when it is mended.

func TestADatabaseWithoutConnectionsLeftCostsNoOrder(t *testing.T) {
	database := ownPostgres(t, "max_connections=25")
	t.Parallel()
	shop := serve(t, database.URL, 1)
	shop.admit(t.Context())
	var held squatters
	t.Cleanup(held.leave)
	shop.outage(t, silentWithin, func() error { return held.takeAll(t.Context(), database.URL) }, func() error {
		shop.says(t, "too many clients already")
		held.leave()
		return nil
	})
	shop.settle(t, "Postgres without connections for a while", openDatabase(t, database.URL), Postgres)
}

func TestADatabaseThatRefusesTheProgramForAWhileCostsNoOrder(t *testing.T) {
	database := ownPostgres(t)
	t.Parallel()
	root := openDatabase(t, database.URL)
	address := askForPasswords(t, database)
	for _, c := range []struct {
		name, says string
		cut, back  []string
	}{
		{
			name: "another password", says: "password authentication failed",
			cut:  []string{"ALTER ROLE clerk PASSWORD 'another'", endSessions},
			back: []string{"ALTER ROLE clerk PASSWORD 'secret'"},
		},
		{
			name: "a role that may not log in", says: "is not permitted to log in",
			cut:  []string{"ALTER ROLE clerk NOLOGIN", endSessions},
			back: []string{"ALTER ROLE clerk LOGIN"},
		},
		{
			name: "a database that was renamed", says: "does not exist",
			cut:  []string{"ALTER DATABASE shop ALLOW_CONNECTIONS false", endSessions, "ALTER DATABASE shop RENAME TO moved"},
			back: []string{"ALTER DATABASE moved RENAME TO shop", "ALTER DATABASE shop ALLOW_CONNECTIONS true"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, statement := range []string{
				"DROP DATABASE IF EXISTS shop WITH (FORCE)", "DROP ROLE IF EXISTS clerk",
				"CREATE ROLE clerk LOGIN PASSWORD 'secret'", "CREATE DATABASE shop OWNER clerk",
			} {
				perform(t, root, statement)
			}
			if err := gormstore.Migrate(t.Context(), address); err != nil {
				t.Fatal(err)
			}
			shop := serve(t, address, 1)
			shop.admit(t.Context())
			run := func(statements []string) error {
				for _, statement := range statements {
					perform(t, root, statement)
				}
				return nil
			}
			shop.outage(t, goneWithin, func() error { return run(c.cut) }, func() error {
				shop.says(t, c.says)
				return run(c.back)
			})
			shop.settle(t, c.name, openDatabase(t, address), Postgres)
		})
	}
}

// endSessions ends those of the program, and waits until they are over.
const endSessions = "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE application_name = 'waybill'"

func perform(t *testing.T, db *sql.DB, statement string) {
	t.Helper()
	if _, err := db.ExecContext(t.Context(), statement); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}

// askForPasswords makes a server of ours ask the role clerk for one, and returns the
// address by which clerk comes to the database shop.
func askForPasswords(t *testing.T, server *pgserver.Server) string {
	t.Helper()
	path := filepath.Join(server.Dir, "data", "pg_hba.conf")
	rules, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, slices.Concat([]byte("host all clerk 127.0.0.1/32 scram-sha-256\n"), rules), 0o600); err != nil {
		t.Fatal(err)
	}
	perform(t, openDatabase(t, server.URL), "SELECT pg_reload_conf()")
	u, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	u.User, u.Path = url.UserPassword("clerk", "secret"), "/shop"
	return u.String()
}

// says asks the first server why it is not ready.
func (s *shop) says(t *testing.T, why string) {
	t.Helper()
	var body string
	until(t, "/readyz says that "+why, goneWithin, func() bool {
		res, err := http.Get("http://" + s.servers[0].ops + "/readyz?verbose")
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		read, _ := io.ReadAll(res.Body) // what is missing is not in it
		body = string(read)
		return res.StatusCode == http.StatusServiceUnavailable && strings.Contains(body, why)
	})
}

// squatters hold all connections that a server of Postgres takes.
type squatters struct {
	mu    sync.Mutex
	conns []*pgx.Conn
}

// takeAll ends the sessions of the program and takes their places, until it has none.
// Many want each place that becomes free, so that the program does not get it again.
func (c *squatters) takeAll(ctx context.Context, address string) error {
	first, err := pgx.Connect(ctx, address)
	if err != nil {
		return err
	}
	c.take(first)
	taking, stop := context.WithTimeout(ctx, goneWithin)
	var takers sync.WaitGroup
	defer takers.Wait()
	defer stop()
	for range 8 {
		takers.Go(func() {
			for taking.Err() == nil {
				if conn, err := pgx.Connect(taking, address); err == nil {
					c.take(conn)
				}
			}
		})
	}
	for none := 0; none < 3; none++ { // one that is being made is not among them yet
		ended, err := first.Exec(taking, endSessions)
		if err != nil {
			return fmt.Errorf("the program always takes one of the connections that become free: %w", err)
		}
		if ended.RowsAffected() > 0 {
			none = -1
		}
	}
	return nil
}

func (c *squatters) take(conn *pgx.Conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.conns = append(c.conns, conn)
}

func (c *squatters) leave() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, conn := range c.conns {
		_ = conn.Close(context.Background()) // the server may be gone
	}
	c.conns = nil
}
