package domain

import "time"

// Tracking is what anyone with the reference may see of a delivery. A recipient may pass the link
// on, so it has no name, address or identifier, and an amount only if the business allows it.
type Tracking struct {
	Sender       string // trading name of the business
	Municipality string // of the dropoff; empty: not known
	Test         bool   // a sandbox delivery: no rider is sent
	Cash         *Money // that the rider collects for the goods; nil: none, or not to be shown
	Status       Status
	Sequence     int            // of the last event; a higher one means a change
	Events       []TrackedEvent // the last MaxTrackedEvents, oldest first
}

// TrackedEvent is one entry of the timeline in Tracking.
type TrackedEvent struct {
	Status     Status
	OccurredAt time.Time
	Reason     ReasonCode // empty: none
}

// Over reports whether the status is final. A failed delivery is not over: it may be retried.
func (t *Tracking) Over() bool { return t.Status == Delivered || t.Status == Cancelled }
