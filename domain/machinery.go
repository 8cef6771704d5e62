package domain

import "time"

// EndpointStanding is the state of a webhook endpoint, ordered by how urgently it needs people.
type EndpointStanding string

// The standings, in that order.
const (
	StandingFailing  EndpointStanding = "failing"  // enabled, and its last attempts failed
	StandingBehind   EndpointStanding = "behind"   // its due webhooks have waited for a minute
	StandingDisabled EndpointStanding = "disabled" // because of its responses
	StandingPaused   EndpointStanding = "paused"   // by people or by its program
	StandingWell     EndpointStanding = "well"
)

// EndpointStandings lists every standing, in their order.
func EndpointStandings() []EndpointStanding {
	return []EndpointStanding{StandingFailing, StandingBehind, StandingDisabled, StandingPaused, StandingWell}
}

// BehindAfter is how long the due webhooks of an endpoint wait before it counts as behind.
const BehindAfter = time.Minute

// EndpointFilter narrows a list of endpoints; zero fields do not narrow.
type EndpointFilter struct {
	BusinessID    ID
	ApplicationID ID
	Environment   Environment
	Standing      EndpointStanding
	Unwell        bool   // failing, behind or disabled because of its responses
	Host          string // a part of its URL, in lower case
}

// EndpointPlace is the place of an endpoint in a list by standing.
type EndpointPlace struct {
	Standing EndpointStanding
	ID       ID
}

// EndpointShown is an endpoint of any customer with its standing.
type EndpointShown struct {
	WebhookEndpoint
	Business, Application string // by name
	Standing              EndpointStanding
	Waiting               int             // pending webhooks, counted up to MaxWaitingCounted
	Oldest                *time.Time      // due time of the first of them; nil: none is pending
	Last                  *WebhookAttempt // the last recent attempt; nil: none
}

// WorkKind is a kind of background work.
type WorkKind string

// The kinds.
const (
	WorkWebhooks WorkKind = "webhooks"
	WorkMails    WorkKind = "mails"
	WorkSteps    WorkKind = "steps" // of simulations
)

// Work is the background work of a kind.
type Work struct {
	Kind        WorkKind
	Environment Environment // empty: of both
	Waiting     int         // due or not, counted up to MaxWaitingCounted
	Due         int         // counted up to MaxWaitingCounted
	Oldest      *time.Time  // since when the first of them is due; nil: none is due
	GivenUp     int         // of those still stored, counted up to MaxWaitingCounted
}

// DatabaseState is what a database reports about itself.
type DatabaseState struct {
	Product, Version string
	Replica          bool          // it is a read-only replica
	ReadOnly         bool          // sessions can only read
	Oldest           time.Duration // of the oldest open transaction of any program; 0: none is open
	OldestOf         string        // the program that opened it
	Sessions, Most   int           // open now, of all programs, and their maximum; 0: no server counts them
	Applied, Known   int64         // the newest migration of the schema, and of this program
	Took             time.Duration // the duration of this query
}

// ReplicaState is a replica of the database, as a process that reads lists from it sees it.
type ReplicaState struct {
	Name    string        // its host and port
	LeftOut string        // why no lists are read from it now; empty: they are read
	Lag     time.Duration // its delay at the last check
	Behind  int64         // the bytes of the log that it had not replayed then
	Lists   int64         // lists that this process has read from it
}

// Process is the last report of a server or a worker.
type Process struct {
	ID        ID
	StartedAt time.Time
	SeenAt    time.Time
	ProcessFacts
}

// ProcessFacts are what only the process itself knows.
type ProcessFacts struct {
	Role     string         `json:"role"` // such as serve
	Host     string         `json:"host"`
	PID      int            `json:"pid"`
	Version  string         `json:"version"`
	Ended    bool           `json:"ended,omitempty"` // it is shutting down, and this is its last report
	Jobs     []JobRun       `json:"jobs,omitempty"`
	Pools    []PoolState    `json:"pools,omitempty"`
	Services []ServiceState `json:"services,omitempty"`
}

// JobRun is the state of a periodic job.
type JobRun struct {
	Name      string        `json:"name"`
	Every     time.Duration `json:"every"`
	EndedAt   time.Time     `json:"ended_at"` // end of the last run; zero: none has ended
	Took      time.Duration `json:"took"`
	Succeeded time.Time     `json:"succeeded"`        // end of the last successful run; zero: none succeeded
	Failed    string        `json:"failed,omitempty"` // error of the last run; empty: it succeeded, or none has ended
}

// PoolState is the load of a process's connections to the database.
type PoolState struct {
	Name              string        `json:"name"`
	Open, InUse, Most int           `json:",omitempty"`
	Waited            time.Duration `json:"waited,omitempty"` // total wait for a connection since the process started
}

// ServiceState says whether a process considers a service for prices unavailable.
type ServiceState struct {
	Name        string      `json:"name"`
	Environment Environment `json:"environment"`
	GoneSince   *time.Time  `json:"gone_since,omitempty"` // nil: it responds
	LastGone    *time.Time  `json:"last_gone,omitempty"`  // when it was last found unavailable
}

// ProcessEvery is how often a process reports, ProcessSilent after how long without a report it
// counts as gone, and ProcessKept how long it is kept then.
const (
	ProcessEvery  = 10 * time.Second
	ProcessSilent = 45 * time.Second
	ProcessKept   = 24 * time.Hour
)

// QueueState is the state of the shared queue for notifications of workers.
type QueueState struct {
	Product, Version string
	Took             time.Duration // of a round trip
	Eviction         string        // its policy when its memory is full
	Memory, Most     int64         // bytes; Most 0: no limit
	Queues           []JobQueue
}

// JobQueue holds the notifications of a kind of job.
type JobQueue struct {
	Job                       string
	Pending, Active, Archived int
	Oldest                    time.Duration // of the pending ones
}

// DeadTask is a notification that its queue gave up.
type DeadTask struct {
	Job, ID string // ID within the queue of the job
	Of      string // the ID of the record it is about
	Cause   string
	At      time.Time
}
