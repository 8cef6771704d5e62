package ports

import (
	"context"
	"time"

	"waybill/domain"
)

// Database is all that a process needs of its storage adapter: the data and their maintenance. An
// adapter that has these methods and passes the conformance tests in test/conformance/storage can
// replace any other.
type Database interface {
	Storage
	Bookings
	RequestLog
	Maintenance
	ReportCounting
	StorageState
	StoredClock

	// Outbox returns the outbox of webhooks.
	Outbox() WebhookOutbox
	// Mails returns the outbox of mails.
	Mails() MailOutbox
	// OnFanout calls the listener for every commit from now on. Call it before the database is
	// used.
	OnFanout(l FanoutListener)
	// Close waits for calls in progress. No method may be called afterwards.
	Close() error
}

// Maintenance does the periodic work of a process on its storage. Any number of processes may do it
// at once.
type Maintenance interface {
	// PurgeExpired deletes records that can no longer be read, up to limit of each kind. It returns
	// their number and whether there may be more. Expiry uses the clock of the database. Links and
	// sessions are deleted domain.LinkKept and domain.SessionKept after they expired, used or not;
	// mails domain.MailKept after they were last pending; devices domain.DeviceKept after their
	// last sign-in; figures of reports domain.ReportKept after their day; and runs of moves
	// domain.MoveRunKept after they began.
	PurgeExpired(ctx context.Context, limit int) (removed int, more bool, err error)
	// AnalyzeRecentTables refreshes the planner statistics of tables that have just begun to grow,
	// and returns their number. Without it statements are only slower. A storage without such
	// statistics does nothing.
	AnalyzeRecentTables(ctx context.Context) (analyzed int, err error)
	// FindLate finds webhooks that became pending so long after they were due that
	// WebhookOutbox.Waiting passes over them, and makes it see them. It returns the number of their
	// endpoints. A storage that always looks at all webhooks does nothing.
	FindLate(ctx context.Context) (endpoints int, err error)
	// FeedLag returns how long a transaction has held back later events of the feed so far; 0 means
	// that none does. The transaction took its place in the feed before them.
	FeedLag(ctx context.Context) (time.Duration, error)
	// KeepProcess stores the report of a process, and deletes processes that did not report for
	// domain.ProcessKept.
	KeepProcess(ctx context.Context, p domain.Process) error
}

// StorageState describes a storage and whether it is usable. All methods but Installation work
// before the schema is up to date.
type StorageState interface {
	// Ping returns nil where the storage responds and accepts writes.
	Ping(ctx context.Context) error
	// Connections returns an error where the storage refuses connections to this process. The error
	// is ErrStorageGone where none are left.
	Connections(ctx context.Context) error
	// Server returns the product, its own version text, and the time of its clock.
	Server(ctx context.Context) (product, version string, clock time.Time, err error)
	// SchemaVersions returns the newest migration of the schema, 0 where it has none, and the
	// newest one that this program knows. They are equal where no migration is pending.
	SchemaVersions(ctx context.Context) (applied, known int64, err error)
	// Installation returns the name that was drawn at random with the data. It is no secret. It
	// stays the same for as long as the data are kept.
	Installation(ctx context.Context) (name string, err error)
	// Replicas lists the replicas that lists may be read from. Such a read is no older than its
	// request. others counts the lists that this process has read from the primary instead.
	Replicas() (all []domain.ReplicaState, others int64)
	// State returns what the database reports about itself, including SchemaVersions.
	State(ctx context.Context) (domain.DatabaseState, error)
	// Access returns what the storage allows this program to do.
	Access(ctx context.Context) (StorageAccess, error)
}

// StorageAccess describes the rights of the role by which this program connects.
type StorageAccess struct {
	Role   string // empty: the storage has no roles and allows everything
	Schema string // schema of the tables; empty: the role may use none
	// Missing lists the rights that a server needs and the role lacks, such as "INSERT ON mails".
	Missing []string
	// MakesRoom reports whether the role may make room in the request log, which ends at
	// RoomUntil. The zero time means that there is no such log yet, or no end.
	MakesRoom bool
	RoomUntil time.Time
	// Isolation is that of a statement outside of a transaction.
	Isolation string
	Limits    []ConnectionLimit // none: any number
}

// ConnectionLimit is the maximum number of connections of all programs together.
type ConnectionLimit struct {
	Of   string // such as "the role waybill"
	Most int
}

// MigrationStep is one migration of a schema. AppliedAt is nil while it is pending.
type MigrationStep struct {
	Version   int64
	Name      string
	AppliedAt *time.Time
}

// SchemaStatus holds the state of a schema.
type SchemaStatus struct {
	Steps []MigrationStep // by version
	// Nodes counts the database nodes, besides the database's own, that hold rows of businesses; 0
	// means that there is only one database.
	Nodes int
	// Distributed reports whether all tables that belong on the nodes are there, HalfDistributed
	// whether only some are.
	Distributed, HalfDistributed bool
}

// TableMoved is a table that was distributed over several nodes, with its number of rows before and
// after.
type TableMoved struct {
	Table         string
	By            string // the column that decides the node of a row; empty: every node has all rows
	Before, After int64
	Moved         bool // by this call; else by an earlier one
}

// StoredClock is the clock of the storage, which all processes of an installation use, with a
// record of its course.
type StoredClock interface {
	// ReadClock works before the schema is up to date, as if nothing had been stored.
	ReadClock(ctx context.Context) (ClockReading, error)
	// KeepClock stores the clock of a reading as seen, and how far the installation's time is ahead
	// of it. It does nothing where another process has stored one since the reading.
	KeepClock(ctx context.Context, read ClockReading, ahead time.Duration) error
}

// ClockReading is the time as a storage knows it.
type ClockReading struct {
	Clock time.Time     // the clock when it was last stored; zero: never
	Seen  time.Time     // how far the installation's time was ahead then; whole milliseconds
	Ahead time.Duration // of the installation's time, then; whole milliseconds
}
