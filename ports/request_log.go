package ports

import (
	"context"
	"time"

	"waybill/domain"
)

// Skipped is the records, by their number, and the sums that were not written because
// the storage keeps nothing of their time.
type Skipped struct {
	Records int
	Usage   []domain.UsageMinute
}

// RequestLog takes what the public API was asked. It has connections of its own:
// nothing that it waits for holds up a request.
type RequestLog interface {
	// WriteRequests stores records and usage in one transaction that does not wait for
	// the disk: a crash of the database may lose the last second. Records of a time
	// that the storage does not keep are left out, and counted in the answer.
	//
	// Of usage the counts are those of the whole minute so far in the process that
	// writer names: writing them again, after an error too, counts nothing twice.
	WriteRequests(ctx context.Context, writer string, records []domain.RequestRecord, usage []domain.UsageMinute) (Skipped, error)

	// RotateRequests makes room for the records of the next week, and deletes those that
	// are old, at most a day's worth an hour by the clock of the database. Any number
	// of processes may call it.
	RotateRequests(ctx context.Context, keep domain.RequestLogKeeping) error
}

// RequestReader reads the request log.
type RequestReader interface {
	// List goes newest first and returns up to Limit+1. Of the position behind which it
	// begins the ID alone counts. An empty BusinessID in the filter means all, for
	// the platform's own operations.
	List(ctx context.Context, f domain.RequestFilter, p domain.PageRequest) ([]domain.RequestRecord, error)
	// Look is List among the newest most records that match what an index knows of the
	// filter: IDs, the business and the time. A record that is rare costs no more than one
	// that is frequent. further is the ID behind which another look goes on; empty: the
	// page has more than Limit, or there is nothing further.
	Look(ctx context.Context, f domain.RequestFilter, p domain.PageRequest, most int) (found []domain.RequestRecord, further domain.ID,
		err error)
	// Failures counts the failures that match the filter's environment, business and
	// time, and no more than about most of them: since is the time from which on it
	// counted where there are more, and the filter's otherwise. Of the kinds it gives the
	// first kinds+1, the most frequent first.
	Failures(ctx context.Context, f domain.RequestFilter, most, kinds int) (sums []domain.FailureSum, since time.Time, err error)
	// Get is one request of a business; with an empty business, of any.
	Get(ctx context.Context, business, id domain.ID) (domain.RequestRecord, error)
	// Usage is ordered by time, then by what is called most.
	Usage(ctx context.Context, q domain.UsageQuery) ([]domain.Usage, error)
}

// ReadinessReader reads what programs have shown that they can do.
type ReadinessReader interface {
	OfApplication(ctx context.Context, application domain.ID) ([]domain.Readied, error)
}

// ReadinessStore keeps it.
type ReadinessStore interface {
	ReadinessReader
	// Insert keeps a step; one that is kept already stays as it is.
	Insert(ctx context.Context, r domain.Readied) error
}
