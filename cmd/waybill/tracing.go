package main

import (
	"context"
	"database/sql"
	"log/slog"
	"net/http"
	"os"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"waybill/adapters/cli/term"
	"waybill/adapters/httpapi"
	"waybill/adapters/metrics/gauges"
	"waybill/adapters/tracing/otlp"
	"waybill/configs"
	"waybill/ports"
)

// flushTimeout is how long the end of a process waits for its last spans.
const flushTimeout = 5 * time.Second

// follower puts traces around the adapters that it is given. Nil, where no
// collector is named, it gives them back as they are: then traces cost nothing.
type follower otlp.Tracing

// newFollower reads the variables of OpenTelemetry, which are no settings of
// ours: OTEL_EXPORTER_OTLP_ENDPOINT switches traces on.
func newFollower(ctx context.Context, r prometheus.Registerer, log *slog.Logger) (*follower, func(), error) {
	if !otlp.Wanted(os.Environ()) {
		return nil, func() {}, nil
	}
	t, err := otlp.Open(ctx, otlp.Options{Environ: os.Environ(), Version: version, Registry: r, Log: log})
	if err != nil {
		return nil, nil, &term.StartError{What: "traces cannot be sent", Err: err, UsedFor: "traces (OTEL_EXPORTER_OTLP_ENDPOINT)",
			Fix: "mend the variable, or unset OTEL_EXPORTER_OTLP_ENDPOINT to go without traces"}
	}
	log.Info("traces are sent to the collector of OTEL_EXPORTER_OTLP_ENDPOINT")
	return (*follower)(t), func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), flushTimeout)
		defer cancel()
		if err := t.Close(ctx); err != nil {
			log.Warn("the last traces were not sent", "error", err)
		}
	}, nil
}

// tracing is nil where nothing is traced; then it gives adapters back as they are.
func (f *follower) tracing() *otlp.Tracing { return (*otlp.Tracing)(f) }

func (f *follower) requests() httpapi.Follow {
	if f == nil {
		return nil
	}
	return f.tracing().Request
}

// headers names the span of a call to a service of our own.
func (f *follower) headers() func(context.Context, http.Header) {
	if f == nil {
		return nil
	}
	return f.tracing().Inject
}

func (f *follower) database(d ports.Database) ports.Database {
	if f == nil {
		return d
	}
	t := f.tracing()
	return &followedDatabase{Database: d, transactions: t.Storage(d), bookings: t.Bookings(d), outbox: t.Outbox(d.Outbox())}
}

// followedDatabase is a database whose writes are followed.
type followedDatabase struct {
	ports.Database
	transactions ports.Storage
	bookings     ports.Bookings
	outbox       ports.WebhookOutbox
}

var _ gauges.Pooled = (*followedDatabase)(nil)

func (d *followedDatabase) InTx(ctx context.Context, fn func(ctx context.Context, tx ports.Stores) error) error {
	return d.transactions.InTx(ctx, fn)
}

func (d *followedDatabase) Book(ctx context.Context, w ports.BookingWrite) error {
	return d.bookings.Book(ctx, w)
}

func (d *followedDatabase) BookRun(ctx context.Context, writes []ports.BookingWrite) (int, error) {
	return d.bookings.BookRun(ctx, writes)
}

func (d *followedDatabase) Outbox() ports.WebhookOutbox { return d.outbox }

// PoolStats are those of the database behind; none where it has no pools.
func (d *followedDatabase) PoolStats() map[string]func() sql.DBStats {
	if p, ok := d.Database.(gauges.Pooled); ok {
		return p.PoolStats()
	}
	return nil
}

// openShared opens the database for a server that may be followed.
func openShared(ctx context.Context, c *configs.Config, log *slog.Logger, f *follower) (databases, func(), error) {
	d, closeStores, err := openBy(ctx, c, log, storageOf(c).opened)
	if err != nil {
		return databases{}, nil, err
	}
	if f != nil {
		d = databases{live: f.database(d.live), sandbox: f.database(d.sandbox), requests: d.requests, background: f.database(d.background)}
	}
	return d, closeStores, nil
}

// openFollowed is newDatabase in a process that may be followed.
func openFollowed(ctx context.Context, c *configs.Config, log *slog.Logger, f *follower) (ports.Database, func(), error) {
	d, closeStore, err := newDatabase(ctx, c, log)
	if err != nil {
		return nil, nil, err
	}
	return f.database(d), closeStore, nil
}
