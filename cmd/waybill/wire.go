//go:build wireinject

package main

import (
	"context"
	"log/slog"

	"github.com/google/wire"
	"github.com/prometheus/client_golang/prometheus"

	"waybill/adapters/clock/databaseclock"
	"waybill/adapters/httpapi"
	"waybill/adapters/opsapi"
	"waybill/adapters/trackingpage"
	"waybill/application/bulk"
	"waybill/application/deliveries"
	"waybill/application/idempotency"
	"waybill/application/operations"
	"waybill/application/pickuplocations"
	"waybill/application/quotes"
	"waybill/application/recipients"
	"waybill/application/sandbox"
	"waybill/application/tenancy"
	"waybill/application/tracking"
	"waybill/application/webhooks"
	"waybill/configs"
	"waybill/ports"
)

// The adapters that every command needs.
var foundation = wire.NewSet(
	openFollowed,
	wire.Bind(new(ports.Storage), new(database)),
	wire.Bind(new(ports.Bookings), new(database)),
	newClock, wire.Bind(new(ports.Clock), new(*databaseclock.Clock)), newIdentifiers, newKeyDigester, newRedis, newPipelines, newLocks, newInvalidations,
)

// The use cases of operators.
var management = wire.NewSet(
	tenancy.NewTenants, operations.New, newEventRenderer,
	pickuplocations.New, idempotency.NewGate, newRetention, webhooks.New, newAllowPrivate,
)

// What sends webhooks.
var sending = wire.NewSet(newSealer, newWebhookSender, newOutbox, newSchedules)

// The use cases of customers, and what they need beyond the foundation.
var product = wire.NewSet(
	tenancy.NewAdmission, newLimits, newRateLimiter,
	quotes.New, newPricing, followedRoadEngine, newRouting, newServiceArea, newNeighbours,
	recipients.New, deliveries.New, bulk.New, newBulkLease, sandbox.New, newNormalizer,
	webhooks.NewListeners, webhooks.NewFeed, tracking.New, tracking.NewWatches,
)

// What is done without a request.
var duties = wire.NewSet(
	newQueueRedis, newQueue, newLateness, sandbox.NewScheduler, sandbox.NewSimulator,
	newWaker, webhooks.NewSweeper, webhooks.NewDrainer, newWebhookObserver, wire.Struct(new(engine), "*"),
	webhooks.NewSecretKey, wire.Struct(new(secretKey), "*"),
)

// The listeners.
var edges = wire.NewSet(
	wire.Struct(new(httpapi.UseCases), "*"),
	newAPIs, newCursorKey, httpapi.NewMetrics, newTrackingPages, newTrackingSites, trackingpage.NewMetrics,
)

// The operations API.
var operating = wire.NewSet(tenancy.NewOperators, newFailedOperators, newManagement)

// The operators' listener.
var control = wire.NewSet(
	newOps, newFollower, newForwardedWatch, newRegistry, wire.Bind(new(prometheus.Registerer), new(*prometheus.Registry)),
)

// openService assembles a server process. The function it returns closes the
// database, after the service has stopped.
func openService(ctx context.Context, c *configs.Config, urls publicURLs, log *slog.Logger) (*service, func(), error) {
	wire.Build(foundation, management, sending, product, duties, edges, operating, control,
		wire.Struct(new(seeder), "*"), wire.Struct(new(service), "*"))
	return nil, nil, nil
}

// openWorker assembles a process without an API.
func openWorker(ctx context.Context, c *configs.Config, urls publicURLs, log *slog.Logger) (*worker, func(), error) {
	wire.Build(openFollowed, wire.Bind(new(ports.Storage), new(database)), 
		newClock, wire.Bind(new(ports.Clock), new(*databaseclock.Clock)), newIdentifiers, newRedis, newEventRenderer,
		sending, duties, control, wire.Value(neighbours(nil)), wire.Value((*opsapi.Management)(nil)), wire.Struct(new(worker), "*"))
	return nil, nil, nil
}

// openOffice assembles what the operators' commands use.
func openOffice(ctx context.Context, c *configs.Config, urls publicURLs, log *slog.Logger) (*office, func(), error) {
	wire.Build(foundation, management, sending, wire.Value((*follower)(nil)), wire.Struct(new(office), "*"))
	return nil, nil, nil
}

// openPricing assembles the pricing service. The function it returns closes the
// connections to its engine.
func openPricing(c *configs.Config, r prometheus.Registerer) (ports.Pricing, func(), error) {
	wire.Build(newTariff, newRoadEngine, newRouting, newServiceArea, wire.Value((*follower)(nil)))
	return nil, nil, nil
}
