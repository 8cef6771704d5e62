package domain

import (
	"slices"
	"strings"
	"time"
)

// Events of endpoints themselves; all others are of deliveries.
const (
	EventEndpointTest     EventType = "webhook_endpoint.test"
	EventEndpointDisabled EventType = "webhook_endpoint.disabled"
)

// eventTypes is every type there is, in the order of their bits in an EventMask.
// Masks are stored, so a new type goes to the end, whatever it is of.
var eventTypes = []EventType{
	"delivery.created", "delivery.assigned", "delivery.picked_up", "delivery.in_transit",
	"delivery.delivered", "delivery.failed", "delivery.cancelled", "delivery.outsourced",
	EventEndpointTest, EventEndpointDisabled,
}

// EventTypes is every type there is.
func EventTypes() []EventType { return slices.Clone(eventTypes) }

// DeliveryEventTypes is every type a delivery's event can have.
func DeliveryEventTypes() []EventType {
	return slices.DeleteFunc(EventTypes(), func(t EventType) bool { return !t.ofDelivery() })
}

func (t EventType) ofDelivery() bool { return strings.HasPrefix(string(t), "delivery.") }

// Patterns that stand for more than one type, those of later versions included.
const (
	AllEvents      = "*"
	DeliveryEvents = "delivery.*"
)

// EventPatterns is all that an endpoint may ask for.
func EventPatterns() []string {
	patterns := []string{AllEvents, DeliveryEvents}
	for _, t := range EventTypes() {
		patterns = append(patterns, string(t))
	}
	return patterns
}

// EventMask is a set of event types as bits, so that a storage can select by
// one comparison: an endpoint takes an event where both masks share a bit.
type EventMask int64

const (
	anyEvent    EventMask = 1 << iota // whatever it is
	anyDelivery                       // whatever happens to a delivery
	firstOfType                       // one bit for each type from here on
)

// MaskOf is the mask of an event of the type.
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

// MaskOfPatterns is the mask of an endpoint that takes what the patterns name:
// a type, DeliveryEvents or AllEvents. ok is false where one names nothing.
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
	Payload    []byte // the JSON that is sent, made once
	Position   FeedPosition
}

// FeedPosition is a place in the feed of an application, which goes in the
// order of commits. The zero position is before all events.
type FeedPosition struct {
	Commit   int64
	Sequence int
	ID       ID
}

// FeedPage is some events of the feed, in its order. Next is where to go on: behind
// the last event that was looked at, whether it is one of these or the filter left it
// out. More tells that there are events behind Next, even where this page has none.
type FeedPage struct {
	Events []FeedEvent
	Next   FeedPosition
	More   bool
}

// CursorExpired answers for a place in the feed behind which events may have been
// deleted, or that is not known any more; oldest is when the oldest event occurred
// that is there, nil where there is none.
func CursorExpired(oldest *time.Time) *Error {
	details := map[string]any{"oldest_available_at": nil}
	if oldest != nil {
		details["oldest_available_at"] = FormatTime(*oldest)
	}
	return &Error{Kind: KindGone, Code: CodeCursorExpired, Details: details,
		Message: "The cursor is older than the events that are kept, or from before the service was restored. " +
			"Begin again without a cursor and pass over events you have, by their id; for older ones list deliveries and their timelines."}
}

// PlatformFeedFilter chooses from the feed over all applications of an environment;
// zero fields but that one do not narrow it.
type PlatformFeedFilter struct {
	Environment  Environment
	Types        []EventType
	BusinessID   ID
	CreatedAfter *time.Time // inclusive
}

// PlatformEvent is an event of any application, and whose it is.
type PlatformEvent struct {
	FeedEvent
	Tenant Tenant
}

// PlatformFeedPage is FeedPage over all applications.
type PlatformFeedPage struct {
	Events []PlatformEvent
	Next   FeedPosition
	More   bool
}

// FeedFilter narrows the feed; zero fields do not.
type FeedFilter struct {
	Type         EventType
	DeliveryID   ID
	CreatedAfter *time.Time // inclusive
}
