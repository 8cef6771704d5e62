package main

import (
	"context"
	"errors"
	"log/slog"

	"waybill/configs"
	"waybill/ports"
)

// storage describes how to open and migrate one kind of database. A new storage adapter adds one to
// storages. Only open is required.
type storage struct {
	open func(ctx context.Context, c *configs.Config, log *slog.Logger) (ports.Database, error)
	// share opens the databases of a server; nil: it uses the one of open for everything.
	share func(ctx context.Context, c *configs.Config, log *slog.Logger) (databases, error)
	// migrate brings the schema up to date, and status lists its migrations; nil: there are
	// none.
	migrate func(ctx context.Context, url string) error
	status  func(ctx context.Context, url string) (ports.SchemaStatus, error)
}

func (s storage) opened(ctx context.Context, c *configs.Config, log *slog.Logger) (databases, error) {
	if s.share != nil {
		return s.share(ctx, c, log)
	}
	one, err := s.open(ctx, c, log)
	return databases{live: one, sandbox: one, requests: one, background: one}, err
}

// databases holds the connections of a server to one database. Live, sandbox, the request log
// and the background each have their own, so that none waits for another's.
type databases struct {
	live, sandbox ports.Database
	requests      ports.Database // only to write the request log
	// background is for the operations API, tracking pages and background jobs.
	background ports.Database
}

// Close closes background last: the others may share connections with it.
func (d databases) Close() error {
	var failed []error
	for _, open := range allOf(d) {
		failed = append(failed, open.Close())
	}
	return errors.Join(failed...)
}

// allOf lists the databases, each of them once.
func allOf(d databases) []ports.Database {
	if d.live == d.background {
		return onlyOne(d.background)
	}
	return []ports.Database{d.live, d.sandbox, d.requests, d.background}
}

// storageIn and bookingsIn return the ports that a database implements.
func storageIn(d ports.Database) ports.Storage   { return d }
func bookingsIn(d ports.Database) ports.Bookings { return d }

// requestLogIn returns where servers write the request log.
func requestLogIn(d databases) ports.RequestLog { return d.requests }

// onlyOne lists the one database of a process that serves no customers.
func onlyOne(d ports.Database) []ports.Database { return []ports.Database{d} }

// backgroundOf returns the share for work of no environment.
func backgroundOf(d databases) ports.Database { return d.background }
