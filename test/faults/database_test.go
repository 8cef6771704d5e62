package faults

import (
	"context"
	"path/filepath"
	"testing"

	_ "github.com/jackc/pgx/v5/stdlib"
	_ "modernc.org/sqlite"

	"waybill/adapters/storage/gormstore"
	"waybill/test/backend"
)

// freshDatabase is migrated and empty.
func freshDatabase(t *testing.T, dialect Dialect) string {
	t.Helper()
	if dialect == Postgres {
		return backend.Database(t, gormstore.Migrate, gormstore.MigrationsHash())
	}
	url := "sqlite://" + filepath.Join(t.TempDir(), "waybill.db")
	if err := gormstore.Migrate(t.Context(), url); err != nil {
		t.Fatal(err)
	}
	return url
}

// check looks for what must never be in a database.
func check(t testing.TB, db Querier, dialect Dialect) []Breach {
	t.Helper()
	found, err := Check(context.WithoutCancel(t.Context()), db, dialect)
	if err != nil {
		t.Fatal(err)
	}
	return found
}
