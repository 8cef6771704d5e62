package main

import (
	"context"
	"log/slog"

	"waybill/adapters/opsapi"
)

// nameInstallation lets a process tell to which installation it belongs: the name
// is drawn at random with the database and derived from no secret. Without it the
// doctor cannot tell whose process holds a port, and nothing else is amiss.
func nameInstallation(ctx context.Context, store database, ops *opsapi.API, log *slog.Logger) {
	name, err := store.Installation(ctx)
	if err != nil {
		log.Warn("database", "warning", "the name of the installation cannot be read; waybill doctor will not know this process", "error", err)
		return
	}
	ops.Name(name)
}
