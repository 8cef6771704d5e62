package gormstore

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"

	"waybill/ports"
)

const (
	// The table of applied migrations. Builds before the baseline used another one.
	versionTable    = "schema_versions"
	oldVersionTable = goose.DefaultTablename

	// The pause between two attempts to lock out another runner.
	migrationLockPause = 200 * time.Millisecond
	migrationLockTries = 3000

	// A migration that gets no lock within lock_timeout ends, and is retried.
	migrationTries = 10
	migrationPause = time.Second

	// SQLite has no lock for sessions. Of two runners, one may find that the step it began is done,
	// and must check again.
	sqliteMigrationTries = 3
)

// Migrate applies missing steps, each in a transaction of its own, and can be run again at any
// time. On Postgres one runner works while the others wait; url may name a pooler in transaction
// mode. Migrate connects with its own pools and leaves none open. It returns ErrEarlierBuild for a
// database of a build before the baseline.
//
// The schema is in migrations/*/0001_schema.sql. A change of it is one more file in both
// directories, and the baseline is never edited. Rules for such a file:
//
//   - It runs while servers of this version and of the one before use large tables. So it adds
//     columns that are null or have a default, and drops or renames nothing that the version
//     before uses.
//   - No statement may make others wait. An index of a large table on Postgres is built with
//     CREATE INDEX CONCURRENTLY, in a file of its own with "-- +goose NO TRANSACTION" and DROP
//     INDEX CONCURRENTLY IF EXISTS before it. An interrupted build leaves an index that cannot be
//     used.
//   - A statement that waits too long for a lock fails, and the step is retried. So a step without
//     a transaction can be repeated from its beginning.
//   - Rows are moved in small parts, each committed separately.
//   - A table whose rows belong to businesses has business_id, and a place in citus_distribute.go.
func Migrate(ctx context.Context, url string) error {
	return withProvider(ctx, url, func(e *dialect, db *sql.DB, p *goose.Provider) error {
		up := func() error {
			_, err := p.Up(ctx)
			return err
		}
		if e.dialect == goose.DialectPostgres {
			alone := up
			up = func() error {
				return oneAtATime(ctx, db, func() error {
					if err := hasSchema(ctx, db); err != nil {
						return err
					}
					if err := alone(); err != nil {
						return err
					}
					return distributeNew(ctx, db)
				})
			}
		}
		for try := 1; ; try++ {
			err := up()
			if err == nil {
				return nil
			}
			again := e.transient(err) || isPg(err, pgLockNotAvailable) ||
				e.dialect == goose.DialectSQLite3 && try < sqliteMigrationTries && !isSQLite(err, sqliteFull)
			if !again || try == migrationTries {
				return fmt.Errorf("migrate: %w", err)
			}
			select {
			case <-ctx.Done():
				return fmt.Errorf("migrate: %w", err)
			case <-time.After(migrationPause):
			}
		}
	})
}

// ErrNoSchema means that the search_path names no schema that exists and that the role may use.
var ErrNoSchema = errors.New("the search_path names no schema that exists and that this role may use")

// hasSchema refuses a session without a schema, which would search all schemas for tables.
func hasSchema(ctx context.Context, db *sql.DB) error {
	var there bool
	if err := db.QueryRowContext(ctx, "SELECT current_schema() IS NOT NULL").Scan(&there); err != nil {
		return err
	}
	if !there {
		return ErrNoSchema
	}
	return nil
}

// ErrEarlierBuild means that a build from before the baseline made the schema.
var ErrEarlierBuild = errors.New("the database was made by an earlier build of this program, from which there is no upgrade")

// refuseEarlierBuild returns ErrEarlierBuild for a database with migrations of such a build.
func refuseEarlierBuild(ctx context.Context, e *dialect, db *sql.DB) error {
	var newest sql.NullInt64
	err := db.QueryRowContext(ctx, "SELECT MAX(version_id) FROM "+oldVersionTable).Scan(&newest)
	switch {
	case err == nil && newest.Int64 > 0:
		return ErrEarlierBuild
	case err == nil || e.tableMissing(err) || LacksPrivilege(err):
		return nil
	}
	return fmt.Errorf("read the migrations: %w", err)
}

// oneAtATime holds a lock while work runs, and waits for that of another runner. The lock belongs
// to a transaction, which is all that a pooler keeps in one session. goose's own lock belongs to a
// session.
func oneAtATime(ctx context.Context, db *sql.DB, work func() error) error {
	for try := 1; ; try++ {
		done, err := workLocked(ctx, db, work)
		if done || err != nil {
			return err
		}
		if try == migrationLockTries {
			return errors.New("another runner has been migrating for too long")
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(migrationLockPause):
		}
	}
}

// endLeftRunner ends the long statement of a runner that was killed. Its lock is gone, but Postgres
// may take hours to find out that nothing waits for the statement.
const endLeftRunner = "SELECT count(pg_terminate_backend(pid, 5000)) FROM pg_stat_activity WHERE datname = current_database()" +
	" AND application_name = 'waybill-migrate' AND state = 'active' AND pid <> pg_backend_pid()" +
	" AND (query LIKE '%DO $$%' OR query LIKE '%INDEX CONCURRENTLY%')"

