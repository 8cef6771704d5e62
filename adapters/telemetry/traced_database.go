package telemetry

import (
	"context"
	"database/sql"

	"waybill/ports"
)

// database is one whose writes are traced.
type database struct {
	ports.Database
	transactions *TracedStorage
	bookings     *TracedBookings
	outbox       *TracedOutbox
}

// Database wraps the database that does the work. Without a tracing it is that database.
func (t *Tracing) Database(d ports.Database) ports.Database {
	if t == nil {
		return d
	}
	return &database{Database: d, transactions: t.Storage(d), bookings: t.Bookings(d), outbox: t.Outbox(d.Outbox())}
}

// InTx is that of TracedStorage.
func (d *database) InTx(ctx context.Context, fn func(ctx context.Context, tx ports.Stores) error) error {
	return d.transactions.InTx(ctx, fn)
}

// Book is that of TracedBookings.
func (d *database) Book(ctx context.Context, w ports.BookingWrite) error {
	return d.bookings.Book(ctx, w)
}

// BookRun is that of TracedBookings.
func (d *database) BookRun(ctx context.Context, writes []ports.BookingWrite) (int, error) {
	return d.bookings.BookRun(ctx, writes)
}

// TracedOutbox is traced too.
func (d *database) Outbox() ports.WebhookOutbox { return d.outbox }

// PoolStats are those of the database behind; none where it has no pools.
func (d *database) PoolStats() map[string]func() sql.DBStats {
	if p, ok := d.Database.(interface {
		PoolStats() map[string]func() sql.DBStats
	}); ok {
		return p.PoolStats()
	}
	return nil
}
