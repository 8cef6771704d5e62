package settings

import (
	"waybill/adapters/cli/term"
	"waybill/configs"
)

// MigrationFailed tells of a schema that cannot be brought up to date.
func MigrationFailed(c *configs.Config, err error) error {
	return &term.StartError{What: "the database cannot be migrated", Err: err,
		UsedFor: "all data (WAYBILL_DATABASE_URL, now " + c.DatabaseURL.String() + ")",
		Fix:     "start the database, or set WAYBILL_DATABASE_URL to one whose owner may change its tables"}
}

// NoDatabaseNamed tells that a process in production was given no database.
func NoDatabaseNamed(dir DataDir) error {
	return &term.StartError{What: "WAYBILL_DATABASE_URL is not set", UsedFor: "all data",
		Fix: "WAYBILL_DATABASE_URL=postgres://user:password@host/name; or --data-dir " + string(dir) + " for the data of waybill dev"}
}
