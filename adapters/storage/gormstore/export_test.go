package gormstore

import (
	"context"
	"database/sql"
	"errors"
	"math"
	"net"
	"time"

	"gorm.io/gorm"

	"waybill/domain"
	"waybill/ports"
)

// A busy machine reads slowly.
func init() { searchTime = time.Minute }

// CommitWith replaces COMMIT, so that a test can lose its answer.
func (s *Store) CommitWith(commit func(*sql.Tx) error) { s.commitTx = commit }

// BookTogether stores bookings as one batch.
func (s *Store) BookTogether(ctx context.Context, writes ...ports.BookingWrite) ([]error, error) {
	entries := make([]*entry, len(writes))
	for i, w := range writes {
		var err error
		if entries[i], err = newEntry(w); err != nil {
			return nil, err
		}
	}
	return s.dialect.storeBatch(ctx, s, entries), nil
}

// Pools are the connections, for tests that look at sessions.
func (s *Store) Pools() (write, read *sql.DB) { return s.pools.write, s.pools.read }

// URL is where the store was opened.
func (s *Store) URL() string { return s.url }

// ListPool are those of lists.
func (s *Store) ListPool() *sql.DB { return s.pools.lists }

// TakeListTurn takes a place among the pages of lists that are read, until the function is called.
func (s *Store) TakeListTurn(business domain.ID) (give func()) {
	turns := s.readers.Deliveries.(deliveries).listTurns
	_ = turns.Take(context.Background(), string(business), "")
	return func() { turns.Give(string(business)) }
}

// ReplicaPool are those of lists to the first replica.
func (s *Store) ReplicaPool() *sql.DB { return s.pools.replicas.pools[0].db }

// BeQuiet makes the last transaction of the process have begun long ago.
func (s *Store) BeQuiet() {
	for _, p := range s.allPools() {
		for _, g := range p.grows {
			g.hosts.begunAt.Store(sinceStart() - int64(quietFor))
		}
	}
}

// CallLooksLong makes each look through the index count as one that takes long.
func (s *Store) CallLooksLong() { s.skipSlow = 0 }

// LookAtEachEndpoint makes Waiting do from now on what it does where a look through the
// index takes long; LooksAtEachEndpoint tells whether it does.
func (s *Store) LookAtEachEndpoint()       { s.skipFrom.Store(math.MaxInt64) }
func (s *Store) LooksAtEachEndpoint() bool { return s.skipFrom.Load() > time.Now().UnixNano() }

// DueMargin is how late something may become pending and still be found at once.
const DueMargin = dueMargin

// OnConnection does something with a connection past gorm.
func OnConnection(ctx context.Context, db *sql.DB, do func()) error {
	conn, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	return errors.Join(onPgConn(conn, func(*pgConn) error { do(); return nil }), conn.Close())
}

var RefusedByPostgres = func(err error) bool { return refusedByPostgres(context.Background(), nil, err) }

// OneAtATime runs work as Migrate runs the migrations of Postgres.
func OneAtATime(ctx context.Context, url string, work func(*sql.DB) error) error {
	db, err := openPostgresForMigrations(url)
	if err != nil {
		return err
	}
	defer db.Close()
	return oneAtATime(ctx, db, func() error { return work(db) })
}

// CanStore reports whether a delivery fits into a row.
func CanStore(d *domain.Delivery) error {
	_, err := newDeliveryRow(d)
	return err
}

// WatchReads tells every statement that Read sends from now on, with its values.
func (s *Store) WatchReads(see func(sql string, values []any)) error { return watch(s.read, see) }

// WatchWrites tells all others.
func (s *Store) WatchWrites(see func(sql string, values []any)) error {
	s.watch = see
	return watch(s.write, see)
}

func watch(db *gorm.DB, see func(sql string, values []any)) error {
	told := func(db *gorm.DB) {
		if !db.DryRun { // a part of another one
			see(db.Statement.SQL.String(), db.Statement.Vars)
		}
	}
	return errors.Join(
		db.Callback().Query().After("gorm:query").Register("watch", told),
		db.Callback().Row().After("gorm:row").Register("watch", told),
		db.Callback().Raw().After("gorm:raw").Register("watch", told),
		db.Callback().Update().After("gorm:update").Register("watch", told),
		db.Callback().Delete().After("gorm:delete").Register("watch", told),
	)
}

// Batches is how many bookings wait for a batch and how many are in one, and how
// many batches there may be at a time.
func (s *Store) Batches() (waiting, underWay, writers int) {
	waiting, underWay = s.bookings.Load()
	return waiting, underWay, s.bookings.Parallel
}

// WaitForBatches is how long bookings wait while no batch ends.
func (s *Store) WaitForBatches(stall time.Duration) { s.bookings.Stall = stall }

// Queued is how many transactions wait for rows that are held.
func (s *Store) Queued() (n int) {
	s.contention.mu.Lock()
	defer s.contention.mu.Unlock()
	for _, r := range s.contention.rows {
		n += r.queued
	}
	return n
}

// Batched is when the last batch of bookings began.
func (s *Store) Batched() time.Time { return s.bookings.Began() }

// WaitForRows is how long a transaction waits for a row at first.
func (s *Store) WaitForRows(d time.Duration) { s.contention.brief = d }

// DistributedTables are those of which the coordinator of Citus has no rows, and
// DistributedKeys their foreign keys.
func DistributedTables() (tables []string) {
	for _, p := range places {
		if p.by != "" {
			tables = append(tables, p.table)
		}
	}
	return tables
}

func DistributedKeys() (keys []string) {
	for _, k := range distributedKeys {
		keys = append(keys, k.table+" "+k.name+" FOREIGN KEY "+k.of)
	}
	return keys
}

// NewLimitedConn bounds each wait on a connection, as on those to Postgres.
func NewLimitedConn(c net.Conn, limit time.Duration) net.Conn { return newLimitedConn(c, limit) }
