package webhooks

import "waybill/domain"

// Schedules holds the retry schedule of each environment.
type Schedules map[domain.Environment]domain.RetrySchedule
