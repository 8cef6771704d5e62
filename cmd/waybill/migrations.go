package main

import (
	"context"
	"log/slog"

	"waybill/adapters/cli/doctor"
	"waybill/adapters/cli/settings"
	"waybill/configs"
	"waybill/ports"
)

// migrateUp opens the database first: a migration has no timeout that would soon report a
// missing database. pending says whether a migration was missing.
func migrateUp(ctx context.Context, c *configs.Config) (pending bool, err error) {
	store, closeStore, err := newDatabase(ctx, c, slog.New(slog.DiscardHandler))
	if err != nil {
		return false, err
	}
	pending, asked := doctor.IsBehind(ctx, store)
	closeStore()
	if migrate := storageOf(c).migrate; migrate != nil {
		if err := migrate(ctx, c.DatabaseURL.Reveal()); err != nil {
			return false, settings.MigrationFailed(c, err, databaseFix(c, err))
		}
	}
	return pending || asked != nil, nil
}

// schemaOf returns the state of the schema.
func schemaOf(ctx context.Context, c *configs.Config) (schema ports.SchemaStatus, err error) {
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	status := storageOf(c).status
	if status == nil {
		return schema, nil
	}
	if schema, err = status(ctx, c.DatabaseURL.Reveal()); err != nil {
		return schema, settings.MigrationFailed(c, err, databaseFix(c, err))
	}
	return schema, nil
}
