package gormstore

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
	"gorm.io/driver/postgres"
	"gorm.io/gorm"
)

// SQLSTATE codes.
const (
	pgForeignKeyViolation  = "23503"
	pgUniqueViolation      = "23505"
	pgSerializationFailure = "40001"
	pgDeadlockDetected     = "40P01"
	pgLockNotAvailable     = "55P03"
	pgUndefinedTable       = "42P01"
)

// Connections are renewed now and then, so that a database behind a name that
// moved, or a server that grew with its sessions, is left behind.
const (
	pgConnLifetime = 30 * time.Minute
	pgConnIdleTime = 5 * time.Minute
)

//go:embed migrations/postgres/*.sql
var postgresMigrations embed.FS

var postgresEngine = engine{
	open:              openPostgres,
	openForMigrations: openPostgresForMigrations,
	dialect:           goose.DialectPostgres,
	migrations:        subFS(postgresMigrations, "migrations/postgres"),

	now:     "now()",
	later:   "now() + make_interval(secs => ?)",
	laterBy: func(d time.Duration) any { return d.Seconds() },

	violated: func(err error) string {
		if e, ok := errors.AsType[*pgconn.PgError](err); ok && e.Code == pgUniqueViolation {
			return e.ConstraintName
		}
		return ""
	},
	orphaned:     func(err error) bool { return isPg(err, pgForeignKeyViolation) },
	transient:    func(err error) bool { return isPg(err, pgSerializationFailure, pgDeadlockDetected) },
	refused:      refusedByPostgres,
	tableMissing: func(err error) bool { return isPg(err, pgUndefinedTable) },
}

func isPg(err error, codes ...string) bool {
	e, ok := errors.AsType[*pgconn.PgError](err)
	return ok && slices.Contains(codes, e.Code)
}

// refusedByPostgres trusts an ERROR, after which the server has rolled back. A
// FATAL one may come behind a commit that was already durable, when the server
// is told to shut down before it has answered. pgconn.SafeToRetry is not asked:
// of an answer that was lost it says that nothing had been sent (pgx 5.12).
func refusedByPostgres(_ context.Context, _ *sql.Conn, err error) bool {
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		return e.SeverityUnlocalized == "ERROR"
	}
	return errors.Is(err, pgx.ErrTxCommitRollback) // COMMIT of a failed transaction
}

func openPostgres(url string, o Options) (*pools, error) {
	config, err := pgx.ParseConfig(url)
	if err != nil {
		return nil, fmt.Errorf("gormstore: %w", err)
	}
	// Startup parameters, not SET: they hold for every session from its first
	// statement. What the URL says itself stands.
	setDefault(config, "application_name", "waybill")
	setDefault(config, "statement_timeout", milliseconds(o.StatementTimeout))
	setDefault(config, "lock_timeout", milliseconds(o.LockTimeout))
	setDefault(config, "idle_in_transaction_session_timeout", milliseconds(o.IdleInTransactionTimeout))

	db := stdlib.OpenDB(*config)
	db.SetMaxOpenConns(o.PoolSize)
	db.SetMaxIdleConns(o.PoolSize)
	db.SetConnMaxLifetime(pgConnLifetime)
	db.SetConnMaxIdleTime(pgConnIdleTime)
	return &pools{write: db, read: db, dialector: func(db *sql.DB) gorm.Dialector {
		return postgres.New(postgres.Config{Conn: db})
	}}, nil
}

// openPostgresForMigrations sets no statement_timeout: building an index may
// take long. Waiting for a lock may not: everybody else queues behind it.
func openPostgresForMigrations(url string) (*sql.DB, error) {
	config, err := pgx.ParseConfig(url)
	if err != nil {
		return nil, fmt.Errorf("gormstore: %w", err)
	}
	setDefault(config, "application_name", "waybill-migrate")
	setDefault(config, "lock_timeout", milliseconds(defaultLockTimeout))
	return stdlib.OpenDB(*config), nil
}

func setDefault(config *pgx.ConnConfig, name, value string) {
	if _, ok := config.RuntimeParams[name]; !ok {
		config.RuntimeParams[name] = value
	}
}

func milliseconds(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }

func subFS(files embed.FS, dir string) fs.FS {
	sub, err := fs.Sub(files, dir)
	if err != nil {
		panic(err) // the directory is named by the embed line above it
	}
	return sub
}
