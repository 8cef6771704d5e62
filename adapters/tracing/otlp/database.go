package otlp

import (
	"context"
	"database/sql"

	"waybill/ports"
)

// Database is a database whose writes are followed.
type Database struct {
	ports.Database
	transactions *Storage
	bookings     *Bookings
	outbox       *Outbox
}

var _ ports.Database = (*Database)(nil)

// Database wraps the database that does the work.
func (t *Tracing) Database(d ports.Database) *Database {
	return &Database{Database: d, transactions: t.Storage(d), bookings: t.Bookings(d), outbox: t.Outbox(d.Outbox())}
}

// InTx is that of Storage.
func (d *Database) InTx(ctx context.Context, fn func(ctx context.Context, tx ports.Stores) error) error {
	return d.transactions.InTx(ctx, fn)
}

// Book is that of Bookings.
func (d *Database) Book(ctx context.Context, w ports.BookingWrite) error { return d.bookings.Book(ctx, w) }

// BookRun is that of Bookings.
func (d *Database) BookRun(ctx context.Context, writes []ports.BookingWrite) (int, error) {
	return d.bookings.BookRun(ctx, writes)
}

// Outbox is followed too.
func (d *Database) Outbox() ports.WebhookOutbox { return d.outbox }

// PoolStats are those of the database behind; none where it has no pools.
func (d *Database) PoolStats() map[string]func() sql.DBStats {
	if p, ok := d.Database.(interface {
		PoolStats() map[string]func() sql.DBStats
	}); ok {
		return p.PoolStats()
	}
	return nil
}
