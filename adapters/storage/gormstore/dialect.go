package gormstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"strings"
	"time"

	"github.com/pressly/goose/v3"

	"gorm.io/gorm"

	"waybill/domain"
	"waybill/ports"
)

// dialect holds all that differs between the databases. Both understand all other SQL.
type dialect struct {
	// open prepares connections; reads and writes may use the same ones. Pools beside others of the
	// same file use their writing connection.
	open func(url string, o Options, beside *pools) (*pools, error)

	// openForMigrations returns a pool whose statements have no time limit.
	openForMigrations func(url string) (*sql.DB, error)
	dialect           goose.Dialect
	migrations        fs.FS

	// storeBatch stores bookings in one transaction and returns an outcome for each, which may be
	// batch.ErrAlone. writers is how many batches at a time pay off.
	storeBatch func(ctx context.Context, s *Store, entries []*entry) []error
	writers    int
	// storeRun stores items of a bulk in their order, up to the first one that fails, and returns
	// how many.
	storeRun func(ctx context.Context, s *Store, entries []*entry) (int, error)
	// batchesLookups reports that a round trip costs more than to find a row by its key.
	batchesLookups bool
	// changesInWith reports that the parts of a WITH may change rows.
	changesInWith bool
	// sharded reports that rows of businesses are on several nodes (citus.go). owners caches the
	// businesses of endpoints there.
	sharded bool
	owners  *endpointOwners
	// locksRows reports that a transaction which waits for a row does not stop others.
	locksRows bool

	// recentTables selects tables whose statistics the database needs to plan well. It is empty
	// where the database needs none.
	recentTables string

	// limitsStatements reports that the database itself ends a statement that takes longer than its
	// connection allows.
	limitsStatements bool

	// now reads the database's clock in SQL. later adds a parameter to it, which laterBy returns.
	now     string
	later   string
	far     string // 11 minutes from now
	laterBy func(d time.Duration) any

	// rowLock at the end of a SELECT locks its rows against changes by others. It is empty where
	// there is one writer.
	rowLock string
	// namesKeys reports that ON CONFLICT may name a key. Elsewhere it names none.
	namesKeys bool

	// newestLease selects the row of webhook_leases of the endpoint $1.
	newestLease string

	// keyUses selects (id, at) of the API keys in a JSON array of keyUse, the latest of each, and
	// locks them.
	keyUses string

	// contains is the condition that search_text contains a parameter. matches returns a condition
	// on a row of a table, and its value, that an index of trigrams serves if the text is
	// indexable.
	// containsFolded is the condition that it does after domain.FoldPunctuation. It costs more.
	contains, containsFolded string
	matches                  func(table, text string) (condition string, value any)
	indexable                func(text string) bool
	// fence ends a subquery that is planned separately, as if all its rows were needed.
	fence string

	// insertFeed inserts a feedEventRow, all columns but position.
	insertFeed string
	// feedBound returns the position up to which no further event can appear in the feed. feedLag
	// selects for how many seconds a transaction has held it back; it is empty where none can.
	feedBound, feedLag string
	// anyApplication is the condition that a delivery d is of some application. It is written so
	// that an index which begins with the application is searched once for each. So other rows are
	// not read.
	anyApplication string
	// webhookID returns the ID of a webhook delivery: a parameter followed by the slot of the
	// endpoint. instant is a parameter that is a time.
	webhookID, instant string
	// webhookIDOf returns the SQL for the ID of a webhook delivery, from the SQL for that of its
	// event and the digit of the slot.
	webhookIDOf func(event, digit string) string
	// catchUp continues the positions in the feed after a database was restored from another one.
	// It is nil where they continue by themselves.
	catchUp func(ctx context.Context, db *sql.DB) error
	// lockMembers ends a SELECT of memberships m and locks their rows.
	lockMembers string
	// insertRequests stores rows in a table of the request log, and rotateRequests implements
	// ports.RequestLog. lacksPartition reports that no partition has the time of a record.
	// makePartitions makes partitions for so many days ahead and returns the period they cover. It
	// is nil where every time is covered.
	insertRequests func(ctx context.Context, sn session, table string, rows []requestRow) error
	rotateRequests func(ctx context.Context, s *Store, keep domain.RequestLogKeeping) error
	lacksPartition func(err error) bool
	makePartitions func(ctx context.Context, s *Store, ahead int) (from, until time.Time, err error)
	// unhurried makes the COMMIT of a transaction not wait for the disk. It is empty where it has
	// to wait.
	unhurried string
	// stepOf returns the beginning of the step that contains usage_minutes.minute.
	stepOf map[domain.UsageStep]string
	// notAmong returns the condition that a column is none of the IDs of a list, a parameter made
	// by idList.
	notAmong func(column string) string
	idList   func([]domain.ID) string
	// outcomes selects from a JSON array of outcome.
	outcomes string

	// violated returns the name of the unique constraint that an error is about, or an empty text.
	violated func(err error) string
	// orphaned reports that a foreign key refers to no row.
	orphaned func(err error) bool
	// transient reports that the transaction may succeed when it is retried.
	transient func(err error) bool
	// lockTimedOut reports that another transaction held a row for too long.
	lockTimedOut func(err error) bool
	// tookTooLong reports that a statement was ended at its time limit.
	tookTooLong func(err error) bool
	// gone reports that the database does not respond, or not now.
	gone func(err error) bool
	// full reports that its disk is full.
	full func(err error) bool
	// readOnly asks a session whether it is read-only.
	readOnly string
	// refused reports that an error of COMMIT means that nothing was committed for sure. It may use
	// the connection, which is closed afterwards.
	refused func(ctx context.Context, conn *sql.Conn, err error) bool
	// tableMissing reports that the schema does not exist.
	tableMissing func(err error) bool
}

