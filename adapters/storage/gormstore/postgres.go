package gormstore

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/pressly/goose/v3"
	"gorm.io/driver/postgres"
	"gorm.io/gorm"

	"waybill/domain"
)

// SQLSTATE codes.
const (
	pgForeignKeyViolation  = "23503"
	pgUniqueViolation      = "23505"
	pgCheckViolation       = "23514"
	pgSerializationFailure = "40001"
	pgDeadlockDetected     = "40P01"
	pgLockNotAvailable     = "55P03"
	pgQueryCanceled        = "57014"
	pgReadOnly             = "25006"
	pgAdminShutdown        = "57P01"
	pgIdleInTransaction    = "25P03"
	pgTransactionTooLong   = "25P04" // transaction_timeout
	pgUnknownDatabase      = "3D000"
	pgDiskFull             = "53100"
	pgStatementUnknown     = "26000"
	pgPlanOutdated         = "0A000" // among others
	pgInternalError        = "XX000"
	pgUndefinedTable       = "42P01"
	pgProtocolViolation    = "08P01"
	pgTooManyConnections   = "53300"
	pgNoPrivilege          = "42501"

	pgConnectionException = "08" // these begin every code of their class
	pgShuttingDown        = "57P"
	pgResourcesUsedUp     = "53" // disk, memory, connections
	pgSystemError         = "58" // of the machine below, such as its disk
)

// Connections are renewed now and then. So a database that is no longer behind its name, or a
// server process that grew with its session, is left behind.
const (
	pgConnLifetime = 30 * time.Minute
	pgConnIdleTime = 5 * time.Minute
)

// A transaction takes the position of an event from a sequence. Until it ends, it holds a shared
// advisory lock of pgFeedLock and of the low half of the number from which its positions start. A
// reader looks at the sequence first, then at the locks, and at the events last. So it knows up to
// where no other events will appear. A transaction whose lock it did not see has ended, or will
// take a position above that of the sequence.
//
// From then on the session may be idle in the transaction for pgFeedIdle only, less than elsewhere:
// a process that is stopped there holds back the feeds of all customers. The same statement sets
// the limit, which costs no round trip. It is long enough for a process that gets no CPU for a
// moment. A slower one responds with 503.
//
// pgFeedBound is the position below which no further events appear. It is computed from locks, not
// from a snapshot. So other transactions of the server, in this database or another, do not hold it
// back.
const (
	pgInsertFeed = "INSERT INTO feed_events (id, business_id, application_id, environment, delivery_id, sequence, type, occurred_at," +
		" payload, position) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, " + pgPosition + ")"
	pgFeedLock = "2002937444" // also in a migration
	pgFeedIdle = "2s"
	pgPosition = "(SELECT nextval('feed_positions') FROM (SELECT pg_advisory_xact_lock_shared(" + pgFeedLock +
		", ((last_value & 4294967295) - 2147483648)::integer), set_config('idle_in_transaction_session_timeout', '" + pgFeedIdle + "', true)" +
		" FROM feed_positions OFFSET 0) AS held)"
	pgFeedHeld = " FROM pg_locks l WHERE l.locktype = 'advisory' AND l.classid = " + pgFeedLock + " AND l.objsubid = 2" +
		" AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())"
	pgFeedBound = "(WITH sequence AS MATERIALIZED (SELECT last_value AS at FROM feed_positions)" +
		" SELECT LEAST(at, (SELECT min(at - (((at - l.objid::bigint) & 4294967295) - 2147483648))" +
		pgFeedHeld + ")) FROM sequence)"
	pgFeedLag = "SELECT COALESCE(max(extract(epoch FROM clock_timestamp() - a.xact_start)), 0)" +
		" FROM pg_stat_activity a WHERE a.pid IN (SELECT l.pid" + pgFeedHeld + ")"
)

