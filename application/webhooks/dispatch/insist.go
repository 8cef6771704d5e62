package dispatch

import (
	"context"
	"errors"
	"time"

	"waybill/domain"
	"waybill/ports"
)

const (
	// insistFor is how long a write is tried: a database that restarts is back by
	// then, and whose the lease is decides the storage.
	insistFor = 15 * time.Second
	// The pauses between, which double.
	insistFirst = 20 * time.Millisecond
	insistMost  = 500 * time.Millisecond
)

// insist tries a write again while the storage fails, unless the lease is lost.
func insist(ctx context.Context, write func(context.Context) error) error {
	begun, pause := time.Now(), insistFirst
	// The first one is given up sooner: its connection may have died without a word.
	for limit := readTimeout; ; limit = writeTimeout {
		within, cancel := context.WithTimeout(ctx, limit)
		err := write(within)
		cancel()
		if err == nil || errors.Is(err, ports.ErrEndpointLost) || errors.Is(err, domain.ErrNotFound) || time.Since(begun) > insistFor {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(pause):
			pause = min(2*pause, insistMost)
		}
	}
}
