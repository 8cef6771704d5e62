package gormstore_test

import (
	"log/slog"
	"path/filepath"
	"testing"
	"time"

	"waybill/adapters/storage/gormstore"
	"waybill/ports"
	"waybill/test/backend"
	"waybill/test/conformance/storage"
)

// The share of an environment takes the exam, as servers have it; behind PgBouncer
// the only one there is, as workers have it.
func TestSQLiteConforms(t *testing.T) {
	storage.Examine(t, func(t *testing.T) ports.Database {
		return openShares(t, migratedSQLite(t), forExam).live
	})
}

func TestPostgresConforms(t *testing.T) {
	storage.Examine(t, func(t *testing.T) ports.Database {
		return patient(openShares(t, newDatabase(t)+slowDial, forExam).live)
	})
}

func TestLongCitusConforms(t *testing.T) {
	onCitus(t)
	storage.Examine(t, func(t *testing.T) ports.Database {
		return storage.OnNodes{Database: patient(openShares(t, newDatabase(t)+slowDial, forExam).live)}
	})
}

func TestLongPostgresBehindPgBouncerConforms(t *testing.T) {
	bouncer := startPgBouncer(t, newDatabase(t))
	storage.Examine(t, func(t *testing.T) ports.Database {
		return patient(openPooled(t, bouncer.URL(newDatabase(t)+slowDial)))
	})
}

// forExam and slowDial let statements and connections take their time on a busy machine.
var forExam = gormstore.Options{StatementTimeout: time.Minute, ListTimeout: time.Minute}

const slowDial = "&connect_timeout=60"

// patient lets a transaction wait for a row for as long as a healthy one may hold it on
// a machine that is busy with other tests: the exam counts transactions that ran again.
func patient(s *gormstore.Store) *gormstore.Store {
	s.WaitForRows(2 * time.Second)
	return s
}

func openSQLite(t testing.TB) *gormstore.Store {
	t.Helper()
	url := sqliteURL(t)
	if err := gormstore.Migrate(t.Context(), url); err != nil {
		t.Fatal(err)
	}
	return open(t, url)
}

// sqliteURL names a file that is not there yet.
func sqliteURL(t testing.TB) string {
	return "sqlite://" + filepath.Join(t.TempDir(), "a file #1?.db")
}

func openPostgres(t testing.TB) *gormstore.Store {
	t.Helper()
	return open(t, newDatabase(t))
}

// newDatabase is a migrated database of Postgres.
func newDatabase(t testing.TB) string {
	t.Helper()
	return backend.Database(t, gormstore.Migrate, gormstore.MigrationsHash())
}

// open gives statements time enough beside the race detector on a busy machine.
func open(t testing.TB, url string) *gormstore.Store {
	t.Helper()
	return openWith(t, url, gormstore.Options{ListTimeout: time.Minute, StatementTimeout: time.Minute})
}

// openPooled opens what is, or might be, a pooler.
func openPooled(t testing.TB, url string) *gormstore.Store {
	t.Helper()
	return openWith(t, url, gormstore.Options{TransactionPooler: true})
}

func openWith(t testing.TB, url string, o gormstore.Options) *gormstore.Store {
	t.Helper()
	o.Logger = slog.New(slog.NewTextHandler(t.Output(), nil))
	s, err := gormstore.Open(t.Context(), url, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}
