package clock

import (
	"time"

	"waybill/domain"
	"waybill/ports"
)

var _ ports.Clock = System{}

// System is the machine's clock.
type System struct{}

// New returns the machine's clock.
func NewSystem() System { return System{} }

// Now is the current time in UTC, cut to whole milliseconds.
func (System) Now() time.Time { return domain.Millis(time.Now()) }
