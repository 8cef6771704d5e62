package main

import (
	"log/slog"

	"waybill/adapters/httpapi"
	"waybill/application/access"
	"waybill/application/bulk"
	"waybill/application/idempotency"
	"waybill/application/monitoring"
	"waybill/application/webhooks"
	"waybill/domain"
	"waybill/ports"
)

// parts holds the dependencies that the use cases of both environments share. The database is not
// among them, nor is anything that waits for it: batches of bookings, batched lookups, cached keys.
// So no request of one environment waits for the other's.
type parts struct {
	Limiter       ports.RateLimiter
	Limits        access.Limits
	Digest        ports.KeyDigester
	Clock         ports.Clock
	Identifiers   ports.Identifiers
	Log           *slog.Logger
	Retention     idempotency.Retention
	Lease         bulk.Lease
	BulkThrottles bulkThrottles

	RequestLog     ports.RequestLog
	RequestLogMode monitoring.LogMode

	Pricing     ports.Pricing
	ServiceArea ports.ServiceArea
	Normalizer  ports.Normalizer

	Renderer     ports.EventRenderer
	Sealer       ports.Sealer
	Sender       ports.WebhookSender
	Schedules    webhooks.Schedules
	AllowPrivate webhooks.AllowPrivate
}

// products holds the use cases of customers, separate for each environment.
type products struct {
	live, sandbox httpapi.UseCases
}

func newProducts(d databases, p *parts) products {
	return products{live: newProduct(d.live, p, p.BulkThrottles.live), sandbox: newProduct(d.sandbox, p, p.BulkThrottles.sandbox)}
}

func (p products) each(do func(httpapi.UseCases)) {
	do(p.live)
	do(p.sandbox)
}

// stop stops bulk requests before their next item.
func (p products) stop() { p.each(func(u httpapi.UseCases) { u.Bulk.Stop() }) }

// forget removes the keys of an application from the caches.
func (p products) forget(application domain.ID) {
	p.each(func(u httpapi.UseCases) { u.Admission.Forget(application) })
}
