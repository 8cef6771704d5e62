package gormstore_test

import (
	"context"
	"database/sql"
	"errors"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"waybill/adapters/storage/gormstore"
	"waybill/ports"
)

// ofDatabase sets parameters for all sessions of a database that begin from now on.
func ofDatabase(t *testing.T, direct string, settings ...string) {
	t.Helper()
	conn := connect(t, direct)
	for _, setting := range settings {
		do(t, conn, "ALTER DATABASE "+pgx.Identifier{conn.Config().Database}.Sanitize()+" SET "+setting)
	}
}

// with adds a parameter to a URL.
func with(address, parameter string) string { return address + separator(address) + parameter }

// shown are parameters as a pool or a transaction has them.
func shown(t *testing.T, q interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}, names ...string) (values string) {
	t.Helper()
	err := q.QueryRowContext(t.Context(), "SELECT concat_ws(' ', current_setting('"+strings.Join(names, "'), current_setting('")+"'))").Scan(&values)
	if err != nil {
		t.Fatal(err)
	}
	return values
}

func TestMigrationsHaveNoTimeOutsButThoseOfTheURL(t *testing.T) {
	t.Parallel()
	direct := newDatabase(t)
	ofDatabase(t, direct, "statement_timeout = '7s'", "lock_timeout = '7s'", "idle_in_transaction_session_timeout = '7s'", "idle_session_timeout = '7s'")
	timeOuts := []string{"statement_timeout", "lock_timeout", "idle_in_transaction_session_timeout", "idle_session_timeout"}
	for url, want := range map[string]struct{ outside, inside string }{
		direct:                               {"0 0 0 0", "0 2s 0 0"},
		with(direct, "statement_timeout=3s"): {"3s 0 0 0", "3s 2s 0 0"},
		with(direct, "options=-c%20lock_timeout%3D4s"): {"0 4s 0 0", "0 4s 0 0"},
	} {
		err := gormstore.OneAtATime(t.Context(), url, func(db *sql.DB) error {
			if got := shown(t, db, timeOuts...); got != want.outside {
				t.Errorf("outside of a transaction: %s, want %s", got, want.outside)
			}
			tx, err := db.BeginTx(t.Context(), nil)
			if err != nil {
				return err
			}
			if got := shown(t, tx, timeOuts...); got != want.inside {
				t.Errorf("in a transaction: %s, want %s", got, want.inside)
			}
			return tx.Rollback()
		})
		if err != nil {
			t.Error(err)
		}
	}
}

func TestASchemaThatTheURLNamesIsMigratedAndUsed(t *testing.T) {
	t.Parallel()
	direct := emptyDatabases["Postgres"](t)
	conn := connect(t, direct)
	do(t, conn, "CREATE SCHEMA waybill")
	url := with(direct, "search_path=waybill")
	for range 2 {
		if err := gormstore.Migrate(t.Context(), url); err != nil {
			t.Fatal(err)
		}
	}
	status, err := gormstore.MigrationStatus(t.Context(), url)
	if err != nil || status.Steps[len(status.Steps)-1].AppliedAt == nil {
		t.Errorf("%+v (%v)", status, err)
	}
	s := openWith(t, url, gormstore.Options{})
	newTenant(t, s)
	if applied, known, err := s.SchemaVersions(t.Context()); err != nil || applied != known {
		t.Errorf("%d of %d are applied (%v)", applied, known, err)
	}
	var outside int
	if err := conn.QueryRow(t.Context(), "SELECT count(*) FROM pg_tables WHERE schemaname = 'public'").Scan(&outside); err != nil || outside > 0 {
		t.Errorf("%d tables are in public (%v)", outside, err)
	}
}

func TestAMigrationTellsWhereTheExtensionItCannotFindIs(t *testing.T) {
	t.Parallel()
	direct := emptyDatabases["Postgres"](t)
	conn := connect(t, direct)
	do(t, conn, "CREATE EXTENSION pg_trgm; CREATE SCHEMA waybill")
	err := gormstore.Migrate(t.Context(), with(direct, "search_path=waybill"))
	if err == nil || !strings.Contains(gormstore.HintOf(err), "Add public to the end of the search_path") {
		t.Errorf("%v: %q", err, gormstore.HintOf(err))
	}
	if err := gormstore.Migrate(t.Context(), with(direct, "search_path=waybill,public")); err != nil {
		t.Error(err)
	}
}

