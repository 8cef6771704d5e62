package gormstore_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"waybill/adapters/storage/gormstore"
	"waybill/ports"
	"waybill/test/backend"
)

// emptyDatabases are the URLs of databases without any table.
var emptyDatabases = map[string]func(testing.TB) string{
	"SQLite": sqliteURL,
	"Postgres": func(t testing.TB) string {
		return backend.Database(t, func(context.Context, string) error { return nil }, "empty0000000")
	},
}

func TestMigrationsApplyOnceAndAreReported(t *testing.T) {
	for name, empty := range emptyDatabases {
		t.Run(name, func(t *testing.T) {
			url := empty(t)
			s := open(t, url)
			wantPending := func(want bool) {
				t.Helper()
				if applied, known, err := s.SchemaVersions(t.Context()); err != nil || applied < known != want {
					t.Errorf("%d of %d are applied (%v), want some to be pending: %v", applied, known, err, want)
				}
			}
			wantPending(true)
			status, err := gormstore.MigrationStatus(t.Context(), url)
			if err != nil {
				t.Fatal(err)
			}
			before := status.Steps
			wantPending(true) // with the table of versions, and nothing in it
			for range 2 {
				if err := gormstore.Migrate(t.Context(), url); err != nil {
					t.Fatal(err)
				}
				wantPending(false)
			}
			if status, err = gormstore.MigrationStatus(t.Context(), url); err != nil || status.Nodes != 0 || status.Distributed {
				t.Fatalf("%+v, %v", status, err)
			}
			after := status.Steps
			want := map[int64]string{1: "schema", 2: "usable keys", 3: "listed keys", 4: "tracking cash", 5: "key names"}
			for i := range before {
				if b := before[i]; b.Name != want[b.Version] || b.AppliedAt != nil {
					t.Errorf("before: %+v, want %q, pending", b, want[b.Version])
				}
				if a := after[i]; a.Version != before[i].Version || a.AppliedAt == nil || time.Since(*a.AppliedAt).Abs() > time.Minute {
					t.Errorf("after: %+v, want it applied now", a)
				}
			}
			if len(before) != len(want) || len(after) != len(want) {
				t.Errorf("%d and %d migrations, want %d", len(before), len(after), len(want))
			}
		})
	}
}

