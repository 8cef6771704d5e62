package main

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"waybill/adapters/cli/term"
	"waybill/adapters/storage/gormstore"
	"waybill/test/backend"
)

func TestLongAStartWaitsForItsDatabaseTellsSoAndGoesOn(t *testing.T) {
	t.Parallel()
	direct := strings.Replace(freshPostgres(t), "@", ":hunter22@", 1) // a server with "trust" takes any password
	link := backend.NewLink(t, direct)
	environ := append(portsOf(t), "WAYBILL_DATABASE_URL="+link.URL(t, direct),
		"WAYBILL_KEY_PEPPER="+strings.Repeat("p", 32), "WAYBILL_SECRET_KEY="+strings.Repeat("s", 32))
	if o := command(t, environ, "migrate", "up"); o.code != term.ExitOK {
		t.Fatalf("migrate: %s", o.stderr)
	}
	link.Cut(backend.BothWays)
	for _, name := range []string{"serve", "worker"} {
		mine := environ
		if name == "worker" {
			mine = append(slices.Clone(environ), "WAYBILL_OPS_ADDR="+freeAddress(t))
		}
		address := func(setting string) string {
			var value string
			for _, pair := range mine {
				if v, ok := strings.CutPrefix(pair, setting+"="); ok {
					value = v
				}
			}
			return "http://" + value
		}
		r := start(t, mine, name)
		eventually(t, name+" says what it waits for", func() bool {
			return strings.Contains(r.stderr.String(), "the start waits for the database")
		})
		eventually(t, name+" lives and is not ready", func() bool {
			return status(address("WAYBILL_OPS_ADDR")+"/healthz") == http.StatusOK &&
				status(address("WAYBILL_OPS_ADDR")+"/readyz") == http.StatusServiceUnavailable
		})
		if name == "serve" {
			res, err := http.Get(address("WAYBILL_LIVE_ADDR") + "/v1/deliveries")
			if err != nil {
				t.Fatal(err)
			}
			body, _ := io.ReadAll(res.Body)
			res.Body.Close()
			if res.StatusCode != http.StatusServiceUnavailable || res.Header.Get("Retry-After") == "" || res.Header.Get("RateLimit-Limit") == "" ||
				!strings.Contains(string(body), `"code":"SERVICE_UNAVAILABLE"`) {
				t.Errorf("a call meanwhile is answered %d: %s", res.StatusCode, body)
			}
			for _, url := range []string{address("WAYBILL_SANDBOX_ADDR") + "/docs", address("WAYBILL_OPS_ADDR") + "/ops/v1/businesses"} {
				if got := status(url); got != http.StatusServiceUnavailable {
					t.Errorf("%s meanwhile is answered %d", url, got)
				}
			}
		}
		select {
		case code := <-r.ended:
			t.Fatalf("%s ended with %d\n%s", name, code, r.stderr.String())
		case <-time.After(4 * time.Second): // longer than a connection may take
		}
		link.Heal()
		eventually(t, name+" is ready", func() bool { return status(address("WAYBILL_OPS_ADDR")+"/readyz") == http.StatusOK })
		r.terminate(t)
		if strings.Contains(r.stderr.String(), "hunter22") {
			t.Errorf("the password shows\n%s", r.stderr.String())
		}
		link.Cut(backend.BothWays)
	}
	r := start(t, environ, "serve") // one that is told to end while it waits
	eventually(t, "it waits", func() bool { return strings.Contains(r.stderr.String(), "the start waits for the database") })
	r.terminate(t)
	if o := command(t, environ, "business", "list"); o.code != term.ExitFailure ||
		!strings.Contains(o.stderr, "the database cannot be opened") {
		t.Errorf("a command waits, or tells something else: %d\n%s", o.code, o.stderr)
	}
}

