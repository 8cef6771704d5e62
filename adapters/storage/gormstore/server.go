package gormstore

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/pressly/goose/v3"
)

// Server is the product behind this store, its version as it tells it itself,
// such as "16.4 (Debian 16.4-1)", and its clock. SQLite's is this machine's.
func (s *Store) Server(ctx context.Context) (product, version string, clock time.Time, err error) {
	product, query := "SQLite", "SELECT sqlite_version()"
	into := []any{&version}
	if s.engine.dialect == goose.DialectPostgres {
		product, query = "Postgres", "SELECT current_setting('server_version'), clock_timestamp()"
		into = append(into, &clock)
	}
	if err := s.pools.read.QueryRowContext(ctx, query).Scan(into...); err != nil {
		return "", "", time.Time{}, fmt.Errorf("gormstore: ask the server for its version: %w", err)
	}
	if clock.IsZero() {
		clock = time.Now()
	}
	return product, version, clock, nil
}

// Time is what the database's clock says, the machine's where that is SQLite.
func (s *Store) Time(ctx context.Context) (now time.Time, err error) {
	if s.engine.dialect != goose.DialectPostgres {
		return time.Now(), nil
	}
	if err := s.pools.read.QueryRowContext(ctx, "SELECT clock_timestamp()").Scan(&now); err != nil {
		return time.Time{}, fmt.Errorf("gormstore: ask the server for its time: %w", err)
	}
	return now, nil
}

// SchemaVersions are the newest step that the schema has, 0 where it has none,
// and the newest one that this program was built with.
func (s *Store) SchemaVersions(ctx context.Context) (applied, known int64, err error) {
	known = newestMigration(s.engine.migrations)
	var newest sql.NullInt64
	err = s.pools.read.QueryRowContext(ctx, "SELECT MAX(version_id) FROM "+goose.DefaultTablename).Scan(&newest)
	if err != nil && !s.engine.tableMissing(err) {
		return 0, 0, fmt.Errorf("gormstore: read the migrations: %w", err)
	}
	return newest.Int64, known, nil
}

// Installation is a name that was drawn at random with the database.
func (s *Store) Installation(ctx context.Context) (name string, err error) {
	if err := s.pools.read.QueryRowContext(ctx, "SELECT name FROM installation").Scan(&name); err != nil {
		return "", fmt.Errorf("gormstore: read the name of the installation: %w", err)
	}
	return name, nil
}
