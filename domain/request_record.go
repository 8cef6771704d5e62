package domain

import "time"

// RequestRecord is the record of one request to the public API. It holds no body,
// no name, no phone number, no address and no key.
type RequestRecord struct {
	ID ID // drawn by us; it tells when the request began
	// ClientID is the name that the caller gave the request; empty: none.
	ClientID string

	// The caller. Of a request that was not admitted, as much as is known.
	Environment   Environment
	BusinessID    ID
	ApplicationID ID
	KeyID         ID

	Route      string // the method and the pattern of the path
	DeliveryID ID     // in the path, or booked; empty: none
	Status     int
	Code       string   // of the error; empty: it succeeded
	Fields     []string // that the error is about
	Took       time.Duration
	Replayed   bool
	KeyDigest  []byte // the first 8 bytes of SHA-256 of the idempotency key; empty: none was sent
	Network    string // of the client, as ClientNetwork tells it
	Agent      string // at most MaxRequestAgent bytes
	// Weight is how many requests the record stands for: more than one of many that
	// succeeded within a second.
	Weight int
}

// Failed reports whether the request was refused or could not be carried out.
func (r *RequestRecord) Failed() bool { return r.Status >= failedFrom }

// failedFrom is the first status that means a failure.
const failedFrom = 400

// Bounds of a record.
const (
	MaxRequestAgent  = 120
	MaxRequestFields = 20
	// MaxClientRequestID is how long a caller's own name for a request may be.
	MaxClientRequestID = 128
)

// RequestFilter narrows the request log; zero fields do not.
type RequestFilter struct {
	ID            ID
	BusinessID    ID
	ApplicationID ID
	KeyID         ID
	Environment   Environment
	DeliveryID    ID
	ClientID      string
	Route         string
	Code          string
	Status        int        // 100 to 599
	Class         int        // the first digit of the status, 1 to 5
	Failed        *bool      // nil: whatever came of them
	Unknown       bool       // those of callers that belong to no business
	CreatedAfter  *time.Time // inclusive
	CreatedBefore *time.Time // exclusive
}

// FailureSum is how many failures one business got of one code from one route.
type FailureSum struct {
	BusinessID ID // empty: the caller is unknown
	Route      string
	Status     int
	Code       string
	Calls      int64
}

// UsageMinute is how often a key got one kind of answer from one route in a minute.
type UsageMinute struct {
	Minute        time.Time // its beginning, in UTC
	Environment   Environment
	BusinessID    ID
	ApplicationID ID
	KeyID         ID
	Route         string
	Status        int
	Code          string
	Calls         int64
	Replayed      int64
	Took          time.Duration // of all together
}

// UsageStep is the length of the bars of a chart.
type UsageStep string

// The steps there are. Days are those of UTC.
const (
	UsageByMinute UsageStep = "minute"
	UsageByHour   UsageStep = "hour"
	UsageByDay    UsageStep = "day"
)

// UsageQuery asks for what a business did from From until before Until, summed up by
// steps and, where it says so, by key, route, status and code.
type UsageQuery struct {
	BusinessID    ID
	ApplicationID ID          // empty: all
	KeyID         ID          // empty: all
	Environment   Environment // empty: both
	From, Until   time.Time
	Step          UsageStep // empty: all of the time is one
	ByKey         bool
	ByRoute       bool
	ByResult      bool // by status and code
}

// Usage is one sum of a UsageQuery; what it was not asked by is empty.
type Usage struct {
	At       time.Time // beginning of the step; zero without steps
	KeyID    ID
	Route    string
	Status   int
	Code     string
	Calls    int64
	Replayed int64
	Took     time.Duration
	Last     time.Time // the last minute in which there was one
}

// Failed reports whether the calls were refused or could not be carried out.
func (u *Usage) Failed() bool { return u.Status >= failedFrom }

// RequestLogKeeping is for how long records are kept.
type RequestLogKeeping struct {
	Successes, Failures, Usage time.Duration
	MaxBytes                   int64 // of all records together; 0: no bound
}
