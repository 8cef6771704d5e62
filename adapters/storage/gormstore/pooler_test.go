package gormstore_test

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"waybill/adapters/storage/gormstore"
	"waybill/test/backend"
)

// startPgBouncer puts one before the server of a database.
func startPgBouncer(t testing.TB, database string, settings ...string) *backend.PgBouncer {
	t.Helper()
	server, err := backend.StartPgBouncer(t.Context(), database, settings...)
	if errors.Is(err, backend.ErrNoPgBouncer) && os.Getenv("CI") != "true" {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Stop(); err != nil {
			t.Error(err)
		}
	})
	return server
}

// bothWays runs a test on Postgres itself and behind PgBouncer. direct is the
// address for what the test does beside the store.
func bothWays(t *testing.T, test func(t *testing.T, direct, url string, o gormstore.Options)) {
	t.Helper()
	t.Run("Postgres", func(t *testing.T) {
		t.Parallel()
		direct := newDatabase(t)
		if !behindPooler(t) {
			test(t, direct, direct, gormstore.Options{})
			return
		}
		test(t, direct, startPgBouncer(t, direct).URL(direct), gormstore.Options{TransactionPooler: true})
	})
}

// behindPooler reports whether a test is a part of TestLongBehindPgBouncer.
func behindPooler(t testing.TB) bool { return strings.HasPrefix(t.Name(), "TestLongBehindPgBouncer/") }

// TestLongBehindPgBouncer runs tests again with PgBouncer between the program and Postgres.
func TestLongBehindPgBouncer(t *testing.T) {
	for name, test := range map[string]func(*testing.T){
		"a held row":                  TestAWaiterForARowThatIsHeldKeepsNoConnectionFromOthers,
		"a process that stopped":      TestTheFeedDoesNotWaitLongForAProcessThatHasStopped,
		"look-ups":                    TestConcurrentLookUpsFindTheirOwn,
		"time-outs":                   TestWhatTakesTooLongIsEnded,
		"an idle transaction":         TestATransactionThatDoesNothingIsEndedAndGivesItsLocksBack,
		"settings of the URL":         TestWhatTheURLSetsHoldsBehindAPoolerToo,
		"the lock of migrations":      TestARunnerOfMigrationsTellsThatItLostItsLock,
		"an index built concurrently": TestAMigrationDoesNotWaitForItselfWhateverTheDatabaseSays,
		"isolation":                   TestTransactionsReadWhatIsCommittedWhateverTheDatabaseSays,
		"values as text":              TestValuesAreReadWhateverTheDatabaseSaysOfTheirText,
		"options of the URL":          TestOptionsInTheURLSetParameters,
		"connections of environments": TestAnEnvironmentIsServedWhileTheOtherOneHoldsAllItsConnections,
		"connections of lists":        TestNothingButListsWaitsForListsThatHoldTheirConnections,
		"a list that takes too long":  TestThePageOfAListIsCutOffInItsTime,
		"dead connections":            TestConnectionsThatDiedInThePoolFailNoRequest,
		"a write that ends a session": TestAWriteThatEndsItsConnectionIsNotRepeated,
		"a connection lost at commit": TestAConnectionThatBreaksAtCommit,
		"sessions that may only read": TestSessionsThatMayOnlyReadAreLeftAsSoonAsOthersCanBeHad,
	} {
		t.Run(name, func(t *testing.T) { t.Parallel(); test(t) })
	}
}

func connect(t testing.TB, url string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close(context.Background()) })
	return conn
}

// do runs a statement in another session.
func do(t testing.TB, conn *pgx.Conn, statement string) {
	t.Helper()
	if _, err := conn.Exec(t.Context(), statement); err != nil {
		t.Fatal(err)
	}
}

func sqlState(err error) string {
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		return e.Code
	}
	return fmt.Sprintf("no SQLSTATE: %v", err)
}

const ignoringTimeouts = "ignore_startup_parameters = statement_timeout,lock_timeout,idle_in_transaction_session_timeout"

func TestLongAPoolerIsRefusedWhereItWasNotNamed(t *testing.T) {
	direct := newDatabase(t)
	for name, settings := range map[string][]string{
		"that refuses the time-outs":          nil,
		"that ignores the time-outs":          {ignoringTimeouts},
		"that ignores them in a session each": {ignoringTimeouts, "pool_mode = session"},
	} {
		t.Run(name, func(t *testing.T) {
			bouncer := startPgBouncer(t, direct, settings...)
			s, err := gormstore.Open(t.Context(), bouncer.URL(direct), gormstore.Options{})
			if err == nil {
				s.Close()
			}
			if !errors.Is(err, gormstore.ErrPooler) {
				t.Errorf("Open: %v, want ErrPooler", err)
			}
			openPooled(t, bouncer.URL(direct))
		})
	}
	openPooled(t, direct) // slower, and no mistake
}

