package settings

import (
	"waybill/adapters/cli/term"
	"waybill/configs"
)

// MigrationFailed returns an error that the schema cannot be migrated, and what to do about it.
func MigrationFailed(c *configs.Config, err error, fix string) error {
	return &term.StartError{What: "the database cannot be migrated", Err: err,
		UsedFor: "all data (WAYBILL_DATABASE_URL, now " + c.DatabaseURL.String() + ")",
		Fix:     fix}
}

// NoDatabaseNamed returns the error of a process in production without a database setting.
func NoDatabaseNamed(dir DataDir) error {
	return &term.StartError{What: "WAYBILL_DATABASE_URL is not set", UsedFor: "all data",
		Fix: "WAYBILL_DATABASE_URL=postgres://user:password@host/name; or --data-dir " + string(dir) + " for the data of waybill dev"}
}
