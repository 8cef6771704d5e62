package domain

import "time"

// Tracking is what anyone with the reference may see of a delivery. A recipient
// may pass the link on, so it has neither name, address nor amount, and no
// identifier.
type Tracking struct {
	Sender       string // trading name of the business
	Municipality string // of the dropoff; empty: not known
	Test         bool   // of the sandbox: nothing is on its way
	Status       Status
	Sequence     int            // of the last event; a higher one is news
	Events       []TrackedEvent // the last MaxTrackedEvents, oldest first
}

// TrackedEvent is one entry of the timeline that Tracking shows.
type TrackedEvent struct {
	Status     Status
	OccurredAt time.Time
	Reason     ReasonCode // empty: none
}

// Over reports whether nothing can follow any more. A failed delivery is not
// over: it may be tried again.
func (t *Tracking) Over() bool { return t.Status == Delivered || t.Status == Cancelled }
