package ports

import (
	"context"

	"waybill/domain"
)

// ReportCounting counts the figures of reports. Nothing that books or moves a delivery waits for
// it.
type ReportCounting interface {
	// CountReports adds up to limit more events to the figures. It takes those of live first, then
	// those of the sandbox, then those from before its first call, newest first and no older than
	// domain.ReportKept. It returns how many it looked at, and whether there may be more. Each
	// event is counted once, in the transaction that marks it as counted. Any number of processes
	// may call it at any time, and may be killed in it. While one counts, the others find nothing.
	CountReports(ctx context.Context, limit int) (looked int, more bool, err error)
}

// ReportReader reads the figures of reports.
type ReportReader interface {
	// Lines lists the lines of a report, in no order. A line without any figure is missing. It
	// returns ErrTookTooLong where the report covers too much.
	Lines(ctx context.Context, q domain.ReportQuery) ([]domain.ReportLine, error)
	// Progress returns how far the figures are behind.
	Progress(ctx context.Context) (domain.ReportProgress, error)
	// Open lists up to limit+1 open deliveries of an environment, the newest first: booked,
	// assigned, picked up, in transit or outsourced.
	Open(ctx context.Context, e domain.Environment, limit int) ([]domain.OpenDelivery, error)
}
