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
	PurgeExpiredKeys(ctx context.Context, limit int) (int, error)
}

// sweep purges expired idempotency keys, in batches so that no statement
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
			log.Warn("expired idempotency keys were not purged", "error", err)
		case removed > 0:
			log.Debug("expired idempotency keys purged", "removed", removed)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// sweepOnce goes on until a batch was not full.
func sweepOnce(ctx context.Context, store purger) (removed int, err error) {
	for {
		n, err := store.PurgeExpiredKeys(ctx, sweepBatch)
		removed += n
		if err != nil || n < sweepBatch {
			return removed, err
		}
	}
}
