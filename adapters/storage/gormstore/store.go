package gormstore

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"gorm.io/gorm"

	"waybill/adapters/batch"
	"waybill/adapters/turns"
	"waybill/domain"
	"waybill/ports"
)

var _ ports.Database = (*Store)(nil)

// Store is a database. It is safe for concurrent use.
type Store struct {
	dialect     *dialect
	pools       *pools
	shares      []*pools // of the stores that share this one's database
	write, read *gorm.DB
	url         string
	bookings    *batch.Batcher[*entry]
	lookups     *lookups // nil: each row is looked up alone
	readers     ports.Readers
	contention  *contention // nil: no transaction waits for a row but for the whole database
	log         *slog.Logger

	// commitTx is (*sql.Tx).Commit; tests replace it to lose the response.
	commitTx func(*sql.Tx) error
	// watch, if set, is called with each statement sent past gorm and its values. Tests set it.
	watch func(statement string, values []any)

	onFanout ports.FanoutListener
	// busySince is when this process began its current changes, 0 where it makes none. looked is
	// when it last looked for tables that grow. Both are as sinceStart.
	busySince, looked atomic.Int64

	skipFrom atomic.Int64  // until then, in Unix nanoseconds, Waiting looks at each endpoint
	skipSlow time.Duration // a walk of the index that takes longer is skipped for a while

	full *atomic.Pointer[time.Time] // shared; when the disk was last full; nil: it has had space since
}

// Close waits for running statements and closes all connections.
func (s *Store) Close() error { return s.pools.close() }

// Ping reports whether the database is usable: it responds, accepts writes, and had space on its
// disk at the last write.
func (s *Store) Ping(ctx context.Context) error {
	for dead := 0; ; dead++ {
		err := s.pingOnce(ctx)
		if errors.Is(err, driver.ErrBadConn) && ctx.Err() == nil && dead < s.pools.read.Stats().MaxOpenConnections {
			continue // it died in the pool
		}
		if err != nil {
			return err
		}
		return s.fullLately()
	}
}

func (s *Store) pingOnce(ctx context.Context) error {
	conn, err := s.pools.read.Conn(ctx)
	if err != nil {
		return s.dialect.failed("the database does not answer", err)
	}
	defer func() { _ = conn.Close() }() // back into the pool
	var readOnly bool
	if err := conn.QueryRowContext(ctx, s.dialect.readOnly).Scan(&readOnly); err != nil {
		return s.dialect.failed("the database does not answer", err)
	}
	if readOnly {
		_ = onPgConn(conn, (*pgConn).turned) // reports that the connection is dropped
		return fmt.Errorf("the database may only be read: %w", ports.ErrStorageGone)
	}
	return nil
}

const (
	// fullFor is how long the store counts as full after a write that found no space. Then that
	// ends by itself: while the process is not ready, no write comes that could show space.
	fullFor = 10 * time.Second
	// diskSpaceAgain is how long after a full disk a write that succeeds counts as proof
	// of space: on a full disk, writes that fit into an existing page still succeed.
	diskSpaceAgain = 2 * time.Second
)

func (s *Store) fullLately() error {
	if at := s.full.Load(); at != nil && time.Since(*at) < fullFor {
		return fmt.Errorf("the disk of the database was full %s ago: %w", time.Since(*at).Round(time.Millisecond), ports.ErrStorageGone)
	}
	return nil
}

// noteDiskSpace records from the end of a transaction whether the disk is full.
func (s *Store) noteDiskSpace(err error) {
	switch {
	case err == nil:
		if at := s.full.Load(); at != nil && time.Since(*at) > diskSpaceAgain {
			s.full.CompareAndSwap(at, nil)
		}
	case s.dialect.full(err):
		now := time.Now()
		s.full.Store(&now)
	}
}

// Read returns stores that work without a transaction.
func (s *Store) Read() ports.Readers { return s.readers }

