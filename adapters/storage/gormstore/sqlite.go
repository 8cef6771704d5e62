package gormstore

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/pressly/goose/v3"
	"gorm.io/gorm"
	"modernc.org/sqlite"

	"waybill/domain"
)

// SQLite's result codes; the low byte is the primary one.
const (
	sqliteError          = 1
	sqliteBusy           = 5
	sqliteReadOnly       = 8
	sqliteDiskFailed     = 10
	sqliteFull           = 13
	sqliteCannotOpen     = 14
	sqliteForeignKey     = 787
	sqlitePrimaryKey     = 1555
	sqliteUnique         = 2067
	sqlitePrimaryCode    = 0xff
	sqliteMissingTable   = "no such table"
	sqliteUniqueViolated = "UNIQUE constraint failed: "
)

// sqliteConstraints names constraints as Postgres does. SQLite reports only their columns.
var sqliteConstraints = map[string]string{ //nolint:gosec // names, no credentials
	"deliveries.reference":                      referenceKey,
	"applications.id":                           "applications_pkey",
	"applications.id, applications.business_id": "applications_tenant_key",
	"pickup_locations.id":                       "pickup_locations_pkey",
	"webhook_endpoints.id":                      "webhook_endpoints_pkey",
	"passkey_ceremonies.id":                     "passkey_ceremonies_pkey",
	"deliveries.application_id, deliveries.environment, deliveries.external_id": externalIDKey,
}

//go:embed migrations/sqlite/*.sql
var sqliteMigrations embed.FS

// The function is there in every connection of the process that is opened later.
func init() {
	sqlite.MustRegisterDeterministicScalarFunction("fold_punctuation", 1,
		func(_ *sqlite.FunctionContext, values []driver.Value) (driver.Value, error) {
			text, _ := values[0].(string)
			return domain.FoldPunctuation(text), nil
		})
}

var sqliteDialect = dialect{
	anyApplication:    "d.application_id IN (SELECT id FROM applications)",
	open:              openSQLite,
	openForMigrations: openSQLiteForMigrations,
	dialect:           goose.DialectSQLite3,
	migrations:        subFS(sqliteMigrations, "migrations/sqlite"),

	storeBatch: storeBatchOnSQLite,
	storeRun:   storeRunOnSQLite,
	writers:    1, // as many as connections that write

	now:     "strftime('%Y-%m-%dT%H:%M:%fZ', 'now')",
	later:   "strftime('%Y-%m-%dT%H:%M:%fZ', 'now', ?)",
	far:     "strftime('%Y-%m-%dT%H:%M:%fZ', 'now', '+11 minutes')",
	laterBy: func(d time.Duration) any { return fmt.Sprintf("%+.3f seconds", d.Seconds()) },

	newestLease: "(SELECT * FROM webhook_leases WHERE endpoint_id = $1)",

	keyUses: "SELECT value ->> 'id' AS id, max(value ->> 'at') AS at FROM json_each(?) GROUP BY 1",

	contains:       "instr(search_text, ?) > 0",
	containsFolded: "instr(fold_punctuation(search_text), ?) > 0",
	matches: func(table, text string) (string, any) {
		return "id IN (SELECT r.id FROM " + table + "_search s JOIN " + table + "_search_rows r ON r.number = s.rowid" +
			" WHERE " + table + "_search MATCH ?)", trigrams(text)
	},
	indexable: func(text string) bool { return utf8.RuneCountInString(text) >= trigram },
	fence:     " LIMIT -1",

	insertRequests: insertRequestsOnSQLite,
	rotateRequests: rotateRequestsOnSQLite,
	lacksPartition: func(error) bool { return false },
	stepOf: map[domain.UsageStep]string{
		domain.UsageByMinute: "minute", domain.UsageByHour: "substr(minute, 1, 13) || ':00:00.000Z'",
		domain.UsageByDay: "substr(minute, 1, 10) || 'T00:00:00.000Z'",
	},

	insertFeed: "INSERT INTO feed_events (id, business_id, application_id, environment, delivery_id, sequence, type, occurred_at, payload)" +
		" VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
	feedBound: "9223372036854775807", // one connection writes: positions are in the order of commits
	webhookID: "? || printf('%x', slot)",
	webhookIDOf: func(event, digit string) string {
		return "substr(" + event + ", 1, 31) || '" + digit + "'"
	},
	instant:  "?",
	notAmong: func(column string) string { return column + " NOT IN (SELECT value FROM json_each(?))" },
	idList:   func(ids []domain.ID) string { return `["` + strings.Join(hexes(ids), `","`) + `"]` },
	outcomes: "SELECT value ->> 'id' AS id, value ->> 'status' AS status, value ->> 'attempts' AS attempts, value ->> 'used' AS used," +
		" value ->> 'due_at' AS due_at, value ->> 'attempt' AS attempt, value ->> 'number' AS number, value ->> 'trigger' AS trigger," +
		" value ->> 'code' AS code, value ->> 'error' AS error, value ->> 'took' AS took, value ->> 'excerpt' AS excerpt," +
		" value ->> 'started' AS started, value ->> 'next' AS next FROM json_each(?)",

	violated: func(err error) string {
		e, ok := errors.AsType[*sqlite.Error](err)
		if !ok || e.Code() != sqliteUnique && e.Code() != sqlitePrimaryKey {
			return ""
		}
		// The text: constraint failed: UNIQUE constraint failed: t.a, t.b (2067)
		_, columns, _ := strings.Cut(e.Error(), sqliteUniqueViolated)
		columns, _, _ = strings.Cut(columns, " (")
		return sqliteConstraints[columns]
	},
	orphaned: func(err error) bool {
		e, ok := errors.AsType[*sqlite.Error](err)
		return ok && e.Code() == sqliteForeignKey
	},
	transient: func(err error) bool { return isSQLite(err, sqliteBusy) },
	// There is no row lock: a transaction that begins waits for the one before.
	lockTimedOut: func(error) bool { return false },
	tookTooLong:  func(error) bool { return false },
	// The disk is full, read-only or broken, or another process writes for longer than a
	// transaction waits for that.
	gone: func(err error) bool {
		return isSQLite(err, sqliteFull, sqliteDiskFailed, sqliteCannotOpen, sqliteReadOnly, sqliteBusy)
	},
	full:     func(err error) bool { return isSQLite(err, sqliteFull) },
	readOnly: "SELECT 0",
	refused:  refusedBySQLite,
	tableMissing: func(err error) bool {
		e, ok := errors.AsType[*sqlite.Error](err)
		return ok && e.Code() == sqliteError && strings.Contains(e.Error(), sqliteMissingTable)
	},
}

