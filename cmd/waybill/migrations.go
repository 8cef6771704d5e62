package main

import (
	"context"
	"log/slog"

	"waybill/adapters/cli/admin"
	"waybill/adapters/cli/term"
	"waybill/configs"
)

// migrateUp asks first whether the database answers: a migration has no
// time-out that would tell soon. pending tells whether there was anything to do.
func migrateUp(ctx context.Context, c *configs.Config) (pending bool, err error) {
	store, closeStore, err := newDatabase(ctx, c, slog.New(slog.DiscardHandler))
	if err != nil {
		return false, err
	}
	pending, asked := store.MigrationsPending(ctx)
	closeStore()
	if err := storageOf(c).migrate(ctx, c.DatabaseURL.Reveal()); err != nil {
		return false, migrationFailed(c, err)
	}
	return pending || asked != nil, nil
}

// migrationsOf are the steps of the schema.
func migrationsOf(ctx context.Context, c *configs.Config) ([]admin.MigrationStep, error) {
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	steps, err := storageOf(c).status(ctx, c.DatabaseURL.Reveal())
	if err != nil {
		return nil, migrationFailed(c, err)
	}
	return steps, nil
}

func migrationFailed(c *configs.Config, err error) error {
	return &term.StartError{What: "the database cannot be migrated", Err: err,
		UsedFor: "all data (WAYBILL_DATABASE_URL, now " + c.DatabaseURL.String() + ")",
		Fix:     "start the database, or set WAYBILL_DATABASE_URL to one whose owner may change its tables"}
}
