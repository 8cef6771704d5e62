package gormstore

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"gorm.io/gorm"

	"waybill/ports"
)

const (
	defaultPoolSize         = 16
	defaultSQLiteReaders    = 4
	defaultStatementTimeout = 5 * time.Second
	defaultLockTimeout      = 2 * time.Second
	defaultIdleTimeout      = 10 * time.Second
	defaultListTimeout      = time.Second
	defaultReplicaLag       = 100 * time.Millisecond
	defaultSlowStatement    = 500 * time.Millisecond
)

// Options configures a Store. The zero value of each field selects its default.
type Options struct {
	Name          string // of its connections in PoolStats; all
	PoolSize      int    // connections to Postgres; 16
	SQLiteReaders int    // connections that read a SQLite file, beside the one that writes; 4

	// ListPoolSize is the number of extra connections that lists, searches and feeds use; they use
	// no others. 0: they share all connections. ListTimeout limits how long such a connection works
	// on a page; 1 s. It overrides a statement_timeout in the URL.
	ListPoolSize int
	ListTimeout  time.Duration

	// ReplicaURLs name streaming replicas of a Postgres, one server each, from which lists are
	// read. Each gets as many connections as lists have. ReplicaLag limits how far a replica may be
	// behind, and how long a list may take to check that; 100 ms.
	ReplicaURLs []string
	ReplicaLag  time.Duration

	// CurrentURL returns the user and the password for each new connection to Postgres, except
	// those to replicas and of migrations. Nil: they come from the URL.
	CurrentURL func() string

	// TransactionPooler says that the URL names a pooler which assigns a session of Postgres to one
	// transaction at a time, such as PgBouncer in transaction mode. If it is not set and there is
	// one, Open returns ErrPooler.
	TransactionPooler bool

	// Postgres enforces these time-outs, so that no request and no lock hangs. Parameters of the
	// same name in the URL override them.
	StatementTimeout         time.Duration // 5 s
	LockTimeout              time.Duration // 2 s
	IdleInTransactionTimeout time.Duration // 10 s; 2 s once the transaction has a place in the feed

	// Logger gets statements that take longer than SlowStatement (500 ms) as warnings and, at debug
	// level, all statements; never the values in them. Nil discards them.
	Logger        *slog.Logger
	SlowStatement time.Duration

	citus bool // the server is a coordinator of Citus
}

func (o Options) withDefaults() Options {
	o.Name = cmp.Or(o.Name, "all")
	o.PoolSize = cmp.Or(o.PoolSize, defaultPoolSize)
	o.SQLiteReaders = cmp.Or(o.SQLiteReaders, defaultSQLiteReaders)
	o.ListTimeout = cmp.Or(o.ListTimeout, defaultListTimeout)
	o.ReplicaLag = cmp.Or(o.ReplicaLag, defaultReplicaLag)
	o.StatementTimeout = cmp.Or(o.StatementTimeout, defaultStatementTimeout)
	o.LockTimeout = cmp.Or(o.LockTimeout, defaultLockTimeout)
	o.IdleInTransactionTimeout = cmp.Or(o.IdleInTransactionTimeout, defaultIdleTimeout)
	o.SlowStatement = cmp.Or(o.SlowStatement, defaultSlowStatement)
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o
}

