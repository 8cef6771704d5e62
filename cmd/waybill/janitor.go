package main

import (
	"context"
	"log/slog"
	"time"
)

const (
	sweepEvery = time.Minute
	sweepBatch = 1000
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

// sweepOnce goes on until nothing is left.
func sweepOnce(ctx context.Context, store purger) (removed int, err error) {
	for {
		n, more, err := store.PurgeExpired(ctx, sweepBatch)
		removed += n
		if err != nil || !more {
			return removed, err
		}
	}
}
