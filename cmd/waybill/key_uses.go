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

// keyUses writes which keys were used, and once more when the process ends. What
// could not be written comes with the next time.
func keyUses(name string, keys recorder) job {
	return job{name: name, every: recordEvery, limit: recordTimeout, level: slog.LevelWarn, atEnd: true, do: func(ctx context.Context) (time.Duration, error) {
		return 0, keys.RecordUses(ctx)
	}}
}