// readers returns stores that work without a transaction.
func (s session) readers() ports.Readers {
	return ports.Readers{
		Idempotency:     idempotency{s},
		Tenancy:         tenancy{s},
		Recipients:      recipients{s},
		PickupLocations: pickupLocations{s},
		Deliveries:      deliveries{s},
		Simulations:     simulations{s},
		Webhooks:        webhooks{s},
		Feed:            feed{s},
		Operators:       operators{s},
		Audit:           audit{s},
		Platform:        platform{s},
		Tracking:        tracking{s},
		Persons:         persons{s},
		Memberships:     memberships{s},
		Links:           links{s},
		Sessions:        sessions{s},
		Passkeys:        passkeys{s},
		Views:           views{s},
		Identities:      identities{s},
		Devices:         devices{s},
		Readiness:       readiness{s},
		Requests:        requests{s},
		Reports:         reports{s},
		MoveRuns:        moveRuns{s},
		Sending:         sending{s},
		Machinery:       machinery{s},
	}
}

// stores returns stores that work in one transaction.
func (s session) stores() ports.Stores {
	return ports.Stores{
		Idempotency:     idempotency{s},
		Tenancy:         tenancy{s},
		Recipients:      recipients{s},
		PickupLocations: pickupLocations{s},
		Deliveries:      deliveries{s},
		Bulks:           bulks{s},
		Simulations:     simulations{s},
		Webhooks:        webhooks{s},
		Operators:       operators{s},
		Audit:           audit{s},
		Persons:         persons{s},
		Memberships:     memberships{s},
		Links:           links{s},
		Sessions:        sessions{s},
		Passkeys:        passkeys{s},
		Views:           views{s},
		Identities:      identities{s},
		Readiness:       readiness{s},
		Ceremonies:      ceremonies{s},
		Mails:           mails{s},
		Devices:         devices{s},
		MoveRuns:        moveRuns{s},
		Sending:         sending{s},
		Machinery:       machinery{s},
	}
}

// session is what a store works on: a pool or a transaction, with its dialect.
type session struct {
	db      *gorm.DB
	dialect *dialect
	lookups *lookups // nil in a transaction

	lists     *gorm.DB      // for forList; nil: db, in a transaction above all
	listTime  time.Duration // of a page, with its wait for a turn and a connection
	listTurns *turns.Turns  // in which pages are read
	replicas  *replicaReads // that lists may be read from; nil: none

	// Nil outside a transaction.
	fanned *fanned
	conn   *sql.Conn // that it runs on
	need   *need     // nil on SQLite, which has one writer at a time
	watch  func(statement string, values []any)
}

func (s session) with(ctx context.Context) *gorm.DB { return s.db.WithContext(ctx) }

// ofBusiness begins a query on the records of a business in an environment.
func (s session) ofBusiness(ctx context.Context, t domain.Tenant) *gorm.DB {
	return s.with(ctx).Where("business_id = ? AND environment = ?", rowIDOf(t.BusinessID), string(t.Environment))
}

// ofApplication begins a query on the records of an application in an environment.
func (s session) ofApplication(ctx context.Context, t domain.Tenant) *gorm.DB {
	return s.with(ctx).Where("business_id = ? AND application_id = ? AND environment = ?",
		rowIDOf(t.BusinessID), rowIDOf(t.ApplicationID), string(t.Environment))
}

// page limits a query to one page, and one record more.
func page(db *gorm.DB, p domain.PageRequest, newestFirst bool) *gorm.DB {
	return inOrder(behind(db, p, newestFirst), newestFirst).Limit(p.Limit + 1)
}

// behind limits a list to the rows behind the position at which a page begins.
func behind(db *gorm.DB, p domain.PageRequest, newestFirst bool) *gorm.DB {
	if p.After == nil {
		return db
	}
	after := "(created_at, id) > (?, ?)"
	if newestFirst {
		after = "(created_at, id) < (?, ?)"
	}
	return db.Where(after, instantOf(p.After.CreatedAt), rowIDOf(p.After.ID))
}

func inOrder(db *gorm.DB, newestFirst bool) *gorm.DB {
	if newestFirst {
		return db.Order("created_at DESC, id DESC")
	}
	return db.Order("created_at, id")
}
