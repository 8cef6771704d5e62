package periodic

import (
	"context"
	"log/slog"
	"time"

	"waybill/domain"
)

const (
	flushEvery = time.Second
	flushLimit = 2 * time.Second
	// rotateEvery is far below the time for which there is room ahead.
	rotateEvery = 10 * time.Minute
	rotateLimit = 30 * time.Second
)

// flusher writes what was recorded.
type flusher interface {
	Flush(ctx context.Context) error
}

// RequestLog writes what a recorder has gathered, and once more when the process ends.
// A failure is told by metrics: no request fails by it, and it would fill the log.
func RequestLog(name string, r flusher) Job {
	return Job{Name: name, Every: flushEvery, Limit: flushLimit, Level: slog.LevelDebug, atEnd: true,
		Do: func(ctx context.Context) (time.Duration, error) {
			return 0, r.Flush(ctx)
		}}
}

// rotator keeps the request log as long as it is to be, and no longer.
type rotator interface {
	RotateRequests(ctx context.Context, keep domain.RequestLogKeeping) error
}

// RequestLogRotation makes room in the request log and deletes what is old.
func RequestLogRotation(store rotator, keep domain.RequestLogKeeping) Job {
	return Job{Name: "request_log_rotation", Every: rotateEvery, Limit: rotateLimit, Level: slog.LevelWarn, AtOnce: true,
		Do: func(ctx context.Context) (time.Duration, error) {
			return 0, store.RotateRequests(ctx, keep)
		}}
}
