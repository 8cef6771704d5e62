package settings

import (
	"time"

	"waybill/configs"
	"waybill/domain"
)

// usageKept is how long usage figures are kept.
const usageKept = 400 * 24 * time.Hour

// RequestLogKeeping returns how long the request log is kept.
func RequestLogKeeping(c *configs.Config) domain.RequestLogKeeping {
	const day = 24 * time.Hour
	return domain.RequestLogKeeping{
		Successes: time.Duration(c.RequestLogDays) * day, Failures: time.Duration(c.RequestLogFailureDays) * day,
		Usage: usageKept, MaxBytes: int64(c.RequestLogMaxMB) << 20,
	}
}
