package domain

import "time"

// EndpointStanding is how a webhook endpoint stands, the one first that needs people most.
type EndpointStanding string

// The standings there are, in that order.
const (
	StandingFailing  EndpointStanding = "failing"  // enabled, and its last attempts failed
	StandingBehind   EndpointStanding = "behind"   // what is due for it has waited for a minute
	StandingDisabled EndpointStanding = "disabled" // by its answers
	StandingPaused   EndpointStanding = "paused"   // by people or by its program
	StandingWell     EndpointStanding = "well"
)

// EndpointStandings is every standing, in their order.
func EndpointStandings() []EndpointStanding {
	return []EndpointStanding{StandingFailing, StandingBehind, StandingDisabled, StandingPaused, StandingWell}
}

// BehindAfter is how long what is due for an endpoint waits until it stands as behind.
const BehindAfter = time.Minute

// EndpointFilter narrows a list of endpoints; zero fields do not.
type EndpointFilter struct {
	BusinessID    ID
	ApplicationID ID
	Environment   Environment
	Standing      EndpointStanding
	Unwell        bool   // failing, behind or disabled by its answers
	Host          string // a part of its address, in lower case
}

// EndpointPlace is the place of an endpoint in a list by standing.
type EndpointPlace struct {
	Standing EndpointStanding
	ID       ID
}

// EndpointShown is an endpoint of any customer with how it stands.
type EndpointShown struct {
	WebhookEndpoint
	Business, Application string // by name
	Standing              EndpointStanding
	Waiting               int             // pending webhooks, counted up to MaxWaitingCounted
	Oldest                *time.Time      // when the first of them is, or was, due; nil: none waits
	Last                  *WebhookAttempt // the last attempt of late; nil: none
}

// WorkKind is a kind of work that is done when it is due.
type WorkKind string

// The kinds there are.
const (
	WorkWebhooks WorkKind = "webhooks"
	WorkMails    WorkKind = "mails"
	WorkSteps    WorkKind = "steps" // of simulations
)

// Work is what is to be done of a kind.
type Work struct {
	Kind        WorkKind
	Environment Environment // empty: of both
	Waiting     int         // due or not, counted up to MaxWaitingCounted
	Due         int         // counted up to MaxWaitingCounted
	Oldest      *time.Time  // since when the first of them is due; nil: none is
	GivenUp     int         // of what is still kept, counted up to MaxWaitingCounted
}

// DatabaseState is what a database tells of itself.
type DatabaseState struct {
	Product, Version string
	Replica          bool          // it follows another one, and may only be read
	ReadOnly         bool          // sessions may only read
	Oldest           time.Duration // of the oldest open transaction of any program; 0: none is open
	OldestOf         string        // the program that has it open
	Sessions, Most   int           // open now, of all programs, and how many there may be; 0: no server counts them
	Applied, Known   int64         // the newest migration of the schema, and of this program
	Took             time.Duration // to ask all this
}

// ReplicaState is a server that follows the database, as a process that reads lists
// from it sees it.
type ReplicaState struct {
	Name    string        // its host and port
	LeftOut string        // why no lists are read from it now; empty: they are
	Lag     time.Duration // by how much it was behind when it was last looked at
	Behind  int64         // the bytes of the log that it had yet to replay then
	Lists   int64         // that this process has read from it
}

// Process is a server or a worker, as it last told of itself.
type Process struct {
	ID        ID
	StartedAt time.Time
	SeenAt    time.Time
	ProcessFacts
}

// ProcessFacts are what a process alone knows of itself.
type ProcessFacts struct {
	Role     string         `json:"role"` // such as serve
	Host     string         `json:"host"`
	PID      int            `json:"pid"`
	Version  string         `json:"version"`
	Ended    bool           `json:"ended,omitempty"` // it was told to end, and this is its last word
	Jobs     []JobRun       `json:"jobs,omitempty"`
	Pools    []PoolState    `json:"pools,omitempty"`
	Services []ServiceState `json:"services,omitempty"`
}

// JobRun is how a job that a process does again and again went.
type JobRun struct {
	Name      string        `json:"name"`
	Every     time.Duration `json:"every"`
	EndedAt   time.Time     `json:"ended_at"` // of the last run; zero: none has ended
	Took      time.Duration `json:"took"`
	Succeeded time.Time     `json:"succeeded"`        // the end of the last run that did; zero: none did
	Failed    string        `json:"failed,omitempty"` // why the last run did; empty: it succeeded, or none has ended
}

// PoolState is how busy the connections of a process to the database are.
type PoolState struct {
	Name              string        `json:"name"`
	Open, InUse, Most int           `json:",omitempty"`
	Waited            time.Duration `json:"waited,omitempty"` // since the process started, for a connection, all together
}

// ServiceState is whether a process takes a service that prices come from for gone.
type ServiceState struct {
	Name        string      `json:"name"`
	Environment Environment `json:"environment"`
	GoneSince   *time.Time  `json:"gone_since,omitempty"` // nil: it answers
	LastGone    *time.Time  `json:"last_gone,omitempty"`  // when it was last found gone
}

// ProcessEvery is how often a process tells of itself, ProcessSilent after how long
// without a word it counts as gone, and ProcessKept how long it is remembered then.
const (
	ProcessEvery  = 10 * time.Second
	ProcessSilent = 45 * time.Second
	ProcessKept   = 24 * time.Hour
)

// QueueState is what the notifications of workers go through, where that is shared.
type QueueState struct {
	Product, Version string
	Took             time.Duration // of a round trip
	Eviction         string        // what it does when its memory is full
	Memory, Most     int64         // bytes; Most 0: no limit
	Queues           []JobQueue
}

// JobQueue is the notifications of a kind of job.
type JobQueue struct {
	Job                       string
	Pending, Active, Archived int
	Oldest                    time.Duration // of those that wait
}

// DeadTask is a notification that its queue gave up.
type DeadTask struct {
	Job, ID string // ID within the queue of the job
	Of      string // what it is about: the ID of a record
	Cause   string
	At      time.Time
}