var likeWildcards = strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`)

//go:embed migrations/postgres/*.sql
var postgresMigrations embed.FS

var postgresDialect = dialect{
	lockMembers:       " FOR UPDATE OF m",
	open:              openPostgres,
	openForMigrations: openPostgresForMigrations,
	dialect:           goose.DialectPostgres,
	migrations:        subFS(postgresMigrations, "migrations/postgres"),

	storeBatch: storeBatchOnPostgres,
	storeRun:   storeRunOnPostgres,
	writers:    2, // under load, one batch is stored while another waits for the disk

	batchesLookups:   true,
	locksRows:        true,
	limitsStatements: true,
	changesInWith:    true,
	recentTables:     recentTables,

	now:     "now()",
	later:   "now() + make_interval(secs => ?)",
	far:     "now() + interval '11 minutes'",
	laterBy: func(d time.Duration) any { return d.Seconds() },
	rowLock: " FOR NO KEY UPDATE",

	namesKeys: true,

	newestLease: "webhook_lease($1)",

	// In the order of the IDs: two statements that lock the rows as they come could each wait for
	// one that the other has.
	keyUses: "SELECT k.id, u.at FROM (SELECT id, max(at) AS at FROM json_to_recordset(CAST(? AS json)) AS r(id uuid, at timestamptz) GROUP " +
		"BY id) u" +
		" JOIN api_keys k ON k.id = u.id ORDER BY k.id FOR NO KEY UPDATE OF k",

	contains:       "strpos(search_text, ?) > 0",
	containsFolded: "strpos(" + foldedOnPostgres("search_text") + ", ?) > 0",
	matches: func(_, text string) (string, any) {
		return "search_text LIKE ?", "%" + likeWildcards.Replace(text) + "%"
	},
	indexable: hasWord,
	fence:     " OFFSET 0",

	insertRequests: copyRequests,
	rotateRequests: rotateRequestsOnPostgres,
	lacksPartition: func(err error) bool { return isPg(err, pgCheckViolation) },
	makePartitions: makeRequestPartitions,
	unhurried:      "SET LOCAL synchronous_commit = off",
	stepOf: map[domain.UsageStep]string{
		domain.UsageByMinute: "minute", domain.UsageByHour: "date_trunc('hour', minute, 'UTC')",
		domain.UsageByDay: "date_trunc('day', minute, 'UTC')",
	},

	insertFeed:     pgInsertFeed,
	feedBound:      pgFeedBound,
	feedLag:        pgFeedLag,
	anyApplication: "d.application_id = ANY (ARRAY(SELECT id FROM applications))",
	webhookID:      "CAST(CAST(? AS text) || to_hex(CAST(slot AS integer)) AS uuid)",
	webhookIDOf: func(event, digit string) string {
		return "CAST(substr(CAST(" + event + " AS text), 1, 35) || '" + digit + "' AS uuid)"
	},
	instant:  "CAST(? AS timestamptz)",
	catchUp:  catchUpOnPostgres,
	notAmong: func(column string) string { return column + " NOT IN (SELECT unnest(CAST(? AS uuid[])))" },
	idList:   func(ids []domain.ID) string { return "{" + strings.Join(hexes(ids), ",") + "}" },
	outcomes: "SELECT * FROM json_to_recordset(CAST(? AS json)) AS r(id uuid, status text, attempts integer, used integer, due_at " +
		"timestamptz," +
		" attempt uuid, number integer, trigger text, code integer, error text, took integer, excerpt text, started timestamptz, next " +
		"timestamptz)",

	violated: func(err error) string {
		if e, ok := errors.AsType[*pgconn.PgError](err); ok && e.Code == pgUniqueViolation {
			return e.ConstraintName
		}
		return ""
	},
	orphaned:     func(err error) bool { return isPg(err, pgForeignKeyViolation) },
	transient:    transientOnPostgres,
	lockTimedOut: func(err error) bool { return isPg(err, pgLockNotAvailable) },
	tookTooLong:  func(err error) bool { return isPg(err, pgQueryCanceled) },
	gone:         goneOnPostgres,
	full:         func(err error) bool { return isPg(err, pgDiskFull) },
	readOnly:     "SELECT current_setting('transaction_read_only') = 'on'",
	refused:      refusedByPostgres,
	tableMissing: func(err error) bool { return isPg(err, pgUndefinedTable) },
}

// catchUpOnPostgres raises the sequence to the highest position: rows may have been copied without
// it, as by logical replication. IDs and positions both grow, so the newest events have the
// highest.
func catchUpOnPostgres(ctx context.Context, db *sql.DB) error {
	_, err := db.ExecContext(ctx, "SELECT setval('feed_positions', newest.position) FROM feed_positions,"+
		" (SELECT max(position) AS position FROM (SELECT position FROM feed_events ORDER BY id DESC LIMIT 1000) AS newest) AS newest"+
		" WHERE newest.position > feed_positions.last_value")
	if err != nil && !isPg(err, pgUndefinedTable) { // not migrated yet
		return fmt.Errorf("look for the end of the feed: %w", err)
	}
	return nil
}

// transientOnPostgres reports errors that are worth a retry. Two of them are not meant for it: a
// read-only session, after which another one is used, and an internal error of the server when a
// row has lockers and an updater that rolls back.
func transientOnPostgres(err error) bool {
	e, ok := errors.AsType[*pgconn.PgError](err)
	return isPg(err, pgSerializationFailure, pgDeadlockDetected, pgReadOnly) ||
		ok && e.Code == pgInternalError && strings.Contains(e.Message, "multixact")
}

// goneOnPostgres reports that the server stops, is full, is read-only or has ended a session that
// was idle for too long. It also reports a connection that cannot be made or broke.
func goneOnPostgres(err error) bool {
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		return lockedOut(err) || passes(e) || isPg(err, pgReadOnly, pgIdleInTransaction, pgTransactionTooLong)
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return false // the caller's own end
	}
	_, refused := errors.AsType[*pgconn.ConnectError](err)
	_, network := errors.AsType[net.Error](err)
	return refused || network || errors.Is(err, driver.ErrBadConn) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
}

// lockedOut reports that a server refuses this program, and not just for now: the user, the
// password or the database is another one, or is closed. In a running process they were right, so
// an operator is changing them. A process that starts has to report it.
func lockedOut(err error) bool {
	_, connecting := errors.AsType[*pgconn.ConnectError](err)
	e, ok := errors.AsType[*pgconn.PgError](err)
	return connecting && ok && !passes(e)
}

// passes reports an error that goes away: the server stops, starts, is full, breaks or was
// disconnected.
func passes(e *pgconn.PgError) bool {
	return slices.ContainsFunc([]string{pgConnectionException, pgShuttingDown, pgResourcesUsedUp, pgSystemError},
		func(class string) bool { return strings.HasPrefix(e.Code, class) })
}

func isPg(err error, codes ...string) bool {
	e, ok := errors.AsType[*pgconn.PgError](err)
	return ok && slices.Contains(codes, e.Code)
}

// refusedByPostgres trusts an ERROR, after which the server has rolled back. A FATAL error may
// follow a commit that was already durable, if the server shuts down before it responds. An error
// of a connection is not from Postgres, but from a pooler that lost the response.
// pgconn.SafeToRetry is not used: for a lost response it says that nothing was sent (pgx 5.12).
func refusedByPostgres(_ context.Context, _ *sql.Conn, err error) bool {
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		return e.SeverityUnlocalized == "ERROR" && !strings.HasPrefix(e.Code, pgConnectionException)
	}
	return errors.Is(err, pgx.ErrTxCommitRollback) // COMMIT of a failed transaction
}

// The prepared statements that a connection has room for: where the URL sets no number, and what
// pgx sets then.
const (
	preparedStatements = 256
	pgxStatements      = 512
)

func openPostgres(url string, o Options, beside *pools) (*pools, error) {
	p := &pools{named: map[string]*sql.DB{}, dialector: func(db *sql.DB) gorm.Dialector {
		return postgres.New(postgres.Config{Conn: db})
	}}
	all, hosts, err := postgresPool(url, o, o.PoolSize, 0)
	if err != nil {
		return nil, err
	}
	p.write, p.read, p.lists, p.named[o.Name] = all, all, all, all
	p.grows = []growth{{name: o.Name, db: all, hosts: hosts, needed: true}}
	if o.ListPoolSize > 0 {
		if p.lists, hosts, err = postgresPool(url, o, o.ListPoolSize, o.ListTimeout); err != nil {
			return nil, errors.Join(err, p.close())
		}
		lists := o.Name + "_lists"
		p.named[lists] = p.lists
		p.grows = append(p.grows, growth{name: lists, db: p.lists, hosts: hosts})
	}
	if p.replicas, err = openReplicas(o, p, beside); err != nil {
		return nil, errors.Join(err, p.close())
	}
	return p, nil
}

// postgresPool opens a pool of size connections to servers that accept writes, unless the URL says
// otherwise. limit is as that of newPgConnector.
func postgresPool(url string, o Options, size int, limit time.Duration) (*sql.DB, *pgHosts, error) {
	connector, err := newPgConnector(url, o, limit, mayWrite)
	if err != nil {
		return nil, nil, err
	}
	return poolOf(connector, size), connector.hosts, nil
}

// newPgConnector connects to a server that passes validate, unless the URL says which
// ones do. limit, unless 0, is the time-out of each statement, whatever the URL says.
func newPgConnector(url string, o Options, limit time.Duration, validate pgconn.ValidateConnectFunc) (*pgConnector, error) {
	config, err := parsePostgresURL(url)
	if err != nil {
		return nil, err
	}
	// Startup parameters, not SET: they hold for every session from its first statement, unless
	// each transaction has to set them. A parameter in the URL overrides them.
	setDefault(config, "application_name", "waybill")
	if limit > 0 {
		config.RuntimeParams["statement_timeout"] = milliseconds(limit)
	}
	setDefault(config, "statement_timeout", milliseconds(o.StatementTimeout))
	setDefault(config, "lock_timeout", milliseconds(o.LockTimeout))
	setDefault(config, "idle_in_transaction_session_timeout", milliseconds(o.IdleInTransactionTimeout))
	// A table of a few rows is best read as a whole. Postgres continues to do that when a long-held
	// snapshot keeps a million versions of them. Without seqscan it uses an index wherever there is
	// one. Where there is none, the statement looks so costly that it would be compiled first.
	setDefault(config, "enable_seqscan", "off")
	setDefault(config, "jit", "off")

	carried := ""
	if o.citus {
		carried = onCitusNodes(config)
	}
	if config.StatementCacheCapacity == pgxStatements {
		config.StatementCacheCapacity = preparedStatements
	}

	connector, answers := &pgConnector{direct: !o.TransactionPooler, begin: pgBegin, lockTimeout: carried}, answerLimit(config)
	if o.TransactionPooler {
		if connector.alone, err = perTransaction(config); err != nil {
			return nil, err
		}
		connector.begin = pgBegin + "; " + connector.alone
		withoutCancels(config)
	} else {
		endDeadSessions(config)
	}
	connector.hosts = newHosts(url, config, answers, validate, o.CurrentURL)
	return connector, nil
}

func poolOf(connector *pgConnector, size int) *sql.DB {
	db := sql.OpenDB(*connector)
	db.SetMaxOpenConns(size)
	db.SetMaxIdleConns(size)
	db.SetConnMaxLifetime(pgConnLifetime)
	db.SetConnMaxIdleTime(pgConnIdleTime)
	return db
}

func milliseconds(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }

func subFS(files embed.FS, dir string) fs.FS {
	sub, err := fs.Sub(files, dir)
	if err != nil {
		panic(err) // the directory is named by the embed line above it
	}
	return sub
}
