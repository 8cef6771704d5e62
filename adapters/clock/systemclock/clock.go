package systemclock

import (
	"time"

	"waybill/domain"
	"waybill/ports"
)

var _ ports.Clock = Clock{}

// Clock is the machine's clock.
type Clock struct{}

// New returns the machine's clock.
func New() Clock { return Clock{} }

// Now is the current time in UTC, cut to whole milliseconds.
func (Clock) Now() time.Time { return domain.Millis(time.Now()) }
