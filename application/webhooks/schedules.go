package webhooks

import "waybill/domain"

// Schedules are the retries of each environment.
type Schedules map[domain.Environment]domain.RetrySchedule