func TestLongAPoolerIsRefusedWhereItCameLater(t *testing.T) {
	direct := newDatabase(t)
	bouncer := startPgBouncer(t, direct, ignoringTimeouts)
	p := startProxy(t, direct)
	s := open(t, p.url(t, direct))
	p.leadTo(t, bouncer.URL(direct))
	write, _ := s.Pools()
	write.SetMaxIdleConns(0) // the next statement has to connect
	if err := s.Ping(t.Context()); !errors.Is(err, gormstore.ErrPooler) {
		t.Errorf("on a new connection: %v, want ErrPooler", err)
	}
}

// querier is a pool or a transaction.
type querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}

// drain reads a query to its end.
func drain(ctx context.Context, q querier, query string, args ...any) error {
	rows, err := q.QueryContext(ctx, query, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
	}
	return rows.Err()
}

// leave reads the first row of a query and no more.
func leave(ctx context.Context, q querier, query string) (err error) {
	rows, err := q.QueryContext(ctx, query)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close(), rows.Err()) }()
	if !rows.Next() {
		return errors.New("there is no first row")
	}
	return nil
}

func run(ctx context.Context, q querier, statement string, args ...any) error {
	_, err := q.ExecContext(ctx, statement, args...)
	return err
}

var tooLong = []struct {
	name, code string
	do         func(ctx context.Context, q querier) error
}{
	{"a long query", "57014", func(ctx context.Context, q querier) error { return drain(ctx, q, "SELECT pg_sleep(20)") }},
	{"a long query with an argument", "57014", func(ctx context.Context, q querier) error {
		return drain(ctx, q, "SELECT pg_sleep($1)", 20.0)
	}},
	{"a long statement", "57014", func(ctx context.Context, q querier) error { return run(ctx, q, "SELECT pg_sleep(20)") }},
	{"a long statement with an argument", "57014", func(ctx context.Context, q querier) error {
		return run(ctx, q, "SELECT pg_sleep($1)", 20.0)
	}},
	{"a query for a locked row", "55P03", func(ctx context.Context, q querier) error {
		return drain(ctx, q, "SELECT id FROM businesses FOR UPDATE")
	}},
	{"a change of a locked row", "55P03", func(ctx context.Context, q querier) error {
		return run(ctx, q, "UPDATE businesses SET name = 'b'")
	}},
	{"a change of a locked row with an argument", "55P03", func(ctx context.Context, q querier) error {
		return run(ctx, q, "UPDATE businesses SET name = $1", "b")
	}},
}

// short are time-outs that a test can wait for, the lock's well before the
// statement's.
func short(o gormstore.Options) gormstore.Options {
	o.StatementTimeout, o.LockTimeout, o.IdleInTransactionTimeout = 300*time.Millisecond, 100*time.Millisecond, 2*time.Second
	return o
}

func TestWhatTakesTooLongIsEnded(t *testing.T) {
	bothWays(t, func(t *testing.T, direct, url string, o gormstore.Options) {
		s := openWith(t, url, short(o))
		newTenant(t, s)
		holder := connect(t, direct)
		do(t, holder, "BEGIN; UPDATE businesses SET name = 'a'")
		pool, _ := s.Pools()
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		for _, c := range tooLong {
			if err := c.do(ctx, pool); sqlState(err) != c.code {
				t.Errorf("%s: %v, want SQLSTATE %s", c.name, err, c.code)
			}
			tx, err := pool.BeginTx(ctx, nil)
			if err != nil {
				t.Fatal(err)
			}
			if err := drain(ctx, tx, "SELECT 1"); err != nil {
				t.Error(err)
			}
			if err := c.do(ctx, tx); sqlState(err) != c.code {
				t.Errorf("%s, in a transaction: %v, want SQLSTATE %s", c.name, err, c.code)
			}
			if err := tx.Rollback(); err != nil {
				t.Error(err)
			}
		}
	})
}

