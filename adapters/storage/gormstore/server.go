package gormstore

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/pressly/goose/v3"

	"waybill/ports"
)

// Server returns the product behind this store, its version as the product writes it, such as "16.4
// (Debian 16.4-1)", and its clock. The clock of SQLite is this machine's.
func (s *Store) Server(ctx context.Context) (product, version string, clock time.Time, err error) {
	product, query := "SQLite", "SELECT sqlite_version()"
	into := []any{&version}
	if s.dialect.dialect == goose.DialectPostgres {
		product, query = "Postgres", "SELECT current_setting('server_version'), clock_timestamp()"
		into = append(into, &clock)
	}
	if err := s.pools.read.QueryRowContext(ctx, query).Scan(into...); err != nil {
		return "", "", time.Time{}, fmt.Errorf("ask the server for its version: %w", err)
	}
	if clock.IsZero() {
		clock = time.Now()
	}
	return product, version, clock, nil
}

// Time returns the time by the database's clock, or by the machine's on SQLite.
func (s *Store) Time(ctx context.Context) (now time.Time, err error) {
	if s.dialect.dialect != goose.DialectPostgres {
		return time.Now(), nil
	}
	if err := s.pools.read.QueryRowContext(ctx, "SELECT clock_timestamp()").Scan(&now); err != nil {
		return time.Time{}, fmt.Errorf("ask the server for its time: %w", err)
	}
	return now, nil
}

// ReadClock returns the database's clock, and the reading that KeepClock stored last.
func (s *Store) ReadClock(ctx context.Context) (read ports.ClockReading, err error) {
	var kept struct {
		Now   *time.Time // not cut to milliseconds
		Seen  *instant
		Ahead int64
	}
	query := "SELECT clock_seen AS seen, clock_ahead_ms AS ahead"
	if s.dialect.dialect == goose.DialectPostgres {
		query += ", clock_timestamp() AS now"
	}
	err = s.read.WithContext(ctx).Raw(query + " FROM installation").Scan(&kept).Error
	if err != nil && s.dialect.tableMissing(err) { // not migrated yet
		read.Clock, err = s.Time(ctx)
		return read, err
	}
	if err != nil {
		return read, s.dialect.failed("ask the server for its time", err)
	}
	if read.Clock = time.Now(); kept.Now != nil {
		read.Clock = *kept.Now
	}
	if kept.Seen != nil {
		read.Seen = kept.Seen.time
	}
	read.Ahead = time.Duration(kept.Ahead) * time.Millisecond
	return read, nil
}

// KeepClock stores what the database's clock showed at this moment, and how far another time was
// ahead of it. It replaces the reading from before, unless another process has stored one since.
func (s *Store) KeepClock(ctx context.Context, read ports.ClockReading, ahead time.Duration) error {
	query, values := "clock_seen IS NULL", []any{instantOf(read.Clock), ahead.Milliseconds()}
	if !read.Seen.IsZero() {
		query, values = "clock_seen = ?", append(values, instantOf(read.Seen))
	}
	return s.dialect.failed("keep what the clock shows",
		s.write.WithContext(ctx).Exec("UPDATE installation SET clock_seen = ?, clock_ahead_ms = ? WHERE "+query, values...).Error)
}

// SchemaVersions returns the newest step that the schema has, 0 where it has none, and the newest
// one that this program was built with.
func (s *Store) SchemaVersions(ctx context.Context) (applied, known int64, err error) {
	known = newestMigration(s.dialect.migrations)
	var newest sql.NullInt64
	err = s.pools.read.QueryRowContext(ctx, "SELECT MAX(version_id) FROM "+versionTable).Scan(&newest)
	if err != nil && !s.dialect.tableMissing(err) {
		return 0, 0, fmt.Errorf("read the migrations: %w", err)
	}
	return newest.Int64, known, nil
}

// Installation returns the name that was generated at random with the database.
func (s *Store) Installation(ctx context.Context) (name string, err error) {
	if err := s.pools.read.QueryRowContext(ctx, "SELECT name FROM installation").Scan(&name); err != nil {
		return "", fmt.Errorf("read the name of the installation: %w", err)
	}
	return name, nil
}
