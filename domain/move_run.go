package domain

import (
	"slices"
	"time"
)

// MoveRunKept is how long a run is kept, and with it what its key was used for.
const MoveRunKept = 30 * 24 * time.Hour

// MoveRun is one request of the platform to move up to MaxMoves deliveries. Each is
// moved in a transaction of its own, which records its outcome in the run as well.
type MoveRun struct {
	ID          ID
	Key         string   // of the request: all operators share the keys
	Fingerprint [32]byte // of the moves that are asked for
	By          AuditActor
	CreatedAt   time.Time
	FinishedAt  *time.Time // nil: it is under way
	// LeaseLeft is, of a run that is under way, the time left until its lease runs
	// out. Zero or less: no process works on it, and any may go on with it.
	LeaseLeft time.Duration
	Items     []MoveItem // by index
}

// MoveItem is one delivery of a run, and what became of it.
type MoveItem struct {
	Index      int
	Sent       string // the reference or ID as it was sent
	DeliveryID ID     // empty: there is no such delivery
	Reference  Reference
	To         Status
	Reason     ReasonCode
	Outcome    MoveOutcome
	// Current is the status at the moment of the outcome, of a delivery that was locked
	// or of one that was read for a duplicate. Empty where no status is known.
	Current Status
	Code    string   // of a refusal
	Message string   // of a refusal
	Allowed []Status // of a refusal: to which the platform might have moved it instead
}

// MoveOutcome is what became of an item of a run.
type MoveOutcome string

// The outcomes.
const (
	MovePending      MoveOutcome = "pending"
	MoveAdvanced     MoveOutcome = "advanced"
	MoveAlreadyThere MoveOutcome = "already_there" // it had the status that was asked for
	MoveRefused      MoveOutcome = "refused"
	MoveNotFound     MoveOutcome = "not_found"
	MoveDuplicate    MoveOutcome = "duplicate" // an earlier item is the same delivery
)

// MoveOutcomes is every outcome that an item ends with.
func MoveOutcomes() []MoveOutcome {
	return []MoveOutcome{MoveAdvanced, MoveAlreadyThere, MoveRefused, MoveNotFound, MoveDuplicate}
}

// Count is how many items have an outcome.
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

// PlatformReasonCodes are the reason codes that the platform may give.
func PlatformReasonCodes() []ReasonCode {
	return slices.DeleteFunc(ReasonCodes(), func(c ReasonCode) bool { return c == ReasonCancelledByCaller })
}
