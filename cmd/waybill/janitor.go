package main

import (
	"context"
	"log/slog"
	"time"
)

const (
	sweepEvery = time.Minute
	// sweepBatch is how many records of each kind go at a time: what holds the
	// database for long shows in how long requests take.
	sweepBatch = 50
	// sweepLimit ends a batch, of a few statements, where the database says nothing.
	sweepLimit = 20 * time.Second
	// sweepRest is for how long nothing is purged after a batch, as a multiple of
	// what that took, and hurriedRest the same where a sweep has not come to its end
	// when the next one is due.
	sweepRest   = 9
	hurriedRest = 1
	// youngEvery is how often the database may be asked to look at tables that grow.
	youngEvery = 2 * time.Second
	youngLimit = 10 * time.Second
	// lateEvery is how long a webhook may stay unseen that became pending long after it
	// was due, while the database can clean up what was sent. A look takes at most a
	// lateShare of the time.
	lateEvery = 10 * time.Second
	lateShare = 20
	lateLimit = 5 * time.Minute
)

// purger forgets what nobody can ask for any more.
type purger interface {
	PurgeExpired(ctx context.Context, limit int) (removed int, more bool, err error)
}

// cleaning purges what has expired, in batches so that no statement holds many
// rows and at a pace that leaves the database to others. Any number of processes
// may do it.
func cleaning(store purger, log *slog.Logger) job {
	var begun time.Time // of the sweep; zero: none is under way
	return job{name: "cleaning", every: sweepEvery, limit: sweepLimit, level: slog.LevelWarn, atOnce: true, do: func(ctx context.Context) (time.Duration, error) {
		batch := time.Now()
		if begun.IsZero() {
			begun = batch
		}
		removed, more, err := store.PurgeExpired(ctx, sweepBatch)
		if removed > 0 {
			log.Debug("expired records purged", "removed", removed)
		}
		if err != nil || !more {
			begun = time.Time{}
			return 0, err
		}
		rest := time.Duration(sweepRest)
		if time.Since(begun) > sweepEvery {
			rest = hurriedRest
		}
		return max(1, rest*time.Since(batch)), nil
	}}
}

// analyzer has the database look at tables that have just begun to grow.
type analyzer interface {
	AnalyzeYoung(ctx context.Context) (analyzed int, err error)
}

// statistics keeps the database acquainted with tables that have just begun to
// grow: statements are slower without it, and nothing else.
func statistics(store analyzer, log *slog.Logger) job {
	return job{name: "statistics", every: youngEvery, limit: youngLimit, level: slog.LevelDebug, do: func(ctx context.Context) (time.Duration, error) {
		n, err := store.AnalyzeYoung(ctx)
		if n > 0 {
			log.Debug("tables that have just begun to grow were analyzed", "tables", n)
		}
		return 0, err
	}}
}

// lateFinder finds webhooks that no other look sees.
type lateFinder interface {
	FindLate(ctx context.Context) (endpoints int, err error)
}

// lateWebhooks is the net below the looks for what is due, which begin where nothing
// older should be.
func lateWebhooks(store lateFinder, log *slog.Logger) job {
	var rested time.Time
	return job{name: "late_webhooks", every: lateEvery, limit: lateLimit, level: slog.LevelWarn, atOnce: true, do: func(ctx context.Context) (time.Duration, error) {
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
