package domain

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Status is the status of a delivery.
type Status string

// The statuses. A client that polls stops at Delivered, Failed and Cancelled, yet operations may
// retry a Failed delivery. An Outsourced one continues.
const (
	Booked     Status = "booked"
	Assigned   Status = "assigned"
	PickedUp   Status = "picked_up"
	InTransit  Status = "in_transit"
	Delivered  Status = "delivered"
	Failed     Status = "failed"
	Cancelled  Status = "cancelled"
	Outsourced Status = "outsourced"
)

// Statuses lists every status, in the order of a delivery's life.
func Statuses() []Status {
	return []Status{Booked, Assigned, PickedUp, InTransit, Delivered, Failed, Cancelled, Outsourced}
}

// OpenStatuses lists the statuses of an open delivery: neither delivered, failed nor cancelled.
func OpenStatuses() []Status { return []Status{Booked, Assigned, PickedUp, InTransit, Outsourced} }

// Actor is the party that causes a transition.
type Actor string

// The actors.
const (
	ActorCaller    Actor = "caller"    // the application, through cancel
	ActorPlatform  Actor = "platform"  // the delivery company's operations
	ActorHelper    Actor = "helper"    // the sandbox test helper
	ActorSimulator Actor = "simulator" // a running scenario
)

// Transition is one edge of the state machine.
type Transition struct {
	From, To     Status
	By           []Actor
	BeforePickup bool // only if pickup was never recorded, in any attempt
}

var (
	operators = []Actor{ActorPlatform, ActorHelper}
	people    = []Actor{ActorCaller, ActorPlatform, ActorHelper}
	everyTest = []Actor{ActorPlatform, ActorHelper, ActorSimulator}
	everyone  = []Actor{ActorCaller, ActorPlatform, ActorHelper, ActorSimulator}
)

// transitions holds the whole state machine. Any other transition is refused.
var transitions = []Transition{
	{From: Booked, To: Assigned, By: everyTest},
	{From: Booked, To: Outsourced, By: everyTest},
	{From: Booked, To: Cancelled, By: everyone, BeforePickup: true},
	{From: Assigned, To: PickedUp, By: everyTest},
	{From: Assigned, To: Outsourced, By: operators},
	{From: Assigned, To: Cancelled, By: everyone, BeforePickup: true},
	{From: Assigned, To: Failed, By: everyTest},
	{From: PickedUp, To: InTransit, By: everyTest},
	{From: PickedUp, To: Failed, By: operators},
	{From: InTransit, To: Delivered, By: everyTest},
	{From: InTransit, To: Failed, By: everyTest},
	{From: Outsourced, To: PickedUp, By: everyTest},
	{From: Outsourced, To: Delivered, By: []Actor{ActorPlatform}},
	{From: Outsourced, To: Failed, By: operators},
	{From: Outsourced, To: Cancelled, By: people, BeforePickup: true},
	{From: Failed, To: Assigned, By: everyTest},
	{From: Failed, To: Cancelled, By: people, BeforePickup: true},
}

// Transitions returns a copy of the table.
func Transitions() []Transition { return slices.Clone(transitions) }

// Next lists the statuses that the actor may move the delivery to now.
func (d *Delivery) Next(by Actor) []Status {
	next := []Status{}
	for _, t := range transitions {
		if t.From == d.life.Status && d.permits(t, by) {
			next = append(next, t.To)
		}
	}
	return next
}

// Move takes the delivery one step and returns its event, or refuses with the statuses that are
// allowed instead. While a simulation runs, it returns SIMULATION_RUNNING.
func (d *Delivery) Move(to Status, by Actor, reason ReasonCode, eventID ID, at time.Time) (Event, error) {
	if d.Simulating() {
		return Event{}, d.simulationRunning()
	}
	return d.move(to, by, reason, eventID, at)
}

func (d *Delivery) move(to Status, by Actor, reason ReasonCode, eventID ID, at time.Time) (Event, error) {
	if reason != "" && to != Failed && to != Cancelled {
		return Event{}, Invalid(FieldError{Field: "reason_code", Code: FieldNotAllowed,
			Message: fmt.Sprintf("%s goes with failed and cancelled only, not with %s; leave it out", quoted(string(reason)), to)})
	}
	for _, t := range transitions {
		if t.From == d.life.Status && t.To == to && d.permits(t, by) {
			return d.moveTo(to, reason, eventID, at), nil
		}
	}
	return Event{}, d.refuse(to, by)
}

func (d *Delivery) permits(t Transition, by Actor) bool {
	switch {
	case by == ActorHelper && t.From == Failed && t.To == Assigned && d.life.Sequence >= maxHelperEvents:
		return false
	case t.BeforePickup && d.life.PickedUpAt != nil:
		return false
	}
	return slices.Contains(t.By, by)
}

// moveTo changes the status. Nothing else does.
func (d *Delivery) moveTo(to Status, reason ReasonCode, eventID ID, at time.Time) Event {
	at = d.touch(at)
	previous := d.life.Status
	d.life.Status = to
	if to == PickedUp && d.life.PickedUpAt == nil {
		d.life.PickedUpAt = &at
	}
	return d.record(eventID, at, previous, reason)
}

func (d *Delivery) refuse(to Status, by Actor) *Error {
	code := CodeTransitionInvalid
	if by == ActorHelper {
		code = CodeSandboxTransitionInvalid
	}
	allowed := d.Next(by)
	names := make([]string, len(allowed))
	for i, s := range allowed {
		names[i] = string(s)
	}
	hint := "Nothing can follow it."
	if len(names) > 0 {
		hint = "Next allowed: " + strings.Join(names, ", ") + "."
	}
	message := fmt.Sprintf("Cannot go from %s to %s. %s", d.life.Status, to, hint)
	if to == d.life.Status {
		message = fmt.Sprintf("It is %s already. %s", to, hint)
	}
	return &Error{
		Kind: KindConflict, Code: code, Message: message,
		Details: map[string]any{
			"current_status": string(d.life.Status), "requested_status": string(to), "allowed_statuses": names,
		},
	}
}
