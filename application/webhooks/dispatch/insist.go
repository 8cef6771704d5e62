package dispatch

import (
	"context"
	"errors"
	"time"

	"waybill/domain"
	"waybill/ports"
)

const (
	// insistFor limits how long a write is retried: a database that restarts is back by then. The
	// storage decides who has the lease.
	insistFor = 15 * time.Second
	// insistFirst is the first pause between retries. Pauses double up to insistMost.
	insistFirst = 20 * time.Millisecond
	insistMost  = 500 * time.Millisecond
)

// insist retries a write while the storage fails, unless the lease is lost.
func insist(ctx context.Context, write func(context.Context) error) error {
	begun, pause := time.Now(), insistFirst
	// The first try has a shorter timeout: its connection may have died silently.
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
