package periodic

import (
	"context"
	"log/slog"
	"time"

	"waybill/ports"
)

const (
	// reportEvery is how far the figures of reports are behind where little happens.
	reportEvery = 5 * time.Second
	// reportBatch is how many events are counted in a transaction: on SQLite all that
	// writes waits for it.
	reportBatch = 500
	reportLimit = 20 * time.Second
	// reportPause is for how long nothing is counted after a batch, as a multiple of
	// what that took: history of years leaves the database to others.
	reportPause = 9
)

// Reports counts events for reports, with one connection at a time and for a tenth of
// the time at most. Any number of processes may do it.
func Reports(store ports.ReportCounting) Job {
	return Job{Name: "reports", Every: reportEvery, Limit: reportLimit, Level: slog.LevelWarn, AtOnce: true,
		Do: func(ctx context.Context) (time.Duration, error) {
			begun := time.Now()
			_, more, err := store.CountReports(ctx, reportBatch)
			if err != nil || !more {
				return 0, err
			}
			return max(1, reportPause*time.Since(begun)), nil
		}}
}
