package ports

import (
	"context"
	"time"

	"waybill/domain"
)

// Database is all that a process asks of its storage adapter: the data, and what
// keeps them in order. An adapter that has these methods and passes
// test/conformance/storage can be put in the place of any other.
type Database interface {
	Storage
	Bookings
	RequestLog
	Maintenance
	ReportCounting
	StorageState
	StoredClock

	// Outbox is the outbox of webhooks.
	Outbox() WebhookOutbox
	// Mails is the outbox of mails.
	Mails() MailOutbox
	// OnFanout makes the listener hear of every commit from now on. It is called
	// before the database is used.
	OnFanout(l FanoutListener)
	// Close waits for what is under way. Nothing else is called afterwards.
	Close() error
}

// Maintenance is the periodic work of a process on its storage. Any number of
// processes may do it at once.
type Maintenance interface {
	// PurgeExpired deletes records that can no longer be read, up to limit of each
	// kind, and tells how many there were and whether there may be more. Expiry goes
	// by the clock of the database. Links and sessions go when they have expired, used
	// or not, for domain.LinkKept and domain.SessionKept; mails when they have waited
	// no more for domain.MailKept, devices domain.DeviceKept after their last sign-in,
	// figures of reports domain.ReportKept after their day, and runs of moves
	// domain.MoveRunKept after they began.
	PurgeExpired(ctx context.Context, limit int) (removed int, more bool, err error)
	// AnalyzeRecentTables refreshes the planner statistics of tables that have just begun
	// to grow, and tells of how many. Without it statements are slower, and nothing
	// else; a storage without such statistics does nothing.
	AnalyzeRecentTables(ctx context.Context) (analyzed int, err error)
	// FindLate makes WebhookOutbox.Waiting see webhooks that became pending so long
	// after they were due that it passes over them, and tells for how many endpoints
	// there were some. A storage that always looks at all of them does nothing.
	FindLate(ctx context.Context) (endpoints int, err error)
	// FeedLag is for how long, so far, a transaction has held back events of the
	// feed that were committed after it had taken its place there; 0: none does.
	FeedLag(ctx context.Context) (time.Duration, error)
	// KeepProcess keeps what a process tells of itself, and forgets processes that told
	// nothing for domain.ProcessKept.
	KeepProcess(ctx context.Context, p domain.Process) error
}

// StorageState tells what a storage is and whether it can be worked with. All of
// it can be asked before the schema is up to date, Installation excepted.
type StorageState interface {
	// Ping is nil where the storage answers and may be written.
	Ping(ctx context.Context) error
	// Connections tells of connections that the storage refuses this process; the
	// error is ErrStorageGone where there are none left.
	Connections(ctx context.Context) error
	// Server is the product, its version as it tells it itself, and what its clock
	// shows.
	Server(ctx context.Context) (product, version string, clock time.Time, err error)
	// SchemaVersions are the newest step that the schema has, 0 where it has none,
	// and the newest one that this program knows. They are equal where there are no
	// steps to be made.
	SchemaVersions(ctx context.Context) (applied, known int64, err error)
	// Installation is a name that was drawn at random with the data, and no secret.
	// It stays the same for as long as they are kept.
	Installation(ctx context.Context) (name string, err error)
	// Replicas are the servers beside the storage that lists may be read from; none:
	// there are none. What is read there is no older than the question. The others are
	// the lists that this process has read from the storage itself beside them.
	Replicas() (all []domain.ReplicaState, others int64)
	// State is what the database tells of itself, SchemaVersions among it.
	State(ctx context.Context) (domain.DatabaseState, error)
	// Access is what the storage lets this program do.
	Access(ctx context.Context) (StorageAccess, error)
}

// StorageAccess is what a storage lets the role by which this program comes to it do.
type StorageAccess struct {
	Role   string // empty: it knows none, and lets everybody do all
	Schema string // that the tables are in; empty: the role may use none
	// Missing are the rights that a server needs and the role lacks, such as "INSERT ON mails".
	Missing []string
	// MakesRoom tells whether the role may make room in the request log, which ends at
	// RoomUntil. The zero time: there is no such log yet, or no end.
	MakesRoom bool
	RoomUntil time.Time
	// Isolation is that of a statement outside of a transaction.
	Isolation string
	Limits    []ConnectionLimit // none: any number
}

// ConnectionLimit is how many connections there may be at most, of all programs.
type ConnectionLimit struct {
	Of   string // such as "the role waybill"
	Most int
}

// MigrationStep is one step of a schema; AppliedAt is nil while it is pending.
type MigrationStep struct {
	Version   int64
	Name      string
	AppliedAt *time.Time
}

// SchemaStatus is the state of a schema.
type SchemaStatus struct {
	Steps []MigrationStep // by version
	// Nodes are those besides the database's own that there are for the rows of
	// businesses; 0: there is one database.
	Nodes int
	// Distributed tells whether all tables are on them that are to be, HalfDistributed
	// whether some are.
	Distributed, HalfDistributed bool
}

// TableMoved is a table of a storage that was moved to several nodes, with how many rows it
// had before and has after.
type TableMoved struct {
	Table         string
	By            string // the column that decides on the node of a row; empty: every node has all
	Before, After int64
	Moved         bool // by this call; else by one before
}

// StoredClock is the clock of the storage, which all processes of an installation
// go by, with what is kept beside it of how it went.
type StoredClock interface {
	// ReadClock works before the schema is up to date, as if nothing had been kept.
	ReadClock(ctx context.Context) (ClockReading, error)
	// KeepClock stores the clock of a reading as seen, and how far the time of the
	// installation is ahead of it then. It does nothing where another process has
	// kept one since the reading.
	KeepClock(ctx context.Context, read ClockReading, ahead time.Duration) error
}

// ClockReading is the time as a storage knows it.
type ClockReading struct {
	Clock time.Time     // of the storage, now
	Seen  time.Time     // what it showed when it was last kept; zero: never
	Ahead time.Duration // of the installation's time, then; whole milliseconds
}