func TestAStartDoesNotWaitForWhatOnlyAnOperatorMends(t *testing.T) {
	t.Parallel()
	address := freshPostgres(t)
	for _, c := range []struct{ url, what, fix string }{
		{strings.Replace(address, "?", "_that_is_not_there?", 1), "does not exist", "create it, or correct the name in WAYBILL_DATABASE_URL"},
		{strings.Replace(strings.Replace(address, "?", "_that_is_not_there?", 1), "sslmode=disable", "sslmode=prefer", 1), "does not exist",
			"create it, or"},
		{strings.Replace(address, "sslmode=disable", "sslmode=require", 1), "server refused TLS", "correct sslmode"},
	} {
		environ := append(portsOf(t), "WAYBILL_DATABASE_URL="+c.url,
			"WAYBILL_KEY_PEPPER="+strings.Repeat("p", 32), "WAYBILL_SECRET_KEY="+strings.Repeat("s", 32))
		for _, name := range []string{"serve", "worker"} {
			if o := command(t, environ, name); o.code != term.ExitFailure || strings.Count(o.stderr, c.what) != 1 ||
				!strings.Contains(o.stderr, c.fix) ||
				strings.Contains(o.stderr, "does not answer") || strings.Contains(o.stderr, "waits") {
				t.Errorf("%s: exit code %d\n%s", name, o.code, o.stderr)
			}
		}
	}
}

// A role that may have a few connections gives the first ones, and not all that a process opens.
func TestAStartWaitsWhereTheDatabaseHasNoConnectionsLeft(t *testing.T) {
	t.Parallel()
	operator, address := newRole(t, freshPostgres(t), "CONNECTION LIMIT 2")
	operator("GRANT ALL ON ALL TABLES IN SCHEMA public TO ROLE")
	operator("GRANT ALL ON ALL SEQUENCES IN SCHEMA public TO ROLE")
	environ := append(portsOf(t), "WAYBILL_DATABASE_URL="+address,
		"WAYBILL_KEY_PEPPER="+strings.Repeat("p", 32), "WAYBILL_SECRET_KEY="+strings.Repeat("s", 32))
	r := start(t, environ, "serve")
	eventually(t, "it waits and tells the limit", func() bool {
		log := r.stderr.String()
		return strings.Contains(log, "the start waits for the database") && strings.Contains(log, "too many connections for role") &&
			strings.Contains(log, "WAYBILL_DATABASE_POOL_SIZE, now 24")
	})
	operator("ALTER ROLE CONNECTION LIMIT 30")
	ops := "http://" + strings.TrimPrefix(environ[2], "WAYBILL_OPS_ADDR=")
	eventually(t, "it is ready", func() bool { return status(ops+"/readyz") == http.StatusOK })
	r.terminate(t)
}

// newRole makes a role with options, and returns an operator's way to run a statement about it,
// and the address by which it comes to the database.
func newRole(t *testing.T, direct, options string) (operator func(statement string), address string) {
	t.Helper()
	u := must(url.Parse(direct))
	role := `"cmd_` + strings.TrimPrefix(u.Path, "/") + `"`
	run := func(ctx context.Context, statement string) error {
		conn, err := pgx.Connect(ctx, direct)
		if err != nil {
			return err
		}
		defer func() { _ = conn.Close(ctx) }()
		_, err = conn.Exec(ctx, statement)
		return err
	}
	operator = func(statement string) {
		t.Helper()
		statement = strings.NewReplacer("TO ROLE", "TO "+role, "AUTHORIZATION ROLE", "AUTHORIZATION "+role, " ROLE", " ROLE "+role).Replace(statement)
		if err := run(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	operator("CREATE ROLE LOGIN " + options)
	t.Cleanup(func() {
		for _, statement := range []string{"DROP OWNED BY " + role, "DROP ROLE " + role} {
			if err := run(context.Background(), statement); err != nil {
				t.Error(err)
			}
		}
	})
	u.User = url.User(strings.Trim(role, `"`))
	return operator, u.String()
}

func freshPostgres(t *testing.T) string {
	t.Helper()
	return backend.Database(t, gormstore.Migrate, gormstore.MigrationsHash())
}

func portsOf(t *testing.T) []string {
	t.Helper()
	return []string{"WAYBILL_LIVE_ADDR=" + freeAddress(t), "WAYBILL_SANDBOX_ADDR=" + freeAddress(t), "WAYBILL_OPS_ADDR=" + freeAddress(t),
		"WAYBILL_PORTAL_ADDR=127.0.0.1:0"}
}

func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}
