package redis

import (
	"log/slog"
	"sync/atomic"
	"time"
)

// outageFor is how long Redis counts as unusable after a failure. It is longer than the time
// between two polls of a server that hangs. Otherwise an outage would seem to end in between.
const outageFor = 3 * time.Second

// outage records whether Redis is unusable.
type outage struct {
	log    *slog.Logger
	logged atomic.Bool               // that the outage was logged
	until  atomic.Pointer[time.Time] // nil: there was none
}

// lasts reports whether Redis was unusable a moment ago.
func (o *outage) lasts() bool {
	until := o.until.Load()
	return until != nil && time.Now().Before(*until)
}

// noticed records a notification that failed.
func (o *outage) noticed() { o.until.Store(new(time.Now().Add(outageFor))) }

// refused records a poll of a server that failed, and logs the first one.
func (o *outage) refused(err error) {
	o.noticed()
	if o.logged.CompareAndSwap(false, true) {
		o.log.Warn("Redis cannot be used for the queue: this process finds due work in the database", "error", err)
	}
}

// answered records a poll of a server that was answered. Some are while others fail: a full
// Redis still reads.
func (o *outage) answered() {
	if o.logged.Load() && !o.lasts() && o.logged.CompareAndSwap(true, false) {
		o.log.Info("Redis can be used for the queue again")
	}
}
