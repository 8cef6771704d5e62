package domain

import "time"

// Party is the recipient as a delivery shows it: a snapshot, so that renaming
// a recipient never changes what was booked.
type Party struct {
	ID          ID
	Name        string
	PhoneNumber PhoneNumber
}

// Dropoff is the destination as it was booked. ID names the recipient's
// address; the coordinates are the ones that were sent and priced.
type Dropoff struct {
	ID            ID
	Address       string
	Coordinates   Coordinates
	Label         string
	Municipality  string
	DeliveryNotes string
}

// Booking is everything about a delivery that never changes.
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

// Lifecycle is everything about a delivery that changes. Only the methods of
// Delivery write it.
type Lifecycle struct {
	Status     Status
	Sequence   int        // of the last event
	PickedUpAt *time.Time // first pickup; set once, kept through a retry
	UpdatedAt  time.Time
	Simulation *Simulation // nil: none was ever started
}

// Delivery is one order to bring something from a pickup to a recipient.
type Delivery struct {
	Booking
	life Lifecycle
}

// Book makes a delivery and its first event.
func Book(b Booking, eventID ID) (*Delivery, Event) {
	d := &Delivery{Booking: b, life: Lifecycle{Status: Booked, UpdatedAt: b.CreatedAt}}
	return d, d.record(eventID, b.CreatedAt, "", "")
}

// RestoreDelivery rebuilds a delivery from what storage kept of it.
func RestoreDelivery(b Booking, l Lifecycle) *Delivery { return &Delivery{Booking: b, life: l} }

// Status is where the delivery stands.
func (d *Delivery) Status() Status { return d.life.Status }

// UpdatedAt is when a public field last changed.
func (d *Delivery) UpdatedAt() time.Time { return d.life.UpdatedAt }

// Lifecycle is all that changes, for storage; do not write to what its pointers
// lead to.
func (d *Delivery) Lifecycle() Lifecycle { return d.life }

// Simulated reports whether no rider will ever come: everything in the sandbox.
func (d *Delivery) Simulated() bool { return d.Tenant.Environment == Sandbox }

// touch notes that a public field changes. The clock may step back between two
// processes; a delivery must not: the time it returns is the one that counts.
func (d *Delivery) touch(at time.Time) time.Time {
	if at.Before(d.life.UpdatedAt) {
		at = d.life.UpdatedAt
	}
	d.life.UpdatedAt = at
	return at
}

// record appends the next event; sequences have no gaps.
func (d *Delivery) record(id ID, at time.Time, previous Status, reason ReasonCode) Event {
	d.life.Sequence++
	return Event{
		ID: id, DeliveryID: d.ID, Type: eventType(d.life.Status), Status: d.life.Status,
		Previous: previous, Sequence: d.life.Sequence, OccurredAt: at, Reason: reason,
	}
}
