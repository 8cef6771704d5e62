package domain

import (
	"slices"
	"time"
)

// MoveRunKept is how long a run and the use of its key are kept.
const MoveRunKept = 30 * 24 * time.Hour

// MoveRun is one request of the platform to move up to MaxMoves deliveries. Each is moved in its
// own transaction, which also records its outcome in the run.
type MoveRun struct {
	ID          ID
	Key         string   // of the request: all operators share the keys
	Fingerprint [32]byte // of the requested moves
	By          AuditActor
	CreatedAt   time.Time
	FinishedAt  *time.Time // nil: it is in progress
	// LeaseLeft is the time until the lease of a run in progress runs out. Zero or less means that
	// no process works on it, and any may resume it.
	LeaseLeft time.Duration
	Items     []MoveItem // by index
}

// MoveItem is one delivery of a run with its outcome.
type MoveItem struct {
	Index      int
	Sent       string // the reference or ID as it was sent
	DeliveryID ID     // empty: it does not exist
	Reference  Reference
	To         Status
	Reason     ReasonCode
	Outcome    MoveOutcome
	// Current is the status at the time of the outcome, of a locked delivery or of one that was
	// read for a duplicate. It is empty where no status is known.
	Current Status
	Code    string   // of a refusal
	Message string   // of a refusal
	Allowed []Status // of a refusal: the statuses that the platform might have moved it to instead
}

// MoveOutcome is the outcome of an item of a run.
type MoveOutcome string

// The outcomes.
const (
	MovePending      MoveOutcome = "pending"
	MoveAdvanced     MoveOutcome = "advanced"
	MoveAlreadyThere MoveOutcome = "already_there" // it already had the requested status
	MoveRefused      MoveOutcome = "refused"
	MoveNotFound     MoveOutcome = "not_found"
	MoveDuplicate    MoveOutcome = "duplicate" // an earlier item has the same delivery
)

// MoveOutcomes lists every outcome that an item ends with.
func MoveOutcomes() []MoveOutcome {
	return []MoveOutcome{MoveAdvanced, MoveAlreadyThere, MoveRefused, MoveNotFound, MoveDuplicate}
}

// Count returns how many items have an outcome.
func (r *MoveRun) Count(o MoveOutcome) (n int) {
	for i := range r.Items {
		if r.Items[i].Outcome == o {
			n++
		}
	}
	return n
}

// TakesReason reports whether a move to the status may have a reason code.
func (s Status) TakesReason() bool { return s == Failed || s == Cancelled }

// PlatformReasonCodes lists the reason codes that the platform may give.
func PlatformReasonCodes() []ReasonCode {
	return slices.DeleteFunc(ReasonCodes(), func(c ReasonCode) bool { return c == ReasonCancelledByCaller })
}