func TestATransactionThatDoesNothingIsEndedAndGivesItsLocksBack(t *testing.T) {
	bothWays(t, func(t *testing.T, direct, url string, o gormstore.Options) {
		s := openWith(t, url, short(o))
		newTenant(t, s)
		pool, _ := s.Pools()
		tx, err := pool.BeginTx(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := run(t.Context(), tx, "UPDATE businesses SET name = 'a'"); err != nil {
			t.Fatal(err)
		}
		do(t, connect(t, direct), "SET lock_timeout = '20s'; UPDATE businesses SET name = 'b'")
		if err := tx.Commit(); err == nil {
			t.Error("it could be committed")
		}
		if err := s.Ping(t.Context()); err != nil {
			t.Errorf("afterwards: %v", err)
		}
	})
}

// What others say to a session that they share with us is no concern of ours,
// and the other way round.
func TestLongNothingIsLeftInASharedSessionOrTakenFromIt(t *testing.T) {
	direct := newDatabase(t)
	url := startPgBouncer(t, direct, "default_pool_size = 1").URL(direct)
	other := connect(t, url+"&default_query_exec_mode=simple_protocol")
	do(t, other, "SET statement_timeout = '1h'; SET lock_timeout = '1h'")
	s := openWith(t, url, short(gormstore.Options{TransactionPooler: true}))
	newTenant(t, s)
	holder := connect(t, direct)
	do(t, holder, "BEGIN; UPDATE businesses SET name = 'a'")
	pool, _ := s.Pools()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	for _, c := range tooLong {
		if err := c.do(ctx, pool); sqlState(err) != c.code {
			t.Errorf("%s: %v, want SQLSTATE %s", c.name, err, c.code)
		}
	}
	for name, want := range map[string]string{"statement_timeout": "1h", "lock_timeout": "1h", "idle_in_transaction_session_timeout": "0"} {
		var got string
		if err := other.QueryRow(t.Context(), "SHOW "+name).Scan(&got); err != nil || got != want {
			t.Errorf("the other client's %s is %q (%v), want %q", name, got, err, want)
		}
	}
	var prepared int
	if err := other.QueryRow(t.Context(), "SELECT count(*) FROM pg_prepared_statements").Scan(&prepared); err != nil || prepared != 0 {
		t.Errorf("%d statements are prepared in the session (%v), want none", prepared, err)
	}
}

func TestWhatTheURLSetsHoldsBehindAPoolerToo(t *testing.T) {
	const wanted = "SELECT concat_ws(' ', current_setting('statement_timeout'), current_setting('lock_timeout')," +
		" current_setting('search_path'), current_setting('TimeZone'), current_setting('application_name'))"
	bothWays(t, func(t *testing.T, _, url string, o gormstore.Options) {
		s := openWith(t, url+"&statement_timeout=7s&search_path=it%27s,public&TimeZone=Africa/Accra&application_name=doctor", o)
		pool, _ := s.Pools()
		tx, err := pool.BeginTx(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer tx.Rollback()
		for name, row := range map[string]*sql.Row{
			"alone": pool.QueryRowContext(t.Context(), wanted), "in a transaction": tx.QueryRowContext(t.Context(), wanted),
		} {
			var got string
			if err := row.Scan(&got); err != nil || got != "7s 2s it's,public Africa/Accra doctor" {
				t.Errorf("%s: %q (%v)", name, got, err)
			}
		}
	})
	s, err := gormstore.Open(t.Context(), "postgres://u@127.0.0.1:1/db?options=-d%205",
		gormstore.Options{TransactionPooler: true})
	if err == nil {
		s.Close()
	}
	if err == nil || !strings.Contains(err.Error(), "options") {
		t.Errorf("options in the URL: %v, want an error that names them", err)
	}
}

func TestLongBehindAPoolerValuesComeAsWithoutOne(t *testing.T) {
	direct := newDatabase(t)
	read := func(s *gormstore.Store, query string, args ...any) []any {
		t.Helper()
		pool, _ := s.Pools()
		rows, err := pool.QueryContext(t.Context(), query, args...)
		if err != nil {
			t.Fatal(err)
		}
		defer rows.Close()
		columns, err := rows.Columns()
		if err != nil {
			t.Fatal(err)
		}
		all := []any{columns}
		for rows.Next() {
			values := make([]any, len(columns))
			targets := make([]any, len(columns))
			for i := range values {
				targets[i] = &values[i]
			}
			if err := rows.Scan(targets...); err != nil {
				t.Fatal(err)
			}
			all = append(all, values...)
		}
		if err := rows.Err(); err != nil {
			t.Error(err)
		}
		return all
	}
	without, with := open(t, direct), openPooled(t, startPgBouncer(t, direct).URL(direct))
	for query, args := range map[string][]any{
		`SELECT true AS b, 1::smallint AS i2, -2::integer AS i4, 3000000000 AS i8, 1.5::real AS f4, 0.1::double precision AS f8,
			'' AS empty, 'it''s' AS t, '00ff'::bytea AS y, NULL::bytea AS ny, NULL::text AS nt, NULL::timestamptz AS nz,
			'0191d3c4-0000-7000-8000-000000000001'::uuid AS u, 2.50::numeric AS n, '{"a": 1}'::jsonb AS j, '{"a": 1}'::json AS js,
			'2026-01-02 03:04:05.678+01'::timestamptz(3) AS z, '2026-01-02'::date AS d, '2026-01-02 03:04:05'::timestamp AS ts`: nil,
		"SELECT $1::uuid AS u, $2::bytea AS y, $3::timestamptz AS z, $4::integer AS i, $5::text AS t, $6::double precision AS f, " +
			"$7::boolean AS b": {
			"0191d3c4000070008000000000000001", []byte{0, 255, 'x'}, "2026-01-02T03:04:05.678Z", int64(7), "it's \\ $1", 0.1, true},
		"SELECT g FROM generate_series(1, $1::int) AS g": {300},
		"SELECT 1 AS nothing WHERE false":                nil,
	} {
		if diff := cmp.Diff(read(without, query, args...), read(with, query, args...)); diff != "" {
			t.Errorf("%s (-direct +PgBouncer):\n%s", query, diff)
		}
	}
}

func TestLongBehindAPoolerARowThatFailsIsAnErrorAndAHalfReadQueryNone(t *testing.T) {
	direct := newDatabase(t)
	s := openPooled(t, startPgBouncer(t, direct).URL(direct))
	pool, _ := s.Pools()
	pool.SetMaxOpenConns(1) // so that a connection left in disorder would show
	for range 3 {
		if err := drain(t.Context(), pool, "SELECT 1 / (3 - g) FROM generate_series(1, 5) AS g"); sqlState(err) != "22012" {
			t.Errorf("a row that cannot be computed: %v, want SQLSTATE 22012", err)
		}
		if err := leave(t.Context(), pool, "SELECT repeat('x', 1000) FROM generate_series(1, 5000)"); err != nil {
			t.Errorf("a query that was read in part: %v", err)
		}
		if err := drain(t.Context(), pool, "SELECT * FROM nowhere"); sqlState(err) != "42P01" {
			t.Errorf("a table that is not there: %v, want SQLSTATE 42P01", err)
		}
		if err := run(t.Context(), pool, "UPDATE businesses SET name = $1 WHERE nothing", "x"); sqlState(err) != "42703" {
			t.Errorf("a column that is not there: %v, want SQLSTATE 42703", err)
		}
	}
}

func TestLongMigrationsRunThroughAPoolerOneAtATime(t *testing.T) {
	direct := emptyDatabases["Postgres"](t)
	// Two sessions are what one runner needs; the others may not wait in any.
	url := startPgBouncer(t, direct, "default_pool_size = 2").URL(direct)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	errs := make([]error, 5)
	var wg sync.WaitGroup
	for i := range errs {
		wg.Go(func() { errs[i] = gormstore.Migrate(ctx, url) })
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Error(err)
	}
	if applied, known, err := openPooled(t, url).SchemaVersions(t.Context()); err != nil || applied != known {
		t.Errorf("%d of %d are applied (%v)", applied, known, err)
	}
	var locks int
	if err := connect(t, direct).QueryRow(t.Context(),
		"SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND database = (SELECT oid FROM pg_database WHERE datname = "+
			"current_database())",
	).Scan(&locks); err != nil || locks != 0 {
		t.Errorf("%d locks are left (%v), want none", locks, err)
	}
}

func TestARunnerOfMigrationsTellsThatItLostItsLock(t *testing.T) {
	bothWays(t, func(t *testing.T, direct, url string, _ gormstore.Options) {
		other := connect(t, direct)
		err := gormstore.OneAtATime(t.Context(), url, func(*sql.DB) error {
			do(t, other, "SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory'"+
				" AND database = (SELECT oid FROM pg_database WHERE datname = current_database())")
			return nil
		})
		if err == nil || !strings.Contains(err.Error(), "lock") {
			t.Errorf("%v, want an error that tells of the lock", err)
		}
	})
}

// PgBouncer 1.18 may die of a cancel request, and so may everybody behind it.
func TestLongCallersThatLeaveCancelNothingInAPooler(t *testing.T) {
	t.Parallel()
	direct := newDatabase(t)
	pooler := startPgBouncer(t, direct)
	s, err := gormstore.Open(t.Context(), pooler.URL(direct), gormstore.Options{TransactionPooler: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	_, read := s.Pools()
	var callers sync.WaitGroup
	for range 40 {
		callers.Go(func() {
			ctx, leave := context.WithTimeout(t.Context(), 20*time.Millisecond)
			defer leave()
			_, _ = read.ExecContext(ctx, "SELECT pg_sleep(0.1)") // its answer is not read
		})
	}
	callers.Wait()
	if err := s.Ping(t.Context()); err != nil {
		t.Error(err)
	}
	log, err := os.ReadFile(filepath.Join(pooler.Dir, "server.log"))
	if err != nil {
		t.Fatal(err)
	}
	if n := bytes.Count(log, []byte("cancel request")); n > 0 {
		t.Errorf("%d statements were cancelled", n)
	}
}
