package domain

import (
	"fmt"
	"strconv"
	"time"
	"unicode"
	"unicode/utf8"
)

// The bounds of all values, once. Edges, tables and commands check by them and
// choose their own words; openapi.yaml has the same numbers, which a test compares.

// TextRule is the rule for texts of one kind, after trimming.
type TextRule struct {
	Least, Most int                      // characters: code points, not bytes
	Multiline   bool                     // may have line ends and tabs
	Fault       func(text string) string // says what is wrong with its characters; nil: any that are no controls will do
}

// The kinds of texts.
var (
	// NameRule is for the name of a business, an application, a pickup
	// location or an operator's token: other people are shown it.
	NameRule = TextRule{Least: 1, Most: 128, Fault: TextFault}
	// PersonNameRule is for the name of a person, who must not pass for the delivery company.
	PersonNameRule = TextRule{Least: 1, Most: 128, Fault: PersonNameFault}
	// AddressRule is for an address as people write it.
	AddressRule = TextRule{Least: 2, Most: 500, Multiline: true}
	// MunicipalityRule is narrow: the public tracking page shows it.
	MunicipalityRule = TextRule{Most: 64, Fault: MunicipalityFault}
	// LabelRule is for what a recipient calls an address, such as Home.
	LabelRule = TextRule{Most: 64, Fault: TextFault}
	// NotesRule is for what a rider is told, of an address or of a delivery.
	NotesRule = TextRule{Most: 500, Multiline: true}
	// ExternalIDRule is for the caller's own name of a delivery.
	ExternalIDRule = TextRule{Least: 1, Most: 128, Fault: printableFault}
	// DescriptionRule is for what a caller notes about a webhook endpoint.
	DescriptionRule = TextRule{Most: 256, Fault: TextFault}
	// ViewReasonRule is for why a person of the staff sees the portal as a customer: the
	// customer reads it.
	ViewReasonRule = TextRule{Least: 10, Most: 500, Fault: TextFault}
)

// Judge returns one of the Field codes and what it is about, or two empty strings
// where the text, which is trimmed, keeps the rule.
func (r TextRule) Judge(text string) (code, message string) {
	n := utf8.RuneCountInString(text)
	switch {
	case n < r.Least:
		return FieldTooShort, fmt.Sprintf("must have %s; it has %d", r, n)
	case n > r.Most:
		return FieldTooLong, fmt.Sprintf("must have %s; it has %d", r, n)
	}
	if fault := r.fault(text); fault != "" {
		return FieldInvalidFormat, fault
	}
	if fault := SecretFault(text); fault != "" {
		return FieldInvalidFormat, fault
	}
	return "", ""
}

// String is the length, such as "1 to 128 characters".
func (r TextRule) String() string {
	if r.Least == 0 {
		return "at most " + strconv.Itoa(r.Most) + " characters"
	}
	return strconv.Itoa(r.Least) + " to " + strconv.Itoa(r.Most) + " characters"
}

func (r TextRule) fault(text string) string {
	if r.Fault != nil {
		return r.Fault(text)
	}
	n := 0
	for _, c := range text {
		n++
		if unicode.IsControl(c) && !(r.Multiline && (c == '\n' || c == '\r' || c == '\t')) {
			return fmt.Sprintf("must not have control characters; character %d is %U", n, c)
		}
	}
	return ""
}

// Degrees is how far from zero a coordinate may be, on either side.
type Degrees float64

// The degrees there are on the globe.
const (
	MaxLatitude  Degrees = 90
	MaxLongitude Degrees = 180
)

// Holds reports a coordinate that is on the globe; NaN is nowhere.
func (d Degrees) Holds(coordinate float64) bool {
	return coordinate >= -float64(d) && coordinate <= float64(d)
}

// String is the range, such as "-90 to 90".
func (d Degrees) String() string { return fmt.Sprintf("-%g to %g", float64(d), float64(d)) }

// Bounds of input that is not checked yet: long enough for every valid value, and
// short enough to be cheap to read.
const (
	MaxTypedPhone     = 64  // characters of a phone number
	MaxTypedID        = 64  // characters of an ID
	MaxTypedReference = 64  // bytes of a reference
	MaxSearch         = 128 // characters of a search
)

// An idempotency key has so many printable ASCII characters.
const (
	MinIdempotencyKey = 8
	MaxIdempotencyKey = 255
)

// How many records a page of a list has.
const (
	DefaultPage = 25
	MaxPage     = 100
)

// Characters of an e-mail address and of what stands before its @, as RFC 5321 has
// them, and those that are kept of what a browser calls itself.
const (
	MaxEmail      = 254
	MaxEmailLocal = 64
	MaxDevice     = 200
)

// MaxCredentialID is how many bytes the name has that a device gives a passkey, at
// most: WebAuthn allows no longer one.
const MaxCredentialID = 1023

// MaxGoodsValueMinor is the most a caller may have collected on delivery.
const MaxGoodsValueMinor = 1_000_000_00

// A rate limit, of a business or a key, has at most so many requests in so long a
// window. Limiters rely on it: no product of theirs exceeds 2^53.
const (
	MaxRateLimit  = 10_000_000
	MaxRateWindow = 24 * time.Hour
)

// How much there may be of a thing, and at a time.
const (
	// MaxBulkItems is the most deliveries that one request may ask for.
	MaxBulkItems = 100
	// MaxMoves is the most deliveries that operators move with one request.
	MaxMoves = 200
	// MaxAddressesPerRecipient bounds a list that is never paginated.
	MaxAddressesPerRecipient = 200
	// MaxApplications is how many a business may have, disabled ones included. It bounds the
	// lists and menus that have all of them.
	MaxApplications = 100
	// MaxUsableKeys is how many keys of an application in an environment may work at a time.
	MaxUsableKeys = 100
	// MaxPastKeysListed is how many revoked and expired keys of an application in an
	// environment are listed, the newest ones. Their number has no bound.
	MaxPastKeysListed = 200
	// MaxRunningSimulations is how many an application may have at a time.
	MaxRunningSimulations = 100
	// MaxTrackedEvents is how much of a timeline Tracking has: a delivery that was
	// retried without end must not make a page without end.
	MaxTrackedEvents = 40
	// maxHelperEvents is the number of events from which the sandbox helper retries a
	// delivery no more: a retry is the only way round, so it bounds the timeline.
	maxHelperEvents = 1000
)

// The pace of a simulation.
const (
	DefaultStepSeconds = 15
	MaxStepSeconds     = 300
)

// Of webhooks.
const (
	// MaxWebhookEndpoints is how many an application may have in an environment.
	MaxWebhookEndpoints = 16
	// MaxWebhookURL is how long the address of an endpoint may be, in bytes.
	MaxWebhookURL = 2048
	// MaxEventPatterns is how many patterns an endpoint may have.
	MaxEventPatterns = 16
	// MaxSecretOverlap is how long two secrets may sign side by side.
	MaxSecretOverlap = 7 * 24 * time.Hour
	// MaxWebhookTests is how many test events an endpoint may get in a minute.
	MaxWebhookTests = 10
	// MaxAttemptsListed is how many attempts of a webhook are shown, the last ones:
	// redeliveries may go on without end.
	MaxAttemptsListed = 500
	// MaxExcerpt is how much is kept of what a receiver answered, in bytes.
	MaxExcerpt = 1 << 10
)