func TestManyMayMigrateAtOnce(t *testing.T) {
	for name, empty := range emptyDatabases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := empty(t)
			errs := make([]error, 5)
			var wg sync.WaitGroup
			for i := range errs {
				wg.Go(func() { errs[i] = gormstore.Migrate(t.Context(), url) })
			}
			wg.Wait()
			if err := errors.Join(errs...); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestTheHashOfTheMigrationsNamesATemplate(t *testing.T) {
	if h := gormstore.MigrationsHash(); len(h) != 64 || h != gormstore.MigrationsHash() {
		t.Errorf("hash %q", h)
	}
}

// The row model is one for both engines, so the schemas must be too, but for what
// searches find rows by, and what deletes one by one where Postgres drops partitions.
func TestBothEnginesHaveTheSameTablesAndColumns(t *testing.T) {
	columns := func(s *gormstore.Store, query string) []string {
		t.Helper()
		write, _ := s.Pools()
		rows, err := write.QueryContext(t.Context(), query)
		if err != nil {
			t.Fatal(err)
		}
		defer rows.Close()
		var found []string
		for rows.Next() {
			var table, column string
			var optional bool
			if err := rows.Scan(&table, &column, &optional); err != nil {
				t.Fatal(err)
			}
			found = append(found, fmt.Sprintf("%s.%s optional=%v", table, column, optional))
		}
		if err := rows.Err(); err != nil {
			t.Fatal(err)
		}
		slices.Sort(found)
		return found
	}
	indexes := func(s *gormstore.Store, query string) []string {
		t.Helper()
		write, _ := s.Pools()
		rows, err := write.QueryContext(t.Context(), query)
		if err != nil {
			t.Fatal(err)
		}
		defer rows.Close()
		var found []string
		for rows.Next() {
			var name string
			if err := rows.Scan(&name); err != nil {
				t.Fatal(err)
			}
			found = append(found, name)
		}
		if err := rows.Err(); err != nil {
			t.Fatal(err)
		}
		slices.Sort(found)
		return found
	}
	pg, lite := openPostgres(t), openSQLite(t)
	if diff := cmp.Diff(
		columns(pg, `SELECT table_name, column_name, is_nullable = 'YES' FROM information_schema.columns
			WHERE table_schema = 'public' AND table_name <> 'schema_versions' AND table_name NOT IN (SELECT table_name FROM information_schema.views)`),
		columns(lite, `SELECT m.name, c.name, NOT c."notnull" FROM sqlite_schema m JOIN pragma_table_info(m.name) c
			WHERE m.type = 'table' AND m.name NOT IN ('schema_versions', 'sqlite_sequence') AND m.name NOT LIKE '%\_search%' ESCAPE '\'`),
	); diff != "" {
		t.Errorf("columns differ (-Postgres +SQLite):\n%s", diff)
	}
	if diff := cmp.Diff(
		indexes(pg,
			`SELECT indexname FROM pg_indexes WHERE schemaname = 'public' AND indexname LIKE '%\_idx' AND indexname NOT LIKE '%\_search\_idx'`),
		indexes(lite,
			`SELECT name FROM sqlite_schema WHERE type = 'index' AND name LIKE '%\_idx' ESCAPE '\' AND name NOT IN ('usage_minutes_minute_idx', 'usage_hours_hour_idx')`),
	); diff != "" {
		t.Errorf("indexes differ (-Postgres +SQLite):\n%s", diff)
	}
}

func TestADatabaseOfAnEarlierBuildIsRefused(t *testing.T) {
	for name, empty := range emptyDatabases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := empty(t)
			write, _ := open(t, url).Pools()
			record := func(version int) {
				t.Helper()
				if _, err := write.ExecContext(t.Context(), fmt.Sprintf("CREATE TABLE IF NOT EXISTS goose_db_version (version_id INTEGER);"+
					" INSERT INTO goose_db_version VALUES (%d)", version)); err != nil {
					t.Fatal(err)
				}
			}
			record(0) // an empty database that such a build looked into
			if _, err := gormstore.MigrationStatus(t.Context(), url); err != nil {
				t.Fatal(err)
			}
			record(37)
			_, status := gormstore.MigrationStatus(t.Context(), url)
			s, opened := gormstore.Open(t.Context(), url, gormstore.Options{})
			if opened == nil {
				s.Close()
			}
			for what, err := range map[string]error{"migrate": gormstore.Migrate(t.Context(), url), "show": status, "open": opened} {
				if !errors.Is(err, gormstore.ErrEarlierBuild) || ports.StorageUnavailable(err) {
					t.Errorf("%s: %v", what, err)
				}
			}
		})
	}
}

// A runner that is killed leaves its statement to Postgres, which goes on with it. The next
// runner ends that before it begins.
func TestLongWhatAKilledRunnerLeftIsEndedByTheNext(t *testing.T) {
	t.Parallel()
	for what, long := range map[string]string{
		"DO": "DO $$ BEGIN PERFORM pg_sleep(60); END $$",
		// It waits for the transaction that has written to the table.
		"CREATE INDEX": "CREATE INDEX CONCURRENTLY left_idx ON deliveries (id)",
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			url := newDatabase(t)
			do(t, connect(t, url), "BEGIN; DELETE FROM deliveries")
			left, ended := connectDB(t, url+"&application_name=waybill-migrate"), make(chan error, 1)
			go func() {
				_, err := left.ExecContext(t.Context(), long)
				ended <- err
			}()
			begun := func() (n int) {
				db := connectDB(t, url)
				err := db.QueryRowContext(t.Context(), "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"+
					" AND state = 'active' AND query LIKE '"+what+" %'").Scan(&n)
				if err != nil {
					t.Fatal(err)
				}
				return n
			}
			for begun() == 0 {
				time.Sleep(time.Millisecond)
			}
			if err := gormstore.Migrate(t.Context(), url); err != nil {
				t.Fatal(err)
			}
			if n := begun(); n > 0 {
				t.Fatalf("%d statements of a killed runner go on", n)
			}
			if err := <-ended; err == nil {
				t.Error("the statement came to its end")
			}
		})
	}
}

func connectDB(t testing.TB, url string) *sql.DB {
	t.Helper()
	db, err := sql.Open("pgx", url)
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	t.Cleanup(func() { db.Close() })
	return db
}
