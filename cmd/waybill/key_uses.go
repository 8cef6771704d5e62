package main

import (
	"context"
	"log/slog"
	"time"
)

const (
	recordEvery = 10 * time.Second
	// recordTimeout bounds how long a process that ends waits for a database
	// that does not answer.
	recordTimeout = 2 * time.Second
)

// recorder writes which keys were used.
type recorder interface {
	RecordUses(ctx context.Context) error
}

// recordUses writes which keys were used every ten seconds until ctx ends, and
// then once more. What could not be written comes with the next time.
func recordUses(ctx context.Context, keys recorder, log *slog.Logger) {
	tick := time.NewTicker(recordEvery)
	defer tick.Stop()
	for ended := false; !ended; {
		select {
		case <-ctx.Done():
			ended = true
		case <-tick.C:
		}
		if err := recordOnce(context.WithoutCancel(ctx), keys); err != nil {
			log.Warn("the last uses of API keys were not recorded", "error", err)
		}
	}
}

func recordOnce(ctx context.Context, keys recorder) error {
	ctx, cancel := context.WithTimeout(ctx, recordTimeout)
	defer cancel()
	return keys.RecordUses(ctx)
}
