// Package settings finds the settings of a command: flags, environment variables, a file, and
// the data directory of waybill dev with its secrets.
//
// It also explains to administrators what is wrong with them: secrets that are missing or
// belong to another database, addresses that cannot be listened on.
package settings