// workLocked does nothing if another runner has the lock. It does not wait in the transaction:
// waiting runners could take up all sessions of a pooler, and the working one needs a second
// session.
func workLocked(ctx context.Context, db *sql.DB, work func() error) (done bool, err error) {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return false, err
	}
	defer func() { _ = tx.Rollback() }() // committed by then, or dead
	// The simple protocol leaves no portal open. A portal keeps a snapshot, for whose end CREATE
	// INDEX CONCURRENTLY would wait.
	err = tx.QueryRowContext(ctx, "SELECT pg_try_advisory_xact_lock($1)", pgx.QueryExecModeSimpleProtocol, lock.DefaultLockID).Scan(&done)
	if err != nil || !done {
		return false, err
	}
	if _, err := tx.ExecContext(ctx, endLeftRunner, pgx.QueryExecModeSimpleProtocol); err != nil {
		return true, fmt.Errorf("end what a killed runner left: %w", err)
	}
	if err := work(); err != nil {
		return true, err
	}
	if err := tx.Commit(); err != nil {
		return true, fmt.Errorf("the lock was lost while migrating: %w", err)
	}
	return true, nil
}

// MigrationStatus lists all steps, and reports the distribution on Citus.
func MigrationStatus(ctx context.Context, url string) (schema ports.SchemaStatus, err error) {
	err = withProvider(ctx, url, func(e *dialect, db *sql.DB, p *goose.Provider) error {
		status, err := p.Status(ctx)
		if err != nil {
			return fmt.Errorf("read the migrations: %w", err)
		}
		for _, s := range status {
			step := ports.MigrationStep{Version: s.Source.Version, Name: migrationName(s.Source.Path)}
			if s.State == goose.StateApplied {
				at := s.AppliedAt.UTC()
				step.AppliedAt = &at
			}
			schema.Steps = append(schema.Steps, step)
		}
		if e.dialect != goose.DialectPostgres {
			return nil
		}
		state, err := citusOf(ctx, db)
		schema.Nodes, schema.Distributed, schema.HalfDistributed = state.workers, state.distributed, state.begun && !state.distributed
		return err
	})
	return schema, err
}

// MigrationsHash changes whenever a migration of either database does.
func MigrationsHash() string {
	sum := sha256.New()
	for _, e := range []*dialect{&postgresDialect, &sqliteDialect} {
		for _, name := range migrationFiles(e.migrations) {
			text, err := fs.ReadFile(e.migrations, name)
			if err != nil {
				panic(err) // embedded
			}
			fmt.Fprintf(sum, "%s %s %d\n%s", e.dialect, name, len(text), text)
		}
	}
	return hex.EncodeToString(sum.Sum(nil))
}

func withProvider(ctx context.Context, url string, use func(*dialect, *sql.DB, *goose.Provider) error) (err error) {
	e, err := dialectOf(url)
	if err != nil {
		return err
	}
	db, err := e.openForMigrations(url)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()

	provider, err := goose.NewProvider(e.dialect, db, e.migrations, goose.WithDisableGlobalRegistry(true), goose.WithTableName(versionTable))
	if err != nil {
		return fmt.Errorf("prepare the migrations: %w", err)
	}
	// SQLite fails at once as busy if another runner has just created the file.
	for try := 1; ; try++ {
		err := refuseEarlierBuild(ctx, e, db)
		if err == nil {
			break
		}
		if !e.transient(err) || try == migrationTries {
			return noConnection(e, err)
		}
		select {
		case <-ctx.Done():
			return noConnection(e, err)
		case <-time.After(migrationPause):
		}
	}
	return noConnection(e, use(e, db, provider))
}

// noConnection returns why there was no connection, as Open does.
func noConnection(e *dialect, err error) error {
	if _, connecting := errors.AsType[*pgconn.ConnectError](err); connecting {
		if refused := refusalOf(err); refused != nil {
			return refused
		}
	}
	if err != nil && e.gone(err) {
		return fmt.Errorf("%w: %w", ports.ErrStorageGone, err)
	}
	return err
}

// migrationFiles lists the files by name, which is by version.
func migrationFiles(files fs.FS) []string {
	names, err := fs.Glob(files, "*.sql")
	if err != nil {
		panic(err) // the pattern is valid
	}
	return names
}

func newestMigration(files fs.FS) int64 {
	names := migrationFiles(files)
	version, _, _ := strings.Cut(names[len(names)-1], "_")
	n, err := strconv.ParseInt(version, 10, 64)
	if err != nil {
		panic(err) // goose refuses such a name too
	}
	return n
}

// migrationName returns "deliveries" for 0003_deliveries.sql.
func migrationName(file string) string {
	_, name, _ := strings.Cut(strings.TrimSuffix(path.Base(file), ".sql"), "_")
	return strings.ReplaceAll(name, "_", " ")
}
