package domain

import (
	"fmt"
	"strconv"
	"time"
	"unicode/utf8"
)

// The bounds of all values, once. Edges, tables and commands check by them and
// choose their own words; openapi.yaml has the same numbers, which a test compares.

// TextRule is the rule for texts of one kind, after trimming.
type TextRule struct {
	Least, Most int                      // characters: code points, not bytes
	Multiline   bool                     // may have line ends and tabs
	Fault       func(text string) string // describes forbidden characters; nil: TextFault, but for line ends and tabs of a multiline text
}

// The kinds of texts.
var (
	// NameRule applies to names of businesses, applications, pickup locations and operator
	// tokens. Other people see them.
	NameRule = TextRule{Least: 1, Most: 128}
	// PersonNameRule applies to the name of a person, who must not pass for the delivery company.
	PersonNameRule = TextRule{Least: 1, Most: 128, Fault: PersonNameFault}
	// AddressRule applies to an address as people write it.
	AddressRule = TextRule{Least: 2, Most: 500, Multiline: true}
	// MunicipalityRule applies to the town or district of an address. The public tracking page
	// shows it, shortened.
	MunicipalityRule = TextRule{Most: 128}
	// LabelRule applies to a recipient's name for an address, such as Home.
	LabelRule = TextRule{Most: 64}
	// NotesRule applies to notes for the rider, of an address or of a delivery.
	NotesRule = TextRule{Most: 500, Multiline: true}
	// ExternalIDRule applies to the caller's own name of a delivery.
	ExternalIDRule = TextRule{Least: 1, Most: 128, Fault: printableFault}
	// DescriptionRule applies to a caller's notes about a webhook endpoint.
	DescriptionRule = TextRule{Most: 256}
	// ViewReasonRule applies to the reason of staff for seeing the portal as a customer. The
	// customer reads it.
	ViewReasonRule = TextRule{Least: 10, Most: 500}
)

// Judge returns one of the Field codes and its message, or two empty strings where the trimmed text
// keeps the rule.
func (r TextRule) Judge(text string) (code, message string) {
	n := utf8.RuneCountInString(text)
	switch {
	case n < r.Least:
		return FieldTooShort, fmt.Sprintf("must have %s; it has %d", r, n)
	case n > r.Most:
		return FieldTooLong, fmt.Sprintf("must have %s; it has %d", r, n)
	}
	if fault := r.FaultIn(text); fault != "" {
		return FieldInvalidFormat, fault
	}
	if fault := SecretFault(text); fault != "" {
		return FieldInvalidFormat, fault
	}
	return "", ""
}

// String returns the allowed length, such as "1 to 128 characters".
func (r TextRule) String() string {
	if r.Least == 0 {
		return "at most " + strconv.Itoa(r.Most) + " characters"
	}
	return strconv.Itoa(r.Least) + " to " + strconv.Itoa(r.Most) + " characters"
}

// FaultIn describes the first forbidden character of a text, or returns an empty text.
func (r TextRule) FaultIn(text string) string {
	if r.Fault != nil {
		return r.Fault(text)
	}
	return textFault(text, r.Multiline)
}

// Degrees is the maximum distance of a coordinate from zero, on either side.
type Degrees float64

// The limits of coordinates.
const (
	MaxLatitude  Degrees = 90
	MaxLongitude Degrees = 180
)

// Holds reports whether a coordinate is on the globe. NaN is not.
func (d Degrees) Holds(coordinate float64) bool {
	return coordinate >= -float64(d) && coordinate <= float64(d)
}

// String returns the range, such as "-90 to 90".
func (d Degrees) String() string { return fmt.Sprintf("-%g to %g", float64(d), float64(d)) }

// Limits of unchecked input: long enough for every valid value, and short enough to be cheap to
// read.
const (
	MaxTypedPhone     = 64  // characters of a phone number
	MaxTypedID        = 64  // characters of an ID
	MaxTypedReference = 64  // bytes of a reference
	MaxSearch         = 128 // characters of a search
)

// The length of an idempotency key, in printable ASCII characters.
const (
	MinIdempotencyKey = 8
	MaxIdempotencyKey = 255
)

// The page sizes of lists.
const (
	DefaultPage = 25
	MaxPage     = 100
)

// The maximum characters of an email address and of its part before the @, by RFC 5321, and of a
// stored browser name.
const (
	MaxEmail      = 254
	MaxEmailLocal = 64
	MaxDevice     = 200
)

// MaxCredentialID is the maximum length in bytes of a device's name for a passkey. WebAuthn allows
// no longer one.
const MaxCredentialID = 1023

// MaxGoodsValueMinor is the maximum amount to collect on delivery.
const MaxGoodsValueMinor = 1_000_000_00

// The limits of a rate limit, of a business or a key: requests, and window. Limiters rely on them:
// no product of the two exceeds 2^53.
const (
	MaxRateLimit  = 10_000_000
	MaxRateWindow = 24 * time.Hour
)

// Maximum counts.
const (
	// MaxBulkItems limits the deliveries of one bulk create.
	MaxBulkItems = 100
	// MaxMoves limits the deliveries that operators move with one request.
	MaxMoves = 200
	// MaxAddressesPerRecipient limits a list that is never paginated.
	MaxAddressesPerRecipient = 200
	// MaxApplications limits the applications of a business, including disabled ones. It limits
	// the lists and menus that have all of them.
	MaxApplications = 100
	// MaxUsableKeys limits the active keys of an application in an environment.
	MaxUsableKeys = 100
	// MaxPastKeysListed is how many of the newest revoked and expired keys of an application in
	// an environment are listed. Their number has no limit.
	MaxPastKeysListed = 200
	// MaxRunningSimulations limits the simulations that an application runs at a time.
	MaxRunningSimulations = 100
	// MaxTrackedEvents limits the timeline in Tracking. A delivery that was retried without end
	// must not make an endless page.
	MaxTrackedEvents = 40
	// maxHelperEvents is the number of events from which the sandbox helper no longer retries a
	// delivery. A retry is the only cycle, so this limits the timeline.
	maxHelperEvents = 1000
)

// The pace of a simulation.
const (
	DefaultStepSeconds = 15
	MaxStepSeconds     = 300
)

// Limits of webhooks.
const (
	// MaxWebhookEndpoints limits the endpoints of an application in an environment.
	MaxWebhookEndpoints = 16
	// MaxWebhookURL limits the URL of an endpoint, in bytes.
	MaxWebhookURL = 2048
	// MaxEventPatterns limits the patterns of an endpoint.
	MaxEventPatterns = 16
	// DefaultSecretOverlap is how long two secrets sign together after a rotation, and
	// MaxSecretOverlap limits it.
	DefaultSecretOverlap = 24 * time.Hour
	MaxSecretOverlap     = 7 * 24 * time.Hour
	// MaxWebhookTests limits the test events of an endpoint in a minute.
	MaxWebhookTests = 10
	// MaxAttemptsListed is how many of the last attempts of a webhook are shown. People may resend
	// without end.
	MaxAttemptsListed = 500
	// MaxExcerpt limits the stored part of a receiver's response, in bytes.
	MaxExcerpt = 1 << 10
)
