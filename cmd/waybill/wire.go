//go:build wireinject

package main

import (
	"context"
	"log/slog"

	"github.com/google/wire"
	"github.com/prometheus/client_golang/prometheus"

	"waybill/adapters/cli/admin"
	"waybill/adapters/cli/settings"
	"waybill/adapters/clock"
	"waybill/adapters/console"
	"waybill/adapters/crypto"
	"waybill/adapters/geo"
	"waybill/adapters/httpapi"
	"waybill/adapters/opsapi"
	"waybill/adapters/pages"
	"waybill/adapters/periodic"
	"waybill/adapters/portal"
	"waybill/adapters/telemetry"
	"waybill/adapters/trackingpage"
	"waybill/application/access"
	"waybill/application/audit"
	"waybill/application/bulk"
	"waybill/application/deliveries"
	"waybill/application/directory"
	"waybill/application/idempotency"
	"waybill/application/monitoring"
	"waybill/application/people"
	"waybill/application/reports"
	"waybill/application/sandbox"
	"waybill/application/webhooks"
	"waybill/application/webhooks/dispatch"
	"waybill/configs"
	"waybill/ports"
)

// The ports that a database implements.
var stored = wire.NewSet(storageIn, bookingsIn)

// The adapters that every command needs.
var foundation = wire.NewSet(
	stored, newClock, wire.Bind(new(ports.Clock), new(*clock.Database)), newIdentifiers, newKeyDigester, newRedis,
	newInvalidations,
)

// The use cases of operators.
var management = wire.NewSet(
	access.NewTenants, deliveries.NewOperations, bulk.NewMoves, newEventRenderer, people.NewDirectory, newMailed,
	directory.NewPickupLocations, idempotency.NewGate, newRetention, webhooks.New, newAllowPrivate, monitoring.NewRequests,
)

// What sends webhooks.
var sending = wire.NewSet(newSealer, newWebhookSender, newOutbox, newSchedules)

// The use cases of customers, and what they need beyond the foundation.
var product = wire.NewSet(
	access.NewAdmission, deliveries.NewQuotes, directory.NewRecipients, directory.NewPickupLocations, deliveries.New, bulk.New, sandbox.New,
	webhooks.New, newOutbox, webhooks.NewListeners, webhooks.NewFeed, idempotency.NewGate, monitoring.NewRecorder,
	wire.Struct(new(httpapi.UseCases), "*"),
)

// The service area.
var serviceArea = wire.NewSet(newServiceArea, wire.Bind(new(ports.ServiceArea), new(*geo.Area)),
	wire.Bind(new(ports.ServiceOutline), new(*geo.Area)))

// What the use cases of both environments have in common.
var common = wire.NewSet(
	newLimits, newRateLimiter, newPricing, tracedRoutingEngine, newRouting, serviceArea, newDependencies, newBulkLease,
	newBulkThrottles, newNormalizer, requestLogIn, newRequestLogMode, settings.RequestLogKeeping, wire.Struct(new(parts), "*"), newProducts,
)

// The background jobs.
var backgroundSet = wire.NewSet(
	newQueueRedis, newQueue, newLateness, sandbox.NewScheduler, sandbox.NewSimulator,
	newFanoutNews, newBrand, newSender, newNotifier, dispatch.NewSweeper, dispatch.NewDrainer, newWebhookObserver, wire.Struct(new(backgroundJobs), "*"),
	webhooks.NewSecretKey, wire.Struct(new(secretKey), "*"),
)

// The listeners.
var listenerSet = wire.NewSet(
	newAPIs, newCursorKeys, httpapi.NewMetrics,
	deliveries.NewTracking, deliveries.NewWatches, newTrackingPages, newTrackingSites, trackingpage.NewMetrics,
)

// The operations API.
var operating = wire.NewSet(
	newPortal, newPasskeys, people.NewPasskeys, people.NewAccess, people.NewRefusals, pages.NewMetrics, deliveries.NewHandling, webhooks.NewEndpoints, audit.New, crypto.NewPasswordHasher, monitoring.NewReadiness,
	monitoring.NewMachinery, newSharedQueue,
	wire.Bind(new(ports.Passwords), new(*crypto.PasswordHasher)), wire.Struct(new(portal.UseCases), "*"),
	wire.Struct(new(console.UseCases), "*"), newConsole, reports.NewReports, reports.NewMap, newBoard,
	access.NewOperators, newFailedOperators, opsapi.NewUseCases, opsapi.NewMetrics, newManagement)

// The operators' listener.
var opsListenerSet = wire.NewSet(
	newOps, periodic.New, newConnectionBounds, newTracing, newProxyWatch, telemetry.NewRegistry, telemetry.NewOutages, periodic.NewTeller,
	wire.Bind(new(periodic.Services), new(*telemetry.Outages)),
	wire.Bind(new(prometheus.Registerer), new(*prometheus.Registry)),
)

// openService assembles a server process. The returned function closes the database, after the
// service has stopped.
func openService(ctx context.Context, c *configs.Config, urls settings.PublicURLs, log *slog.Logger) (*service, func(), error) {
	wire.Build(openShared, backgroundOf, allOf, foundation, management, sending, common, backgroundSet, listenerSet, operating, opsListenerSet,
		wire.Struct(new(admin.Seeder), "*"), wire.Struct(new(service), "*"))
	return nil, nil, nil
}

// newProduct assembles the use cases of one environment, on its own share of the database.
func newProduct(store ports.Database, p *parts, throttle bulk.Throttle) httpapi.UseCases {
	wire.Build(stored, product, wire.FieldsOf(new(*parts),
		"Limiter", "Limits", "Digest", "Clock", "Identifiers", "Log", "Retention", "Lease",
		"Pricing", "ServiceArea", "Normalizer", "Renderer", "Sealer", "Sender", "Schedules", "AllowPrivate", "RequestLog", "RequestLogMode"))
	return httpapi.UseCases{}
}

// openWorker assembles a process without an API.
func openWorker(ctx context.Context, c *configs.Config, urls settings.PublicURLs, log *slog.Logger) (*worker, func(), error) {
	wire.Build(openTraced, onlyOne, storageIn, newClock, wire.Bind(new(ports.Clock), new(*clock.Database)), newIdentifiers, newRedis,
		newEventRenderer, settings.RequestLogKeeping, bulk.NewMoves, deliveries.NewOperations,
		sending, backgroundSet, opsListenerSet, wire.Value(dependencies(nil)), wire.Value((*opsapi.Management)(nil)), wire.Value((*console.Console)(nil)),
		wire.Struct(new(worker), "*"))
	return nil, nil, nil
}

// openAdmin assembles what the operators' commands use.
func openAdmin(ctx context.Context, c *configs.Config, urls settings.PublicURLs, log *slog.Logger) (*adminParts, func(), error) {
	wire.Build(openTraced, foundation, management, sending, wire.Value((*tracing)(nil)), wire.Struct(new(adminParts), "*"))
	return nil, nil, nil
}

// openPricing assembles the pricing service. The returned function closes the connections to
// its routing engine.
func openPricing(c *configs.Config, r prometheus.Registerer) (ports.Pricing, func(), error) {
	wire.Build(newTariff, newRoutingEngine, newRouting, serviceArea, wire.Value((*tracing)(nil)))
	return nil, nil, nil
}