// dialectOf returns the dialect by the scheme of the URL.
func dialectOf(url string) (*dialect, error) {
	switch scheme, _, _ := strings.Cut(url, "://"); scheme {
	case "postgres", "postgresql":
		return &postgresDialect, nil
	case "sqlite":
		return &sqliteDialect, nil
	}
	// The URL may hold a password, so it is not repeated.
	return nil, errors.New("the database URL must be postgres://USER@HOST/DATABASE or sqlite://PATH")
}

// failed adds to an error what could not be done. A missing record becomes domain.ErrNotFound. A
// record that others hold for too long, or always change first, becomes domain.Busy.
func (e *dialect) failed(what string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, gorm.ErrRecordNotFound), e.orphaned(err):
		return domain.ErrNotFound
	case e.waitedInVain(err):
		return domain.Busy(fmt.Errorf("%s: %w", what, err))
	case e.tookTooLong(err):
		return fmt.Errorf("%s: %w: %w", what, ports.ErrTookTooLong, err)
	case e.gone(err):
		return fmt.Errorf("%s: %w: %w", what, ports.ErrStorageGone, err)
	case e.transient(err): // after all retries
		return domain.Busy(fmt.Errorf("%s: %w", what, err))
	}
	return fmt.Errorf("%s: %w", what, err)
}

// inserted returns the error of an INSERT of a row with an ID that was generated before.
func (e *dialect) inserted(table, what string, err error) error {
	if err == nil {
		return nil
	}
	if key := e.violated(err); key == table+"_pkey" || key == table+"_tenant_key" { // which begins with the ID
		return fmt.Errorf("%s: %w", what, ports.ErrIDTaken)
	}
	return e.failed(what, err)
}

// keyed adapts a statement with ON CONFLICT ON CONSTRAINT to the dialect. It names a key, not its
// columns, so that servers of this version continue when a later one adds a column.
func (e *dialect) keyed(statement string) string {
	if e.namesKeys {
		return statement
	}
	return constraintNamed.ReplaceAllString(statement, "")
}

var constraintNamed = regexp.MustCompile(` ON CONSTRAINT \w+`)

// waitedInVain reports that another transaction holds a row for too long.
func (e *dialect) waitedInVain(err error) bool {
	return errors.Is(err, errRowHeld) || e.lockTimedOut(err)
}

// changed returns the error of an UPDATE of one row that must exist.
func (e *dialect) changed(what string, result *gorm.DB) error {
	if result.Error == nil && result.RowsAffected == 0 {
		return domain.ErrNotFound
	}
	return e.failed(what, result.Error)
}

// webhooks fills the dialect's own forms into a statement about webhooks.
func (e *dialect) webhooks(statement string) string {
	return strings.NewReplacer("$webhook_id", e.webhookID, "$instant", e.instant, "$outcomes", e.outcomes).Replace(statement)
}
