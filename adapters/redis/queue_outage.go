package redis

import (
	"log/slog"
	"sync/atomic"
	"time"
)

// outageFor is how long Redis counts as unusable after it was noticed. It is longer than from one
// question of a server that hangs to the next one, so that an outage does not seem to end meanwhile.
const outageFor = 3 * time.Second

// outage knows whether Redis can be used.
type outage struct {
	log   *slog.Logger
	told  atomic.Bool               // the log, of an outage that lasts
	until atomic.Pointer[time.Time] // nil: there was none
}

// lasts tells whether Redis was unusable a moment ago.
func (o *outage) lasts() bool {
	until := o.until.Load()
	return until != nil && time.Now().Before(*until)
}

// noticed is called with each notification that fails.
func (o *outage) noticed() { o.until.Store(new(time.Now().Add(outageFor))) }

// refused is called with each question of a server that fails.
func (o *outage) refused(err error) {
	o.noticed()
	if o.told.CompareAndSwap(false, true) {
		o.log.Warn("Redis cannot be used for the queue: this process finds due work in the database", "error", err)
	}
}

// answered is called with each question of a server that is answered. Some are while others are
// refused: a full Redis still reads.
func (o *outage) answered() {
	if o.told.Load() && !o.lasts() && o.told.CompareAndSwap(true, false) {
		o.log.Info("Redis can be used for the queue again")
	}
}
