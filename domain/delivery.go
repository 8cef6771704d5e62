package domain

import "time"

// Party is a snapshot of the recipient in a delivery. Renaming a recipient never changes what was
// booked.
type Party struct {
	ID          ID
	Name        string
	PhoneNumber PhoneNumber
}

// Dropoff is the booked destination. ID names the recipient's address. The coordinates are the ones
// that were sent and priced.
type Dropoff struct {
	ID            ID
	Address       string
	Coordinates   Coordinates
	Label         string
	Municipality  string
	DeliveryNotes string
}

// Booking holds everything about a delivery that never changes.
type Booking struct {
	ID           ID
	Tenant       Tenant
	Reference    Reference
	ExternalID   string // empty: none
	Recipient    Party
	Pickup       Pickup
	Dropoff      Dropoff
	Payment      Payment
	VehicleType  VehicleType
	Quote        Quote
	Instructions string
	CreatedAt    time.Time
}

// Lifecycle holds everything about a delivery that changes. Only the methods of Delivery write it.
type Lifecycle struct {
	Status     Status
	Sequence   int        // of the last event
	PickedUpAt *time.Time // first pickup; set once, and kept when the delivery is retried
	UpdatedAt  time.Time
	Simulation *Simulation // nil: none was ever started
}

// Delivery is one order to bring something from a pickup to a recipient.
type Delivery struct {
	Booking
	life Lifecycle
}

// Book returns a new delivery and its first event.
func Book(b Booking, eventID ID) (*Delivery, Event) {
	d := &Delivery{Booking: b, life: Lifecycle{Status: Booked, UpdatedAt: b.CreatedAt}}
	return d, d.record(eventID, b.CreatedAt, "", "")
}

// RestoreDelivery rebuilds a delivery from storage.
func RestoreDelivery(b Booking, l Lifecycle) *Delivery { return &Delivery{Booking: b, life: l} }

// Status returns the status of the delivery.
func (d *Delivery) Status() Status { return d.life.Status }

// UpdatedAt returns when a public field last changed.
func (d *Delivery) UpdatedAt() time.Time { return d.life.UpdatedAt }

// Lifecycle returns all that changes, for storage. Do not write through its pointers.
func (d *Delivery) Lifecycle() Lifecycle { return d.life }

// Simulated reports whether the delivery is in the sandbox, so that no rider ever comes.
func (d *Delivery) Simulated() bool { return d.Tenant.Environment == Sandbox }

// touch notes a change of a public field and returns its time. Clocks of two processes may differ,
// but the time of a delivery never goes back.
func (d *Delivery) touch(at time.Time) time.Time {
	if at.Before(d.life.UpdatedAt) {
		at = d.life.UpdatedAt
	}
	d.life.UpdatedAt = at
	return at
}

// record appends the next event. Sequences have no gaps.
func (d *Delivery) record(id ID, at time.Time, previous Status, reason ReasonCode) Event {
	d.life.Sequence++
	return Event{
		ID: id, DeliveryID: d.ID, Type: eventType(d.life.Status), Status: d.life.Status,
		Previous: previous, Sequence: d.life.Sequence, OccurredAt: at, Reason: reason,
	}
}
