package gormstore_test

import (
	"log/slog"
	"path/filepath"
	"testing"

	"waybill/adapters/storage/gormstore"
	"waybill/test/conformance"
	"waybill/test/postgres"
)

func TestSQLiteConforms(t *testing.T) {
	conformance.Storage(t, func(t *testing.T) conformance.Backend { return openSQLite(t) })
}

func TestPostgresConforms(t *testing.T) {
	conformance.Storage(t, func(t *testing.T) conformance.Backend { return openPostgres(t) })
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
	return open(t, postgres.Database(t, gormstore.Migrate, gormstore.MigrationsHash()))
}

func open(t testing.TB, url string) *gormstore.Store {
	t.Helper()
	s, err := gormstore.Open(t.Context(), url, gormstore.Options{Logger: slog.New(slog.NewTextHandler(t.Output(), nil))})
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
