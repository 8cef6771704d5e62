package ports

import "time"

// Clock tells the time.
type Clock interface {
	// Now is UTC, cut to whole milliseconds.
	Now() time.Time
}