func TestLongASearchPathThatAPoolerWouldLoseIsRefusedByItsName(t *testing.T) {
	t.Parallel()
	direct := newDatabase(t)
	err := gormstore.Migrate(t.Context(), with(startPgBouncer(t, direct).URL(direct), "search_path=waybill"))
	if !errors.Is(err, gormstore.ErrPooler) || !strings.Contains(err.Error(), "search_path in the database URL gets lost in a pooler") {
		t.Error(err)
	}
}

func TestTransactionsReadWhatIsCommittedWhateverTheDatabaseSays(t *testing.T) {
	for _, level := range []string{"repeatable read", "serializable"} {
		t.Run(level, func(t *testing.T) {
			bothWays(t, func(t *testing.T, direct, url string, o gormstore.Options) {
				ofDatabase(t, direct, "default_transaction_isolation = '"+level+"'")
				s := openWith(t, url, o)
				pool, _ := s.Pools()
				tx, err := pool.BeginTx(t.Context(), nil)
				if err != nil {
					t.Fatal(err)
				}
				defer tx.Rollback()
				if got := shown(t, tx, "transaction_isolation"); got != "read committed" {
					t.Errorf("a transaction is %s", got)
				}
				if got := shown(t, pool, "transaction_isolation"); got != "read committed" && !o.TransactionPooler {
					t.Errorf("a statement by itself is %s", got)
				}
				newTenant(t, s)
			})
		})
	}
}

// An index is built beside the transaction that holds the lock of migrations, and waits for
// the snapshots of others.
func TestAMigrationDoesNotWaitForItselfWhateverTheDatabaseSays(t *testing.T) {
	bothWays(t, func(t *testing.T, direct, url string, _ gormstore.Options) {
		ofDatabase(t, direct, "default_transaction_isolation = 'serializable'")
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		err := gormstore.OneAtATime(ctx, url, func(db *sql.DB) error {
			return run(ctx, db, "CREATE INDEX CONCURRENTLY businesses_name_idx ON businesses (name)")
		})
		if err != nil {
			t.Error(err)
		}
	})
}

func TestValuesAreReadWhateverTheDatabaseSaysOfTheirText(t *testing.T) {
	bothWays(t, func(t *testing.T, direct, url string, o gormstore.Options) {
		ofDatabase(t, direct, "datestyle = 'German'", "bytea_output = 'escape'", "extra_float_digits = -10", "client_encoding = 'LATIN1'",
			"standard_conforming_strings = off")
		status, err := gormstore.MigrationStatus(t.Context(), url)
		if err != nil || status.Steps[0].AppliedAt == nil || time.Since(*status.Steps[0].AppliedAt) < 0 {
			t.Errorf("%+v (%v)", status, err)
		}
		pool, _ := openWith(t, url, o).Pools()
		var at time.Time
		var bytes []byte
		var number float64
		var text string
		err = pool.QueryRowContext(t.Context(), `SELECT '2026-02-01T03:04:05.678Z'::timestamptz, '\x00ff41'::bytea, 5.603712345678901::float8, 'Ɛ'`).
			Scan(&at, &bytes, &number, &text)
		if err != nil || !at.Equal(time.Date(2026, 2, 1, 3, 4, 5, 678e6, time.UTC)) || string(bytes) != "\x00\xffA" || number != 5.603712345678901 ||
			text != "Ɛ" {
			t.Errorf("%v %x %v %s (%v)", at, bytes, number, text, err)
		}
	})
}

