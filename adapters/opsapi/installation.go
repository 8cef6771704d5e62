package opsapi

import (
	"context"
	"log/slog"

	"waybill/ports"
)

// NameFrom reads the name of the installation and passes it to Name. The name is drawn at
// random with the database and derived from no secret. Without it only waybill doctor misses
// something: it cannot tell whose process holds a port.
func (a *API) NameFrom(ctx context.Context, store ports.StorageState, log *slog.Logger) {
	name, err := store.Installation(ctx)
	if err != nil {
		log.Warn("database", "warning", "the name of the installation cannot be read; waybill doctor will not know this process", "error", err)
		return
	}
	a.Name(name)
}
