package stage

import (
	"context"

	"waybill/ports"
)

// Between stands between use cases and a storage, and changes what transactions
// write by: one port of them is replaced, or put behind a double of its own.
type Between struct {
	ports.Storage
	Change func(*ports.Stores)
}

// InTx runs fn on the changed stores.
func (b Between) InTx(ctx context.Context, fn func(ctx context.Context, tx ports.Stores) error) error {
	return b.Storage.InTx(ctx, func(ctx context.Context, tx ports.Stores) error {
		b.Change(&tx)
		return fn(ctx, tx)
	})
}