// refusedBySQLite checks whether the transaction is still open. Then COMMIT did nothing, as with
// SQLITE_BUSY. Otherwise SQLite rolled back by itself after a failure of the disk. The log may hold
// a whole commit that a crash would bring back, so the outcome is unknown. A full disk is the
// exception: the page that completes a commit is the last one, and did not fit.
func refusedBySQLite(ctx context.Context, conn *sql.Conn, err error) bool {
	if isSQLite(err, sqliteFull) {
		return true
	}
	_, err = conn.ExecContext(context.WithoutCancel(ctx), "ROLLBACK")
	return err == nil
}

func isSQLite(err error, primary ...int) bool {
	e, ok := errors.AsType[*sqlite.Error](err)
	return ok && slices.Contains(primary, e.Code()&sqlitePrimaryCode)
}

func openSQLite(address string, o Options, beside *pools) (*pools, error) {
	path, err := sqlitePath(address)
	if err != nil {
		return nil, err
	}
	if len(o.ReplicaURLs) > 0 {
		return nil, errors.New("a SQLite file has no replicas: name none, or move to Postgres")
	}
	p := &pools{named: map[string]*sql.DB{}, dialector: func(db *sql.DB) gorm.Dialector {
		return sqliteDialector{db}
	}}
	if beside != nil {
		p.write = beside.write
	} else {
		if p.write, err = openSQLiteWriter(path); err != nil {
			return nil, err
		}
		p.named["write"] = p.write
	}
	if p.read, err = openSQLiteReaders(path, o.SQLiteReaders); err != nil {
		return nil, errors.Join(err, p.close())
	}
	p.lists, p.named[o.Name] = p.read, p.read
	if o.ListPoolSize > 0 {
		if p.lists, err = openSQLiteReaders(path, o.ListPoolSize); err != nil {
			return nil, errors.Join(err, p.close())
		}
		p.named[o.Name+"_lists"] = p.lists
	}
	return p, nil
}

func openSQLiteReaders(path string, size int) (*sql.DB, error) {
	db, err := sqlitePool(sqliteDSN(path, "_pragma=query_only(1)"), "BEGIN", size)
	if err != nil {
		return nil, fmt.Errorf("open the database: %w", err)
	}
	return db, nil
}

func openSQLiteForMigrations(address string) (*sql.DB, error) {
	path, err := sqlitePath(address)
	if err != nil {
		return nil, err
	}
	return openSQLiteWriter(path)
}

// openSQLiteWriter opens one connection: two would only wait for each other. It takes the write
// lock when a transaction begins. One that starts as a reader fails when it has to become a writer.
func openSQLiteWriter(path string) (*sql.DB, error) {
	// SQLite would create a file that all users of the machine can read, and it contains people's
	// addresses. Its side files get the same mode.
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600) //nolint:gosec // the file that the settings name
	if err != nil {
		return nil, fmt.Errorf("open the file of the database: %w", err)
	}
	if err := file.Close(); err != nil {
		return nil, fmt.Errorf("open the file of the database: %w", err)
	}
	// Pages that many commits change are written into the file less often than by default, and are
	// in memory more often: 16 MB of them, and 8 MB of log.
	db, err := sqlitePool(sqliteDSN(path, "_pragma=cache_size(-16000)", "_pragma=wal_autocheckpoint(2000)"), "BEGIN IMMEDIATE", 1)
	if err != nil {
		return nil, fmt.Errorf("open the database: %w", err)
	}
	return db, nil
}

// sqliteDSN sets on every connection what SQLite does not store in the file.
func sqliteDSN(path string, more ...string) string {
	u := url.URL{Path: path}
	return "file:" + u.EscapedPath() + "?" + strings.Join(append([]string{
		"_pragma=busy_timeout(5000)",
		"_pragma=journal_mode(WAL)",
		"_pragma=synchronous(FULL)", // an acknowledged create survives a power cut
		"_pragma=foreign_keys(1)",
	}, more...), "&")
}

// sqlitePath returns the path of sqlite://PATH, relative or absolute.
func sqlitePath(address string) (string, error) {
	path := strings.TrimPrefix(address, "sqlite://")
	switch {
	case path == "":
		return "", errors.New("sqlite:// lacks the path of the file")
	case strings.HasPrefix(path, ":memory:"):
		return "", errors.New("SQLite runs on a file only; name one in a temporary directory")
	}
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return "", &fs.PathError{Op: "open", Path: path, Err: errors.New("is a directory; name a file in it")}
	}
	return path, nil
}
