package periodic

import (
	"context"
	"log/slog"
	"time"
)

const (
	recordEvery = 10 * time.Second
	// RecordTimeout bounds how long a process that ends waits for a database
	// that does not answer.
	RecordTimeout = 2 * time.Second
)

// recorder writes which keys were used.
type recorder interface {
	RecordUses(ctx context.Context) error
}

// KeyUses writes which keys were used, and once more when the process ends. Uses
// that could not be written come with the next run.
func KeyUses(name string, keys recorder) Job {
	return Job{Name: name, Every: recordEvery, Limit: RecordTimeout, Level: slog.LevelWarn, atEnd: true,
		Do: func(ctx context.Context) (time.Duration, error) {
			return 0, keys.RecordUses(ctx)
		}}
}
