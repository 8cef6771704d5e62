package ports

import "time"

// Clock tells the time.
type Clock interface {
	// Now returns the time in UTC, truncated to milliseconds.
	Now() time.Time
}
