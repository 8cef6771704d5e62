package telemetry

import (
	"context"
	"database/sql"

	"waybill/ports"
)

// database is a database whose writes are traced.
type database struct {
	ports.Database
	transactions *TracedStorage
	bookings     *TracedBookings
	outbox       *TracedOutbox
}

// Database wraps the real database. Without tracing it returns d.
func (t *Tracing) Database(d ports.Database) ports.Database {
	if t == nil {
		return d
	}
	return &database{Database: d, transactions: t.Storage(d), bookings: t.Bookings(d), outbox: t.Outbox(d.Outbox())}
}

// InTx calls that of TracedStorage.
func (d *database) InTx(ctx context.Context, fn func(ctx context.Context, tx ports.Stores) error) error {
	return d.transactions.InTx(ctx, fn)
}

// Book calls that of TracedBookings.
func (d *database) Book(ctx context.Context, w ports.BookingWrite) error {
	return d.bookings.Book(ctx, w)
}

// BookRun calls that of TracedBookings.
func (d *database) BookRun(ctx context.Context, writes []ports.BookingWrite) (int, error) {
	return d.bookings.BookRun(ctx, writes)
}

// Outbox returns the traced outbox.
func (d *database) Outbox() ports.WebhookOutbox { return d.outbox }

// PoolStats returns the statistics of the wrapped database, or none where it has no pools.
func (d *database) PoolStats() map[string]func() sql.DBStats {
	if p, ok := d.Database.(interface {
		PoolStats() map[string]func() sql.DBStats
	}); ok {
		return p.PoolStats()
	}
	return nil
}
