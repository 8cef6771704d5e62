package doctor

import (
	"context"
	"fmt"
	"log/slog"

	"waybill/adapters/cli/term"
	"waybill/ports"
)

// AheadFix says what to do when a newer program has migrated the database. It is no error:
// during an upgrade old processes continue next to new ones.
const AheadFix = "run everywhere the version that migrated it"

// AheadOf returns the message that a newer version has migrated the database.
func AheadOf(applied, known int64) string {
	return fmt.Sprintf("the database is ahead of this program: it is at %d, and this program knows the steps up to %d", applied, known)
}

// WarnOfAhead logs a warning about a database that a newer program has migrated.
func WarnOfAhead(ctx context.Context, store ports.StorageState, log *slog.Logger) {
	applied, known, err := store.SchemaVersions(ctx)
	if err == nil && applied > known {
		log.Warn("database", "warning", AheadOf(applied, known)+"; "+AheadFix)
	}
}

// IsBehind reports whether the schema lacks a migration that this program contains.
func IsBehind(ctx context.Context, store ports.StorageState) (bool, error) {
	applied, known, err := store.SchemaVersions(ctx)
	return applied < known, err
}

// UpToDate returns an error if the database lacks a migration that this program contains.
func UpToDate(ctx context.Context, store ports.StorageState) error {
	behind, err := IsBehind(ctx, store)
	if err == nil && behind {
		err = &term.StartError{What: "the database is behind this program", UsedFor: "all data (WAYBILL_DATABASE_URL)", Fix: "waybill migrate up"}
	}
	return err
}
