package clock

import (
	"time"

	"waybill/domain"
	"waybill/ports"
)

var _ ports.Clock = System{}

// System is the machine's clock.
type System struct{}

// NewSystem returns the machine's clock.
func NewSystem() System { return System{} }

// Now returns the current time in UTC, cut to whole milliseconds.
func (System) Now() time.Time { return domain.Millis(time.Now()) }
