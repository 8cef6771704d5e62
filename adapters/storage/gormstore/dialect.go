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

// dialect is all that differs between the databases. All other SQL is written in
// a way that both understand.
type dialect struct {
	// open prepares connections; reads and writes may use the same ones. Pools
	// beside others of the same file take the connection that writes from them.
	open func(url string, o Options, beside *pools) (*pools, error)

	// openForMigrations is a pool whose statements may take their time.
	openForMigrations func(url string) (*sql.DB, error)
	dialect           goose.Dialect
	migrations        fs.FS

	// storeBatch stores bookings in one transaction and returns an outcome for each,
	// which may be batch.ErrAlone; writers is how many batches pay at a time.
	storeBatch func(ctx context.Context, s *Store, entries []*entry) []error
	writers    int
	// storeRun stores items of a bulk in their order, up to the first one that
	// fails, and returns how many.
	storeRun func(ctx context.Context, s *Store, entries []*entry) (int, error)
	// batchesLookups tells that a row by its key costs less than to ask for it.
	batchesLookups bool
	// changesInWith tells that the parts of a WITH may change rows.
	changesInWith bool
	// sharded tells that rows of businesses are on several nodes (citus.go), and owners knows
	// the businesses of endpoints there.
	sharded bool
	owners  *endpointOwners
	// locksRows tells that a transaction which waits for a row lets others go on.
	locksRows bool

	// recentTables selects tables whose statistics the database needs to plan
	// well; empty where it does not.
	recentTables string

	// limitsStatements tells that the database itself ends a statement that takes
	// longer than its connection allows.
	limitsStatements bool

	// now is the database's clock in SQL; later is that clock plus one
	// parameter, which laterBy makes.
	now     string
	later   string
	far     string // 11 minutes from now
	laterBy func(d time.Duration) any

	// rowLock at the end of a SELECT keeps its rows from others that change them; empty:
	// there is one writer.
	rowLock string
	// namesKeys tells that ON CONFLICT may name a key; where it may not, it names none.
	namesKeys bool

	// newestLease is a row of webhook_leases, of the endpoint that $1 stands for.
	newestLease string

	// keyUses selects (id, at) of the API keys in a JSON array of keyUse, the
	// latest of each, and keeps others from changing them meanwhile.
	keyUses string

	// contains is the condition that search_text contains a parameter. matches is
	// one for a row of a table, with its value, that an index of trigrams serves
	// where the text is indexable.
	contains  string
	matches   func(table, text string) (condition string, value any)
	indexable func(text string) bool
	// fence ends a subquery that is planned by itself, as if all its rows were wanted.
	fence string

	// insertFeed stores a feedEventRow, all columns but position.
	insertFeed string
	// feedBound is the position up to which no further event can appear in the feed;
	// feedLag selects for how many seconds a transaction has held it back. Empty: none
	// can.
	feedBound, feedLag string
	// anyApplication is the condition that a delivery d is of some application,
	// written so that an index which begins with the application is entered once
	// for each: so the matching rows are found without reading the others.
	anyApplication string
	// webhookID is the ID of a webhook delivery: a parameter with the slot of the
	// endpoint behind it. instant is a parameter that is a time.
	webhookID, instant string
	// webhookIDOf is the SQL for the ID of a webhook delivery, from the SQL for
	// that of its event and for the digit of the slot.
	webhookIDOf func(event, digit string) string
	// catchUp makes positions in the feed go on where a database was restored
	// from another one, and is nil where they do by themselves.
	catchUp func(ctx context.Context, db *sql.DB) error
	// lockMembers ends a SELECT of memberships m that holds their rows.
	lockMembers string
	// insertRequests stores rows in a table of the request log, and rotateRequests is
	// ports.RequestLog. lacksPartition tells that a record is of a time without a partition;
	// makePartitions makes partitions for so many days ahead and returns the period they cover. Nil: every time
	// is covered.
	insertRequests func(ctx context.Context, sn session, table string, rows []requestRow) error
	rotateRequests func(ctx context.Context, s *Store, keep domain.RequestLogKeeping) error
	lacksPartition func(err error) bool
	makePartitions func(ctx context.Context, s *Store, ahead int) (from, until time.Time, err error)
	// unhurried is the statement that makes the COMMIT of a transaction not wait for
	// the disk; empty: it has to.
	unhurried string
	// stepOf is the beginning of the step that usage_minutes.minute is in.
	stepOf map[domain.UsageStep]string
	// notAmong is the condition that a column is none of the IDs of a list, which is a
	// parameter as idList makes it.
	notAmong func(column string) string
	idList   func([]domain.ID) string
	// outcomes selects from a JSON array of outcome.
	outcomes string

	// violated is the name of the unique constraint an error is about, or empty.
	violated func(err error) string
	// orphaned tells that a foreign key points at nothing.
	orphaned func(err error) bool
	// transient tells that the transaction may succeed when it is run again.
	transient func(err error) bool
	// lockTimedOut tells that another transaction held a row for too long.
	lockTimedOut func(err error) bool
	// tookTooLong tells that a statement was cut off after the time it may take.
	tookTooLong func(err error) bool
	// gone tells that the database does not answer, or not now.
	gone func(err error) bool
	// full tells that its disk is.
	full func(err error) bool
	// readOnly asks a session whether it may only read.
	readOnly string
	// refused tells of an error of COMMIT that nothing was committed for sure.
	// It may use the connection, which is given up afterwards.
	refused func(ctx context.Context, conn *sql.Conn, err error) bool
	// tableMissing tells that the schema is not there.
	tableMissing func(err error) bool
}

// dialectOf tells the dialect by the scheme of the URL.
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

// failed adds to an error what could not be done. A missing record becomes
// domain.ErrNotFound, and a record that others hold for too long, or always change
// first, domain.Busy.
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

// inserted is failed for an INSERT into a table of a row with an ID that was drawn before.
func (e *dialect) inserted(table, what string, err error) error {
	if err == nil {
		return nil
	}
	if key := e.violated(err); key == table+"_pkey" || key == table+"_tenant_key" { // which begins with the ID
		return fmt.Errorf("%s: %w", what, ports.ErrIDTaken)
	}
	return e.failed(what, err)
}

// keyed fits a statement with ON CONFLICT ON CONSTRAINT to the dialect. A key is named, and
// not its columns, so that servers of this version go on when a later one adds a column.
func (e *dialect) keyed(statement string) string {
	if e.namesKeys {
		return statement
	}
	return constraintNamed.ReplaceAllString(statement, "")
}

var constraintNamed = regexp.MustCompile(` ON CONSTRAINT \w+`)

// waitedInVain tells that another transaction holds a row for too long.
func (e *dialect) waitedInVain(err error) bool {
	return errors.Is(err, errRowHeld) || e.lockTimedOut(err)
}

// changed is failed for an UPDATE of one row that has to be there.
func (e *dialect) changed(what string, result *gorm.DB) error {
	if result.Error == nil && result.RowsAffected == 0 {
		return domain.ErrNotFound
	}
	return e.failed(what, result.Error)
}

// webhooks puts the dialect's own forms into a statement about webhooks.
func (e *dialect) webhooks(statement string) string {
	return strings.NewReplacer("$webhook_id", e.webhookID, "$instant", e.instant, "$outcomes", e.outcomes).Replace(statement)
}
