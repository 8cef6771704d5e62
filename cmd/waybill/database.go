package main

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"waybill/adapters/cli/admin"
	"waybill/adapters/cli/doctor"
	"waybill/adapters/periodic"
	"waybill/configs"
	"waybill/ports"
)

// storage is how one kind of database is opened and kept up to date. A new
// storage adapter is one more of these, chosen in storageOf.
type storage struct {
	// open is for a process that serves no customers; share for one that does.
	open    func(ctx context.Context, c *configs.Config, log *slog.Logger) (database, error)
	share   func(ctx context.Context, c *configs.Config, log *slog.Logger) (databases, error)
	migrate func(ctx context.Context, url string) error
	status  func(ctx context.Context, url string) ([]admin.MigrationStep, error)
}

// database is an open storage adapter: the ports of the core, and what the
// operation of a process needs of it.
type database interface {
	doctor.Database
	ports.Bookings
	periodic.Purger
	periodic.Analyzer
	periodic.LateFinder

	// Outbox is what webhooks are to be sent.
	Outbox() ports.WebhookOutbox
	// OnFanout makes a listener hear of webhooks that were just committed.
	OnFanout(ports.FanoutListener)

	// FeedLag is for how long a transaction has held back events of the feed.
	FeedLag(ctx context.Context) (time.Duration, error)

	Ping(ctx context.Context) error
	// Connections tells of connections that the database refuses; the error is
	// ports.ErrStorageGone where there are none left.
	Connections(ctx context.Context) error
	// MigrationsPending tells whether the schema is behind this program.
	MigrationsPending(ctx context.Context) (bool, error)
	// Clock is what the database's clock says, and what KeepClock kept of it last.
	Clock(ctx context.Context) (now, seen time.Time, ahead time.Duration, err error)
	KeepClock(ctx context.Context, was, now time.Time, ahead time.Duration) error
	Close() error
}

// databases are one database as a server uses it: each environment, and what is
// neither's, has connections of its own, so that none waits for those of another.
type databases struct {
	live, sandbox database
	// background is for the operations API, tracking pages and background jobs.
	background database
}

// Close closes background last: the others may share connections with it.
func (d databases) Close() error {
	return errors.Join(d.live.Close(), d.sandbox.Close(), d.background.Close())
}

// noneLeft tells of connections that some databases refuse where there are none left.
func noneLeft(ctx context.Context, open []database) error {
	if err := refused(ctx, open); errors.Is(err, ports.ErrStorageGone) {
		return err
	}
	return nil
}

// refused tells of connections that some databases refuse.
func refused(ctx context.Context, open []database) error {
	var failed []error
	for _, d := range open {
		failed = append(failed, d.Connections(ctx))
	}
	return errors.Join(failed...)
}

func allOf(d databases) []database { return []database{d.live, d.sandbox, d.background} }

// The ports that a database is.
func storageIn(d database) ports.Storage   { return d }
func bookingsIn(d database) ports.Bookings { return d }

// onlyOne is all there is in a process that serves no customers.
func onlyOne(d database) []database { return []database{d} }

// backgroundOf is the share of what belongs to no environment.
func backgroundOf(d databases) database { return d.background }