func TestOptionsInTheURLSetParameters(t *testing.T) {
	const wanted = "application_name statement_timeout lock_timeout work_mem"
	options := strings.ReplaceAll(url.QueryEscape(`-c statement_timeout=7s -clock_timeout=6s --work-mem=5MB -c application_name=of\ mine`), "+", "%20")
	bothWays(t, func(t *testing.T, direct, address string, o gormstore.Options) {
		s := openWith(t, with(with(address, "options="+options), "lock_timeout=3s"), o)
		pool, _ := s.Pools()
		if got := shown(t, pool, strings.Fields(wanted)...); got != "of mine 7s 3s 5MB" {
			t.Errorf("%s", got)
		}
		if _, err := gormstore.MigrationStatus(t.Context(), with(address, "options="+options)); err != nil {
			t.Error(err)
		}
	})
}

func TestAServerThatCannotBeUsedTellsWhy(t *testing.T) {
	t.Parallel()
	refused := func(address string, why error, words ...string) {
		t.Helper()
		for _, mode := range []string{"disable", "prefer"} {
			s, err := gormstore.Open(t.Context(), strings.Replace(address, "sslmode=disable", "sslmode="+mode, 1), gormstore.Options{})
			if err == nil {
				s.Close()
			}
			if !errors.Is(err, why) || strings.Contains(err.Error(), "TLS") || strings.Contains(err.Error(), "does not answer") {
				t.Errorf("sslmode %s: %v, want %v", mode, err, why)
				continue
			}
			for _, word := range words {
				if !strings.Contains(err.Error(), word) {
					t.Errorf("sslmode %s: %v, want %q in it", mode, err, word)
				}
			}
			if passes := why != gormstore.ErrEncoding; ports.StorageUnavailable(err) != passes {
				t.Errorf("%v: worth waiting for: %v, want %v", err, !passes, passes)
			}
		}
	}

	direct := newDatabase(t)
	ofDatabase(t, direct, "default_transaction_read_only = on")
	refused(direct, gormstore.ErrReadOnly, "default_transaction_read_only is on for the role")

	full := newDatabase(t)
	limited, _ := newRole(t, full, 0)
	refused(limited, gormstore.ErrTooManyConnections, "too many connections for role")

	conn := connect(t, full)
	latin := conn.Config().Database + "_latin1"
	do(t, conn, "CREATE DATABASE "+latin+" ENCODING 'LATIN1' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0")
	t.Cleanup(func() {
		conn, err := pgx.Connect(context.Background(), full)
		if err == nil {
			_, err = conn.Exec(context.Background(), "DROP DATABASE "+latin)
		}
		if err != nil {
			t.Error(err)
		}
	})
	refused(strings.Replace(full, conn.Config().Database, latin, 1), gormstore.ErrEncoding, "LATIN1")
}

func TestAURLThatCannotBeReadIsNotRepeated(t *testing.T) {
	t.Parallel()
	for _, address := range []string{"postgres://u:hunter22%Zr@h/d", "postgres://u:hunter22/x", "postgres://u:pw@h/hunter22?sslmode=none"} {
		for name, open := range map[string]func() error{
			"opened":   func() error { _, err := gormstore.Open(t.Context(), address, gormstore.Options{}); return err },
			"migrated": func() error { return gormstore.Migrate(t.Context(), address) },
		} {
			if err := open(); err == nil || strings.Contains(err.Error(), "hunter22") || !strings.Contains(err.Error(), "cannot be read") {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

// The server of tests takes any password, so that another user stands for one.
func TestANewConnectionTakesItsUserAndPasswordAnew(t *testing.T) {
	t.Parallel()
	direct := newDatabase(t)
	address, _ := newRole(t, direct, 5)
	current := direct
	s := openWith(t, direct, gormstore.Options{CurrentURL: func() string { return current }})
	pool, _ := s.Pools()
	user := func() (name string) {
		if err := pool.QueryRowContext(t.Context(), "SELECT current_user").Scan(&name); err != nil {
			t.Fatal(err)
		}
		return name
	}
	before := user()
	current = address
	if got := user(); got != before {
		t.Errorf("a connection that is open is %s's, want %s's", got, before)
	}
	pool.SetMaxIdleConns(0) // the next statement connects
	u, err := url.Parse(address)
	if got := user(); err != nil || got != u.User.Username() {
		t.Errorf("a new connection is %s's (%v)", got, err)
	}
	current = "postgres://what is no address"
	if got := user(); got != before {
		t.Errorf("with an address that cannot be read: %s", got)
	}
}
