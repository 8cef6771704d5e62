package ports

import (
	"context"

	"waybill/domain"
)

// ReportCounting keeps the figures of reports. Nothing that books or moves a
// delivery waits for it.
type ReportCounting interface {
	// CountReports adds up to limit further events to the figures, those of live first,
	// then those of the sandbox, then those that were there before it was first called,
	// the newest first and no older than domain.ReportKept. It tells how many it
	// looked at, and whether there may be more. Each event is counted once, in the
	// transaction that remembers that it was: any number of processes may call it at
	// any time, and may be killed in it. While one counts, the others find nothing.
	CountReports(ctx context.Context, limit int) (looked int, more bool, err error)
}

// ReportReader reads the figures of reports.
type ReportReader interface {
	// Lines are the lines of a report, in no order; a line without any figure is
	// missing. ErrTookTooLong where the report is of too much.
	Lines(ctx context.Context, q domain.ReportQuery) ([]domain.ReportLine, error)
	// Progress tells how far the figures are behind.
	Progress(ctx context.Context) (domain.ReportProgress, error)
	// Open are the newest open deliveries of an environment: booked, assigned, picked
	// up, in transit or outsourced. They are up to limit+1, the newest first.
	Open(ctx context.Context, e domain.Environment, limit int) ([]domain.OpenDelivery, error)
}
