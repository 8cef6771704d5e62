package clock

import (
	"time"

	"waybill/ports"
)

const (
	// slower is the part of the time by which the installation's goes slower while it
	// is ahead of the database's clock.
	slower = 10
	// mostAhead is as far as it may be ahead. A clock that is set back by more was
	// wrong by days: nothing good comes of living in the future for weeks.
	mostAhead = 2 * time.Hour
)

// aheadNow is how far the time of the installation is ahead of the database's clock.
// A clock that is behind where it was seen was set back while no process looked.
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
