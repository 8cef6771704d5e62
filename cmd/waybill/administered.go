package main

import (
	"context"
	"log/slog"
	"waybill/application/operations"
	"waybill/application/pickuplocations"
	"waybill/application/tenancy"
	"waybill/application/webhooks"
	"waybill/configs"
)

// officeParts are what wire makes for an office.
type officeParts struct {
	tenants    *tenancy.Tenants
	pickups    *pickuplocations.PickupLocations
	operations *operations.Operations
	webhooks   *webhooks.Webhooks
	store      database
}

// admin are the commands of operators, on the database of the settings.
func (p *commands) admin() *adminCommands {
	return &adminCommands{
		commandLine: p.commandLine, normalizer: newNormalizer, migrateUp: migrateUp, migrations: migrationsOf, version: version,
		open: func(ctx context.Context, c *configs.Config) (*office, func(), error) {
			// Commands speak through their answer; only what went wrong is logged.
			log := newLog(p.stderr, max(c.LogLevel, slog.LevelWarn), c.LogFormat == "json")
			parts, closeParts, err := openOffice(ctx, c, publicURLs{tracking: p.trackingURL(c)}, log)
			if err != nil {
				return nil, nil, err
			}
			if err := upToDate(ctx, parts.store); err != nil {
				closeParts()
				return nil, nil, err
			}
			return &office{
				tenants: parts.tenants, pickups: parts.pickups, operations: parts.operations, webhooks: parts.webhooks,
				store: parts.store, config: c,
			}, closeParts, nil
		},
	}
}

// version is of the program; the API's own is in openapi.yaml. A build may set
// another one: go build -ldflags "-X main.version=1.4.0".
var version = "1.0.0"
