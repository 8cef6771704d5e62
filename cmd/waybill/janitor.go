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
	// sweepRest is for how long nothing is purged after a batch, as a multiple of
	// what that took, and hurriedRest the same where a sweep has not come to its end
	// when the next one is due.
	sweepRest   = 9
	hurriedRest = 1
	// youngEvery is how often the database may be asked to look at tables that grow.
	youngEvery = 2 * time.Second
	// youngTimeout ends that where a connection is dead without a word.
	youngTimeout = 10 * time.Second
)

// purger forgets what nobody can ask for any more.
type purger interface {
	PurgeExpired(ctx context.Context, limit int) (removed int, more bool, err error)
}

// sweep purges what has expired, in batches so that no statement
// holds many rows, until ctx ends. Any number of processes may do it.
func sweep(ctx context.Context, store purger, log *slog.Logger) {
	tick := time.NewTicker(sweepEvery)
	defer tick.Stop()
	for {
		removed, err := sweepOnce(ctx, store)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			log.Warn("expired records were not purged", "error", err)
		case removed > 0:
			log.Debug("expired records purged", "removed", removed)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// sweepOnce goes on until nothing is left, at a pace that leaves the database to
// others.
func sweepOnce(ctx context.Context, store purger) (removed int, err error) {
	for begun, rest := time.Now(), time.Duration(sweepRest); ; {
		batch := time.Now()
		n, more, err := store.PurgeExpired(ctx, sweepBatch)
		removed += n
		if err != nil || !more {
			return removed, err
		}
		if time.Since(begun) > sweepEvery {
			rest = hurriedRest
		}
		select {
		case <-ctx.Done():
			return removed, ctx.Err()
		case <-time.After(rest * time.Since(batch)):
		}
	}
}

// analyzer has the database look at tables that have just begun to grow.
type analyzer interface {
	AnalyzeYoung(ctx context.Context) (analyzed int, err error)
}

// analyze keeps a young database acquainted with itself, until ctx ends.
func analyze(ctx context.Context, store analyzer, log *slog.Logger) {
	tick := time.NewTicker(youngEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		within, cancel := context.WithTimeout(ctx, youngTimeout)
		n, err := store.AnalyzeYoung(within)
		cancel()
		switch {
		case err != nil: // statements are slower without it, and nothing else
			log.Debug("tables that have just begun to grow were not analyzed", "error", err)
		case n > 0:
			log.Debug("tables that have just begun to grow were analyzed", "tables", n)
		}
	}
}
