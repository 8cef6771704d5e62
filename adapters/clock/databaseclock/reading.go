package databaseclock

import (
	"context"
	"time"
)

const (
	// slower is the part of the time by which the installation's goes slower while it
	// is ahead of the database's clock.
	slower = 10
	// mostAhead is as far as it may be ahead. A clock that is set back by more was
	// wrong by days: nothing good comes of living in the future for weeks.
	mostAhead = 2 * time.Hour
)

// Source is the database.
type Source interface {
	// Read tells what the database's clock shows.
	Read(ctx context.Context) (Reading, error)
	// Keep stores the clock of a reading as seen, and how far the time of the
	// installation is ahead of it then. It does nothing where another process has kept
	// one since the reading.
	Keep(ctx context.Context, read Reading, ahead time.Duration) error
}

// Reading is what the database knows of the time.
type Reading struct {
	Clock time.Time     // of the database, now
	Seen  time.Time     // what it showed when it was last kept; zero: never
	Ahead time.Duration // of the installation's time, then
}

// AheadNow is how far the time of the installation is ahead of the database's clock.
// A clock that is behind where it was seen was set back while no process looked.
func (r Reading) AheadNow() time.Duration {
	if r.Seen.IsZero() {
		return 0
	}
	ahead := r.Ahead
	if since := r.Clock.Sub(r.Seen); since < 0 {
		ahead -= since
	} else {
		ahead = max(0, ahead-since/slower)
	}
	if ahead > mostAhead {
		return 0
	}
	return ahead
}
