package doctor

import (
	"context"
	"fmt"
	"log/slog"

	"waybill/adapters/cli/term"
	"waybill/ports"
)

// AheadFix is what to do where a newer program has migrated the database. It is
// no error: during a change of version old processes go on beside new ones.
const AheadFix = "run everywhere the version that migrated it"

// AheadOf is the finding that a newer version has migrated the database.
func AheadOf(applied, known int64) string {
	return fmt.Sprintf("the database is ahead of this program: it is at %d, and this program knows the steps up to %d", applied, known)
}

// WarnOfAhead tells of a database that a newer program has migrated.
func WarnOfAhead(ctx context.Context, store ports.StorageState, log *slog.Logger) {
	applied, known, err := store.SchemaVersions(ctx)
	if err == nil && applied > known {
		log.Warn("database", "warning", AheadOf(applied, known)+"; "+AheadFix)
	}
}

// IsBehind tells whether the schema lacks a step that this program was built with.
func IsBehind(ctx context.Context, store ports.StorageState) (bool, error) {
	applied, known, err := store.SchemaVersions(ctx)
	return applied < known, err
}

// UpToDate refuses a database that lacks what this program was built with.
func UpToDate(ctx context.Context, store ports.StorageState) error {
	behind, err := IsBehind(ctx, store)
	if err == nil && behind {
		err = &term.StartError{What: "the database is behind this program", UsedFor: "all data (WAYBILL_DATABASE_URL)", Fix: "waybill migrate up"}
	}
	return err
}
