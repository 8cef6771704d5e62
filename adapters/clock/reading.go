package clock

import (
	"time"

	"waybill/ports"
)

const (
	// slower is by which fraction the installation's time goes slower while it is ahead of the
	// database's clock: one part in so many.
	slower = 10
	// mostAhead limits how far it may be ahead. A clock that is set back by more was wrong by
	// days: running in the future for weeks helps nobody.
	mostAhead = 2 * time.Hour
)

// aheadNow returns how far the time of the installation is ahead of the database's clock. If
// the clock is behind its stored time, it was set back while no process ran.
func aheadNow(r ports.ClockReading) time.Duration {
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
