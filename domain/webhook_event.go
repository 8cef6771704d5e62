package domain

import (
	"slices"
	"strings"
	"time"
)

// Events of endpoints themselves. All other events are of deliveries.
const (
	EventEndpointTest     EventType = "webhook_endpoint.test"
	EventEndpointDisabled EventType = "webhook_endpoint.disabled"
)

// eventTypes lists every type, in the order of their bits in an EventMask. Masks are stored, so add
// a new type at the end, whatever it is about.
var eventTypes = []EventType{
	"delivery.created", "delivery.assigned", "delivery.picked_up", "delivery.in_transit",
	"delivery.delivered", "delivery.failed", "delivery.cancelled", "delivery.outsourced",
	EventEndpointTest, EventEndpointDisabled,
}

// EventTypes lists every type.
func EventTypes() []EventType { return slices.Clone(eventTypes) }

// DeliveryEventTypes lists every type that a delivery's event can have.
func DeliveryEventTypes() []EventType {
	return slices.DeleteFunc(EventTypes(), func(t EventType) bool { return !t.ofDelivery() })
}

func (t EventType) ofDelivery() bool { return strings.HasPrefix(string(t), "delivery.") }

// Patterns that match more than one type, including those of later versions.
const (
	AllEvents      = "*"
	DeliveryEvents = "delivery.*"
)

// EventPatterns lists all patterns that an endpoint may have.
func EventPatterns() []string {
	patterns := []string{AllEvents, DeliveryEvents}
	for _, t := range EventTypes() {
		patterns = append(patterns, string(t))
	}
	return patterns
}

// EventMask is a set of event types as bits, so that a storage can select with one comparison: an
// endpoint gets an event where both masks share a bit.
type EventMask int64

const (
	anyEvent    EventMask = 1 << iota // any event
	anyDelivery                       // any event of a delivery
	firstOfType                       // one bit for each type from here on
)

// MaskOf returns the mask of an event of the type.
func MaskOf(t EventType) EventMask {
	mask := anyEvent
	if t.ofDelivery() {
		mask |= anyDelivery
	}
	if i := slices.Index(eventTypes, t); i >= 0 {
		mask |= firstOfType << i
	}
	return mask
}

// MaskOfPatterns returns the mask of an endpoint with the patterns: a type, DeliveryEvents or
// AllEvents. ok is false where a pattern matches nothing.
func MaskOfPatterns(patterns []string) (mask EventMask, ok bool) {
	for _, p := range patterns {
		i := slices.Index(eventTypes, EventType(p))
		switch {
		case p == AllEvents:
			mask |= anyEvent
		case p == DeliveryEvents:
			mask |= anyDelivery
		case i >= 0:
			mask |= firstOfType << i
		default:
			return 0, false
		}
	}
	return mask, true
}

// FeedEvent is an event as the feed shows it and webhooks carry it.
type FeedEvent struct {
	ID         ID
	Type       EventType
	DeliveryID ID  // empty for an event of an endpoint
	Sequence   int // within the delivery; 0 for an event of an endpoint
	OccurredAt time.Time
	Payload    []byte // the JSON that is sent, rendered once
	Position   FeedPosition
}

// FeedPosition is a place in the feed of an application, which is in the order of commits. The zero
// position is before all events.
type FeedPosition struct {
	Commit   int64
	Sequence int
	ID       ID
}

// FeedPage is a page of the feed, in its order. Next is where to continue: after the last event
// that was read, even if the filter left it out. More reports events after Next, even where this
// page has none.
type FeedPage struct {
	Events []FeedEvent
	Next   FeedPosition
	More   bool
}

// CursorExpired returns the error for a feed position that is unknown, or after which events may
// have been deleted. oldest is the time of the oldest available event, nil where there is none.
func CursorExpired(oldest *time.Time) *Error {
	details := map[string]any{"oldest_available_at": nil}
	if oldest != nil {
		details["oldest_available_at"] = FormatTime(*oldest)
	}
	return &Error{Kind: KindGone, Code: CodeCursorExpired, Details: details,
		Message: "The cursor is older than the events that are kept, or from before the service was restored. " +
			"Begin again without a cursor and pass over events you have, by their id; for older ones list deliveries and their timelines."}
}

// PlatformFeedFilter narrows the feed of all applications of an environment. Zero fields, except
// the environment, do not narrow.
type PlatformFeedFilter struct {
	Environment  Environment
	Types        []EventType
	BusinessID   ID
	CreatedAfter *time.Time // inclusive
}

// PlatformEvent is an event of any application, with its owner.
type PlatformEvent struct {
	FeedEvent
	Tenant Tenant
}

// PlatformFeedPage is a FeedPage over all applications.
type PlatformFeedPage struct {
	Events []PlatformEvent
	Next   FeedPosition
	More   bool
}

// FeedFilter narrows the feed; zero fields do not narrow.
type FeedFilter struct {
	Type         EventType
	DeliveryID   ID
	CreatedAfter *time.Time // inclusive
}
