package domain

import "time"

// EventType names what happened, such as delivery.assigned.
type EventType string

// ReasonCode says why a delivery failed or was cancelled.
type ReasonCode string

// The reasons.
const (
	ReasonRecipientUnreachable ReasonCode = "recipient_unreachable"
	ReasonRecipientRefused     ReasonCode = "recipient_refused"
	ReasonCODRefused           ReasonCode = "cod_refused"
	ReasonAddressProblem       ReasonCode = "address_problem"
	ReasonPickupUnavailable    ReasonCode = "pickup_unavailable"
	ReasonNoRider              ReasonCode = "no_rider"
	ReasonCancelledByCaller    ReasonCode = "cancelled_by_caller"
	ReasonCancelledByPlatform  ReasonCode = "cancelled_by_platform"
	ReasonOther                ReasonCode = "other"
)

// ReasonCodes lists every reason.
func ReasonCodes() []ReasonCode {
	return []ReasonCode{
		ReasonRecipientUnreachable, ReasonRecipientRefused, ReasonCODRefused,
		ReasonAddressProblem, ReasonPickupUnavailable, ReasonNoRider,
		ReasonCancelledByCaller, ReasonCancelledByPlatform, ReasonOther,
	}
}

// Event is one entry of a delivery's timeline. It is never changed.
type Event struct {
	ID         ID
	DeliveryID ID
	Type       EventType
	Status     Status // of the delivery at this event
	Previous   Status // empty on the first event
	Sequence   int    // 1, 2, 3 ... within the delivery
	OccurredAt time.Time
	Reason     ReasonCode // empty: none
}

func eventType(s Status) EventType {
	if s == Booked {
		return "delivery.created"
	}
	return EventType("delivery." + string(s))
}