// Open connects to the database that url names:
//
//	postgres://USER:PASSWORD@HOST:PORT/DATABASE   any parameter of pgx may follow
//	sqlite://PATH                                 sqlite:///var/lib/waybill.db, sqlite://waybill.db
//
// It creates a SQLite file that does not exist, but not its directory. Open fails if the database
// does not respond; it does not check the schema.
func Open(ctx context.Context, url string, o Options) (*Store, error) {
	e, err := dialectOf(url)
	if err != nil {
		return nil, err
	}
	s, err := openBeside(ctx, e, url, o, nil)
	if err == nil && e == &postgresDialect {
		s, err = s.onCitus(ctx, url, o)
	}
	if err != nil || s.dialect.catchUp == nil {
		return s, err
	}
	if err := s.dialect.catchUp(ctx, s.pools.write); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// Share opens the same database once more, with its own connections, batches of bookings and
// batched look-ups. Inside this process, work on one of the two never waits for that of the other.
// On SQLite both share the one connection that writes. Close s last.
func (s *Store) Share(ctx context.Context, o Options) (*Store, error) {
	other, err := openBeside(ctx, s.dialect, s.url, o, s.pools)
	if err == nil {
		other.full = s.full // one disk
		s.shares = append(s.shares, other.pools)
	}
	return other, err
}

func openBeside(ctx context.Context, e *dialect, url string, o Options, beside *pools) (*Store, error) {
	o = o.withDefaults()
	p, err := e.open(url, o, beside)
	if err != nil {
		return nil, err
	}
	s, err := newStore(ctx, e, p, o)
	if err != nil {
		return nil, errors.Join(err, p.close())
	}
	s.url = url
	return s, nil
}

func newStore(ctx context.Context, e *dialect, p *pools, o Options) (*Store, error) {
	// The pool that writes comes first: it prepares a SQLite file.
	for _, db := range []*sql.DB{p.write, p.read, p.lists} {
		if err := ping(ctx, db); err != nil {
			if refused := refusalOf(err); refused != nil {
				return nil, refused
			}
			if e.gone(err) {
				err = fmt.Errorf("%w: %w", ports.ErrStorageGone, err)
			}
			return nil, err
		}
	}
	if err := refuseEarlierBuild(ctx, e, p.write); err != nil {
		return nil, err
	}
	write, err := openGORM(p.dialector(p.write), o)
	if err != nil {
		return nil, err
	}
	read, err := openGORM(p.dialector(p.read), o)
	if err != nil {
		return nil, err
	}
	s := &Store{dialect: e, pools: p, write: write, read: read, log: o.Logger, full: &atomic.Pointer[time.Time]{}, commitTx: (*sql.Tx).Commit,
		skipSlow: skipSlow}
	s.bookings = newBookings(func(ctx context.Context, entries []*entry) []error { return e.storeBatch(ctx, s, entries) }, e.writers)
	if e.sharded {
		batchByBusiness(s.bookings)
	}
	if e.locksRows {
		s.contention = newContention(o)
	}
	if e.batchesLookups {
		s.lookups = newLookups(s.onPgConn)
	}
	reads := session{db: s.read, dialect: s.dialect, lookups: s.lookups}
	if reads.replicas = p.replicas; p.lists != p.read || p.replicas != nil {
		if reads.lists, err = openGORM(p.dialector(p.lists), o); err != nil {
			return nil, err
		}
		reads.listTime = o.ListTimeout
		reads.listTurns = newListTurns(cmp.Or(o.ListPoolSize, o.PoolSize), 1+len(o.ReplicaURLs))
		if e.limitsStatements {
			reads.listTime += listWait
		}
	}
	s.readers = reads.readers()
	if p.replicas != nil && p.replicas.looks {
		p.replicas.watch(ctx, p.read)
	}
	return s, nil
}

// onPgConn runs do on a connection for reads, past gorm.
func (s *Store) onPgConn(ctx context.Context, do func(*pgConn) error) error {
	conn, err := s.pools.read.Conn(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }() // back into the pool
	return onPgConn(conn, do)
}

func openGORM(d gorm.Dialector, o Options) (*gorm.DB, error) {
	db, err := gorm.Open(d, &gorm.Config{
		Logger:                 &gormLogger{logger: o.Logger, slow: o.SlowStatement},
		QueryFields:            true, // SELECT names its columns: adding one breaks no running server
		SkipDefaultTransaction: true, // transactions are opened in transaction.go and nowhere else
		DisableAutomaticPing:   true,
	})
	if err != nil {
		return nil, fmt.Errorf("open the database: %w", err)
	}
	return db, nil
}

func ping(ctx context.Context, db *sql.DB) error {
	// A statement, because the SQLite driver has no Ping.
	_, err := db.ExecContext(ctx, "SELECT 1")
	if errors.Is(err, ErrPooler) {
		return err // the server did respond
	}
	if err != nil {
		return fmt.Errorf("the database does not answer: %w", err)
	}
	return nil
}
