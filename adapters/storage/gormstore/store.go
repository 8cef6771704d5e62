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
	lookups     *lookups // nil: each row is looked for by itself
	readers     ports.Readers
	contention  *contention // nil: no transaction waits for a row but for the whole database
	log         *slog.Logger

	// commitTx is (*sql.Tx).Commit; tests lose its answer.
	commitTx func(*sql.Tx) error
	// watch, if any, is called with each statement sent past gorm and its values;
	// tests set it.
	watch func(statement string, values []any)

	onFanout ports.FanoutListener
	// busySince is when this process began to change what it now does, 0 where it does not, and looked
	// when it last looked for tables that grow; as sinceStart.
	busySince, looked atomic.Int64

	skipFrom atomic.Int64  // until then, in Unix nanoseconds, Waiting looks at each endpoint
	skipSlow time.Duration // a look through the index that takes longer is given up for a while

	full *atomic.Pointer[time.Time] // shared; when a write last found no room; nil: one has found some since
}

// Close waits for running statements and closes all connections.
func (s *Store) Close() error { return s.pools.close() }

// Ping tells whether the database can be worked with: it answers, may be written,
// and had room on its disk when it was last written to.
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
		_ = onPgConn(conn, (*pgConn).turned) // says that the connection is given up
		return fmt.Errorf("the database may only be read: %w", ports.ErrStorageGone)
	}
	return nil
}

const (
	// fullFor is how long the store counts as full after a write that found no room.
	// It then ends by itself: while the process is not ready, no write comes that
	// could show that there is room again.
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

// noteDiskSpace learns from the end of a transaction whether the disk is full.
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

// Read gives access without a transaction.
func (s *Store) Read() ports.Readers { return s.readers }

// readers work without a transaction.
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

// stores work in one transaction.
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

// ofBusiness begins a query on what belongs to a business in an environment.
func (s session) ofBusiness(ctx context.Context, t domain.Tenant) *gorm.DB {
	return s.with(ctx).Where("business_id = ? AND environment = ?", rowIDOf(t.BusinessID), string(t.Environment))
}

// ofApplication begins a query on what belongs to an application in an environment.
func (s session) ofApplication(ctx context.Context, t domain.Tenant) *gorm.DB {
	return s.with(ctx).Where("business_id = ? AND application_id = ? AND environment = ?",
		rowIDOf(t.BusinessID), rowIDOf(t.ApplicationID), string(t.Environment))
}

// page cuts a query to one page of it, and one record more.
func page(db *gorm.DB, p domain.PageRequest, newestFirst bool) *gorm.DB {
	return inOrder(behind(db, p, newestFirst), newestFirst).Limit(p.Limit + 1)
}

// behind narrows a list to the rows behind the position that a page begins at.
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
