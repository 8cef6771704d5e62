package periodic

import (
	"context"
	"log/slog"
	"time"

	"waybill/ports"
)

const (
	// SweepEvery is the interval between two looks for records that are too old.
	SweepEvery = time.Minute
	// SweepBatch is how many records of each kind go at a time: a long
	// transaction would slow requests down.
	SweepBatch = 50
	// sweepLimit ends a batch, of a few statements, where the database says nothing.
	sweepLimit = 20 * time.Second
	// sweepPause is for how long nothing is purged after a batch, as a multiple of
	// what that took, and hurriedPause the same where a sweep has not come to its end
	// when the next one is due.
	sweepPause   = 9
	hurriedPause = 1
	// analyzeEvery is how often the database may be asked to analyze tables that grow.
	analyzeEvery = 2 * time.Second
	analyzeLimit = 10 * time.Second
	// lateEvery is how long a webhook may stay unseen that became pending long after it
	// was due, while the database can clean up what was sent. A look takes at most a
	// lateShare of the time.
	lateEvery = 10 * time.Second
	lateShare = 20
	lateLimit = 5 * time.Minute
)

// Cleaning purges what has expired, in batches so that no statement holds many
// rows and at a pace that leaves the database to others. Any number of processes
// may do it.
func Cleaning(store ports.Maintenance, log *slog.Logger) Job {
	var begun time.Time // of the sweep; zero: none is under way
	return Job{Name: "cleaning", Every: SweepEvery, Limit: sweepLimit, Level: slog.LevelWarn, AtOnce: true,
		Do: func(ctx context.Context) (time.Duration, error) {
			batch := time.Now()
			if begun.IsZero() {
				begun = batch
			}
			removed, more, err := store.PurgeExpired(ctx, SweepBatch)
			if removed > 0 {
				log.Debug("expired records purged", "removed", removed)
			}
			if err != nil || !more {
				begun = time.Time{}
				return 0, err
			}
			pause := time.Duration(sweepPause)
			if time.Since(begun) > SweepEvery {
				pause = hurriedPause
			}
			return max(1, pause*time.Since(batch)), nil
		}}
}

// Statistics refreshes the planner's statistics of tables that have just begun to
// grow: statements are slower without it, and nothing else.
func Statistics(store ports.Maintenance, log *slog.Logger) Job {
	return Job{Name: "statistics", Every: analyzeEvery, Limit: analyzeLimit, Level: slog.LevelDebug,
		Do: func(ctx context.Context) (time.Duration, error) {
			n, err := store.AnalyzeRecentTables(ctx)
			if n > 0 {
				log.Debug("tables that have just begun to grow were analyzed", "tables", n)
			}
			return 0, err
		}}
}

// LateWebhooks is the net below the looks for what is due, which begin where nothing
// older should be.
func LateWebhooks(store ports.Maintenance, log *slog.Logger) Job {
	var rested time.Time
	return Job{Name: "late_webhooks", Every: lateEvery, Limit: lateLimit, Level: slog.LevelWarn, AtOnce: true,
		Do: func(ctx context.Context) (time.Duration, error) {
			begun := time.Now()
			if begun.Before(rested) {
				return 0, nil
			}
			n, err := store.FindLate(ctx)
			if n > 0 {
				log.Info("webhooks became pending long after they were due", "endpoints", n)
			}
			rested = time.Now().Add((lateShare - 1) * time.Since(begun))
			return 0, err
		}}
}
