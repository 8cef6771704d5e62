package ports

import (
	"context"
	"time"

	"waybill/domain"
)

// Skipped holds the number of records, and the usage, that were not written because the storage
// does not keep their time.
type Skipped struct {
	Records int
	Usage   []domain.UsageMinute
}

// RequestLog stores the requests to the public API. It has its own connections, so its waits never
// delay a request.
type RequestLog interface {
	// WriteRequests stores records and usage in one transaction that does not wait for the disk. A
	// crash of the database may lose the last second. Records of a time that the storage does not
	// keep are left out and counted in the result.
	//
	// The counts in usage cover the whole minute so far in the process that writer names. So
	// writing them again, even after an error, counts nothing twice.
	WriteRequests(ctx context.Context, writer string, records []domain.RequestRecord, usage []domain.UsageMinute) (Skipped, error)

	// RotateRequests makes room for the records of the next week. It deletes old records, at most a
	// day's worth an hour by the clock of the database. Any number of processes may call it.
	RotateRequests(ctx context.Context, keep domain.RequestLogKeeping) error
}

// RequestReader reads the request log.
type RequestReader interface {
	// List lists requests, newest first, up to Limit+1. Of the start position only the ID counts.
	// An empty BusinessID in the filter means all, for the platform's own operations.
	List(ctx context.Context, f domain.RequestFilter, p domain.PageRequest) ([]domain.RequestRecord, error)
	// Look lists requests as List does, but only among the newest most records that match the
	// indexed parts of the filter: IDs, business and time. So a rare record costs no more than a
	// frequent one. further is the ID after which another Look continues. It is empty where the
	// page has more than Limit, or nothing is left.
	Look(ctx context.Context, f domain.RequestFilter, p domain.PageRequest, most int) (found []domain.RequestRecord, further domain.ID,
		err error)
	// Failures counts the failures that match the filter's environment, business and time, and at
	// most about most of them. since is where the count starts if there are more, and the filter's
	// start otherwise. It returns the first kinds+1 kinds, the most frequent first.
	Failures(ctx context.Context, f domain.RequestFilter, most, kinds int) (sums []domain.FailureSum, since time.Time, err error)
	// Get returns one request of a business; with an empty business, of any.
	Get(ctx context.Context, business, id domain.ID) (domain.RequestRecord, error)
	// Usage lists the usage by time, then the most frequent calls first.
	Usage(ctx context.Context, q domain.UsageQuery) ([]domain.Usage, error)
}

// ReadinessReader reads which steps before going live an application has shown.
type ReadinessReader interface {
	OfApplication(ctx context.Context, application domain.ID) ([]domain.Readied, error)
}

// ReadinessStore stores these steps.
type ReadinessStore interface {
	ReadinessReader
	// Insert stores a step. An existing one stays unchanged.
	Insert(ctx context.Context, r domain.Readied) error
}
