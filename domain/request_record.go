package domain

import "time"

// RequestRecord is the record of one request to the public API. It holds no body, no name, no phone
// number, no address and no key.
type RequestRecord struct {
	ID ID // drawn by the server; it contains the start of the request
	// ClientID is the caller's name for the request; empty: none.
	ClientID string

	// The caller. For a request that was not admitted, as much as is known.
	Environment   Environment
	BusinessID    ID
	ApplicationID ID
	KeyID         ID

	Route      string // the method and the pattern of the path
	DeliveryID ID     // in the path, or booked; empty: none
	Status     int
	Code       string // of the error; empty: it succeeded
	// Fields are those that the error is about, each with its field code, or with the field that was
	// probably meant: name:out_of_range, or name:meant:other. Older records have the names alone.
	Fields    []string
	Took      time.Duration
	Replayed  bool
	KeyDigest []byte // the first 8 bytes of SHA-256 of the idempotency key; empty: none was sent
	Network   string // of the client, from ClientNetwork
	Agent     string // at most MaxRequestAgent bytes
	// Weight is how many requests the record stands for. It is more than one for one of many that
	// succeeded within a second.
	Weight int
}

// Failed reports whether the request was refused or could not be carried out.
func (r *RequestRecord) Failed() bool { return r.Status >= failedFrom }

// failedFrom is the first status of a failure.
const failedFrom = 400

// Limits of a record.
const (
	MaxRequestAgent  = 120
	MaxRequestFields = 20
	// MaxClientRequestID limits the caller's own name for a request.
	MaxClientRequestID = 128
)

// RequestFilter narrows the request log; zero fields do not narrow.
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
	Failed        *bool      // nil: any result
	Unknown       bool       // callers that belong to no business
	CreatedAfter  *time.Time // inclusive
	CreatedBefore *time.Time // exclusive
}

// FailureSum counts the failures that one business got with one code from one route.
type FailureSum struct {
	BusinessID ID // empty: the caller is unknown
	Route      string
	Status     int
	Code       string
	Calls      int64
}

// UsageMinute counts how often a key got one kind of response from one route in a minute.
type UsageMinute struct {
	Minute        time.Time // its start, in UTC
	Environment   Environment
	BusinessID    ID
	ApplicationID ID
	KeyID         ID
	Route         string
	Status        int
	Code          string
	Calls         int64
	Replayed      int64
	Took          time.Duration // total duration
}

// UsageStep is the length of the bars of a chart.
type UsageStep string

// The steps. Days are in UTC.
const (
	UsageByMinute UsageStep = "minute"
	UsageByHour   UsageStep = "hour"
	UsageByDay    UsageStep = "day"
)

// UsageQuery asks for the calls of a business from From until before Until, summed up by steps and,
// where requested, by key, route, status and code.
type UsageQuery struct {
	BusinessID    ID
	ApplicationID ID          // empty: all
	KeyID         ID          // empty: all
	Environment   Environment // empty: both
	From, Until   time.Time
	Step          UsageStep // empty: one step for the whole time
	ByKey         bool
	ByRoute       bool
	ByResult      bool // by status and code
}

// Usage is one sum of a UsageQuery. Fields that do not group it are empty.
type Usage struct {
	At       time.Time // start of the step; zero without steps
	KeyID    ID
	Route    string
	Status   int
	Code     string
	Calls    int64
	Replayed int64
	Took     time.Duration
	Last     time.Time // the last minute with a call
}

// Failed reports whether the calls were refused or could not be carried out.
func (u *Usage) Failed() bool { return u.Status >= failedFrom }

// RequestLogKeeping says how long records are kept.
type RequestLogKeeping struct {
	Successes, Failures, Usage time.Duration
	MaxBytes                   int64 // of all records together; 0: no bound
}
