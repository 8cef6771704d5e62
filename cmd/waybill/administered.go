package main

import (
	"context"
	"log/slog"

	"waybill/adapters/cli/admin"
	"waybill/adapters/cli/doctor"
	"waybill/adapters/cli/integrator"
	"waybill/adapters/cli/settings"
	"waybill/adapters/docsite"
	"waybill/adapters/storage/gormstore"
	"waybill/adapters/telemetry"
	"waybill/adapters/webhooksend"
	"waybill/application/access"
	"waybill/application/deliveries"
	"waybill/application/directory"
	"waybill/application/people"
	"waybill/application/webhooks"
	"waybill/configs"
	"waybill/ports"
)

// adminParts holds what wire creates for the operators' commands.
type adminParts struct {
	tenants    *access.Tenants
	pickups    *directory.PickupLocations
	operations *deliveries.Operations
	webhooks   *webhooks.Webhooks
	people     *people.Directory
	store      ports.Database
}

// admin returns the commands of operators, on the database of the settings.
func (p *commands) admin() *admin.Commands {
	return &admin.Commands{
		CommandLine: p.CommandLine, Normalizer: newNormalizer, MigrateUp: migrateUp, Schema: schemaOf, Version: version,
		ServePricing: p.servePricing, Distribute: gormstore.Distribute,
		Open: func(ctx context.Context, c *configs.Config) (*admin.UseCases, func(), error) {
			// Commands report through their output. Only errors are logged.
			log := telemetry.NewLogger(p.Stderr, max(c.LogLevel, slog.LevelWarn), c.LogFormat == "json")
			parts, closeParts, err := openAdmin(ctx, c, settings.PublicURLs{Tracking: p.TrackingURL(c)}, log)
			if err != nil {
				return nil, nil, err
			}
			if err := doctor.UpToDate(ctx, parts.store); err != nil {
				closeParts()
				return nil, nil, err
			}
			return &admin.UseCases{
				Tenants: parts.tenants, Pickups: parts.pickups, Operations: parts.operations, Webhooks: parts.webhooks, People: parts.people,
				Store: parts.store, Config: c,
			}, closeParts, nil
		},
	}
}

// version is the version of the program. The API's own is in openapi.yaml. A build may set
// another one: go build -ldflags "-X main.version=1.4.0".
var version = "1.0.0"

// integrator returns the commands that act as an integrator against a sandbox.
func (p *commands) integrator() *integrator.Commands {
	sender := func() (ports.WebhookSender, func()) {
		s := webhooksend.New(webhooksend.Options{AllowPrivate: true})
		return s, s.Close
	}
	return &integrator.Commands{CommandLine: p.CommandLine, Docs: docsite.Prefix, Version: version, Sender: sender}
}
