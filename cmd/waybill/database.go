package main

import (
	"context"
	"log/slog"
	"time"

	"waybill/configs"
	"waybill/ports"
)

// storage is how one kind of database is opened and kept up to date. A new
// storage adapter is one more of these, chosen in storageOf.
type storage struct {
	open    func(ctx context.Context, c *configs.Config, log *slog.Logger) (database, error)
	migrate func(ctx context.Context, url string) error
	status  func(ctx context.Context, url string) ([]migrationStep, error)
}

// database is an open storage adapter: the ports of the core, and what the
// operation of a process needs of it.
type database interface {
	ports.Storage
	ports.Bookings
	purger

	// Outbox is what webhooks are to be sent.
	Outbox() ports.WebhookOutbox
	// OnFanout makes a listener hear of webhooks that were just committed.
	OnFanout(ports.FanoutListener)

	Ping(ctx context.Context) error
	// MigrationsPending tells whether the schema is behind this program.
	MigrationsPending(ctx context.Context) (bool, error)
	Close() error
}

// migrationStep is one step of a schema; AppliedAt is nil while it is pending.
type migrationStep struct {
	Version   int64
	Name      string
	AppliedAt *time.Time
}
